/** All that is shown of a function, whatever it is written as. */
import type { Binary } from '@counterpoint/core/profile';
import type { NoCode } from './code-of-binary.ts';
import type { FunctionSamples, Hits } from './function-samples.ts';
import type { Listing, PercentType } from './listing.ts';

export interface Annotation {
  readonly samples: FunctionSamples;
  readonly binary: Binary;
  readonly eventName: string;
  /** What periods count: `nanoseconds`, or the event. */
  readonly unit: string;
  /** Of all functions of the event. */
  readonly all: Hits;
  readonly percentType: PercentType;
  /** Every instruction is counted, by a hardware trace: nothing is sampled. */
  readonly isExact: boolean;
  readonly listing: Listing | NoCode;
}

/** As perf colours them: from 5 % red, from 0.5 % green. */
export function heatOf(percent: number): 'red' | 'green' | null {
  return percent >= 5 ? 'red' : percent >= 0.5 ? 'green' : null;
}
