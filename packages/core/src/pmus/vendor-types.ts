import type { TermValue } from './term-layout.ts';

/** Which published form a file has. */
export type VendorSchema = 'intel-perfmon' | 'arm-telemetry' | 'arm-events' | 'perf-json';

/** An event of a vendor's table. */
export interface VendorEvent {
  readonly name: string;
  /** As between the slashes of `pmu/…/`. */
  readonly terms: string;
  readonly termValues: readonly TermValue[];
  /** The PMU that the table names; `null`: the core's own. */
  readonly pmu: string | null;
  readonly brief: string;
  readonly description: string;
  /** General counters that know it; `null`: not said, or any. */
  readonly general: readonly number[] | null;
  readonly fixed: readonly number[];
  /** Period that the vendor suggests for sampling. */
  readonly samplePeriod: bigint | null;
  /** Whether it can be sampled precisely (PEBS). */
  readonly precise: 'no' | 'can' | 'must';
  readonly isDeprecated: boolean;
  /** Where it stands: `file.json: Events[3]`. */
  readonly place: string;
}

export interface VendorProblem {
  readonly place: string;
  readonly what: string;
}

/** Problems with their places: the first hundred kept, all of them counted. */
export class ProblemList {
  readonly kept: VendorProblem[] = [];
  total = 0;

  add(place: string, what: string): void {
    this.total++;
    if (this.kept.length < MOST_KEPT) this.kept.push({ place, what });
  }

  /** Those of a part. */
  addAll(part: { readonly problems: readonly VendorProblem[]; readonly problemCount: number }): void {
    this.total += part.problemCount;
    this.kept.push(...part.problems.slice(0, MOST_KEPT - this.kept.length));
  }
}

const MOST_KEPT = 100;

/** The CPU that a table says it is for (Arm's `product_configuration`). */
export interface VendorProduct {
  readonly name: string;
  /** MIDR_EL1 bits 31-24 and 15-4. */
  readonly implementer: number;
  readonly part: number;
}

export interface VendorEvents {
  /** `null`: the file has no form that is known. */
  readonly schema: VendorSchema | null;
  /** `null`: the table does not say. */
  readonly product: VendorProduct | null;
  readonly events: readonly VendorEvent[];
  /** Rows that are no events and were passed over: metrics. */
  readonly skipped: number;
  readonly problems: readonly VendorProblem[];
  readonly problemCount: number;
}
