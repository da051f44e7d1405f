import type { Errata } from '../errata.ts';
import type { TimeSettings } from '../time-settings.ts';
import type { AddressFilter } from './address-filter.ts';

export interface FlowOptions {
  /** First byte of the trace and the one behind its last; all of it unless told. */
  readonly from?: number;
  readonly to?: number;
  readonly errata?: Errata;
  readonly filter?: AddressFilter;
  readonly settings?: TimeSettings;
  /** Keep the ratio of TSC ticks to cycles over overflows. */
  readonly keepCalibrationOnOverflow?: boolean;
  /** Make events of changes of the interrupt flag. */
  readonly interruptFlags?: boolean;
  /** Make an event where the time moves on with a branch. */
  readonly ticks?: boolean;
  /** TSC to the time that the image is asked with; without it the latest code is used. */
  readonly codeTime?: (tscLo: number, tscHi: number) => number;
  /** Ask the image with CR3 as the address space. */
  readonly useCr3?: boolean;
}
