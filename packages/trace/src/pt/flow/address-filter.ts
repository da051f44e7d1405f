/** `AddressRange.use`: the range is not used. */
export const FILTER_OFF = 0;
/** `AddressRange.use`: trace only here, and in other ranges of this kind. */
export const FILTER_TRACE = 1;
/** `AddressRange.use`: stop tracing here. */
export const FILTER_STOP = 2;

/** IA32_RTIT_CTL.ADDRn_CFG with IA32_RTIT_ADDRn_A and _B: both ends belong to the range. */
export interface AddressRange {
  /** FILTER_OFF, FILTER_TRACE or FILTER_STOP. */
  readonly use: number;
  /** Address of the first byte, 64 bits unsigned. */
  readonly first: bigint;
  /** Address of the last byte. */
  readonly last: bigint;
}

/** The address ranges that tracing was limited to (SDM "Filtering by IP"). */
export class AddressFilter {
  /** Uses of ranges, and their ends as halves, four numbers a range. */
  readonly #uses: number[] = [];
  readonly #ends: number[] = [];
  #hasTraceRange = false;
  /** As given. */
  readonly ranges: readonly AddressRange[];

  constructor(ranges: readonly AddressRange[] = []) {
    this.ranges = ranges;
    for (const { use, first, last } of ranges) {
      if (use === FILTER_OFF) continue;
      this.#uses.push(use);
      for (const end of [first, last])
        this.#ends.push(Number(end & 0xffff_ffffn), Number((end >> 32n) & 0xffff_ffffn));
      if (use === FILTER_TRACE) this.#hasTraceRange = true;
    }
  }

  /** There is at least one range that is used. */
  get isConfigured(): boolean {
    return this.#uses.length > 0;
  }

  /** Is code at this address traced? */
  isTraced(lo: number, hi: number): boolean {
    let isInside = false;
    for (let at = 0; at < this.#uses.length; at++) {
      if (!this.#contains(at, lo >>> 0, hi >>> 0)) continue;
      if (this.#uses[at] === FILTER_STOP) return false;
      if (this.#uses[at] === FILTER_TRACE) isInside = true;
    }
    return isInside || !this.#hasTraceRange;
  }

  #contains(range: number, lo: number, hi: number): boolean {
    const ends = this.#ends;
    const at = 4 * range;
    const firstHi = ends[at + 1]!;
    const lastHi = ends[at + 3]!;
    const isFrom = hi > firstHi || (hi === firstHi && lo >= ends[at]!);
    return isFrom && (hi < lastHi || (hi === lastHi && lo <= ends[at + 2]!));
  }
}
