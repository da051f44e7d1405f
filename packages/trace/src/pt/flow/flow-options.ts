import type { Errata } from '../packets/errata.ts';
import type { TimeSettings } from '../time/time-settings.ts';
import type { AddressFilter } from './address-filter.ts';

/** What the trace does not say of itself. All is optional. */
export interface FlowOptions {
  /** Offset of the first byte. Default: 0. */
  readonly from?: number;
  /** The offset behind the last byte. Default: the end. */
  readonly to?: number;
  /** `errataOf` the processor that was traced. Default: none. */
  readonly errata?: Errata;
  /** Ranges that tracing was limited to: with erratum SKL014, where it ended is known only by them. */
  readonly filter?: AddressFilter;
  /** Clocks of the processor. Without them only TSC packets tell of time. */
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
