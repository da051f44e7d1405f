import type { TermValue } from './term-layout.ts';

/** Which published form a file has. */
export type VendorSchema = 'intel-perfmon' | 'arm-telemetry' | 'arm-events' | 'perf-json';

/** An event of a vendor's table. */
export interface VendorEvent {
  /** As the table has it: `INST_RETIRED.ANY`, `CPU_CYCLES`. */
  readonly name: string;
  /** As between the slashes of `pmu/…/`. */
  readonly terms: string;
  /** The same as values. */
  readonly termValues: readonly TermValue[];
  /** The PMU that the table names; `null`: the core's own. */
  readonly pmu: string | null;
  /** Short, for lists. */
  readonly brief: string;
  /** All that the table says; as `brief` where it says no more. */
  readonly description: string;
  /** General counters that know it; `null`: not said, or any. */
  readonly general: readonly number[] | null;
  /** Fixed counters that know it. */
  readonly fixed: readonly number[];
  /** Period that the vendor suggests for sampling. */
  readonly samplePeriod: bigint | null;
  /** Whether it can be sampled precisely (PEBS). */
  readonly precise: 'no' | 'can' | 'must';
  /** The vendor advises against it. */
  readonly isDeprecated: boolean;
  /** Where it stands: `file.json: Events[3]`. */
  readonly place: string;
}

/** What could not be read in a vendor's file. The rest was. */
export interface VendorProblem {
  /** `file.json: Events[3].EventCode`, `mapfile.csv:12`. */
  readonly place: string;
  /** What is wrong there: `0xzz is not a 64-bit number`. */
  readonly what: string;
}

/** Problems with their places: the first hundred kept, all of them counted. */
export class ProblemList {
  /** The first hundred. */
  readonly kept: VendorProblem[] = [];
  /** All, also those that were not kept. */
  total = 0;

  /** One more. */
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
  /** As the table has it: `Neoverse N2`. */
  readonly name: string;
  /** MIDR_EL1 bits 31-24: who made the core; 0x41 is Arm. */
  readonly implementer: number;
  /** MIDR_EL1 bits 15-4: which core of the implementer. */
  readonly part: number;
}

/** What `parseVendorEvents` read of one file. */
export interface VendorEvents {
  /** `null`: the file has no form that is known. */
  readonly schema: VendorSchema | null;
  /** `null`: the table does not say. */
  readonly product: VendorProduct | null;
  /** In the order of the file. */
  readonly events: readonly VendorEvent[];
  /** Rows that are no events and were passed over: metrics. */
  readonly skipped: number;
  /** The first hundred; `problemCount` has all. */
  readonly problems: readonly VendorProblem[];
  /** Number of rows or fields that could not be read. */
  readonly problemCount: number;
}
