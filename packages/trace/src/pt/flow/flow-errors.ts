/**
 * What can go wrong between packets and instructions. Small negative numbers, because they come out
 * of the innermost functions; the names are for programs, the texts for people (they are the ones
 * that other Intel PT tools print).
 */

/** The trace ends here: not an error, but the same way out. */
export const FLOW_END = -1;
/** No packet begins with these bytes. */
export const FLOW_BAD_OPCODE = -2;
/** A packet whose payload cannot be. */
export const FLOW_BAD_PACKET = -3;
/** A packet where it must not stand: a TIP while tracing is off, a partial event across a PSB. */
export const FLOW_BAD_CONTEXT = -4;
/** The code asks for something else than the trace has: a conditional branch, but there is a TIP. */
export const FLOW_BAD_QUERY = -5;
/** An address is needed, and no packet has given one yet. */
export const FLOW_NO_IP = -6;
export const FLOW_IP_SUPPRESSED = -7;
/** No code is known at this address. */
export const FLOW_NO_MAP = -8;
/** The bytes at this address are no instruction. */
export const FLOW_BAD_INSTRUCTION = -9;
/** A compressed return, but no call on the stack. */
export const FLOW_RETURN_STACK_EMPTY = -10;
/** A return for which the trace says "not taken". */
export const FLOW_BAD_RETURN = -11;
/** PSB+ says something else than the packets before it. */
export const FLOW_BAD_STATUS = -12;
/** There is trace for branches, but tracing is off. */
export const FLOW_NO_ENABLE = -13;
/** More events wait for one packet than a processor can make. */
export const FLOW_TOO_MANY_EVENTS = -14;
/** The code goes round without needing any trace: a path from wrong code, or a wrong path. */
export const FLOW_ENDLESS_LOOP = -15;
/** No synchronization point has been found yet. */
export const FLOW_NO_SYNC = -16;

const NAMES: readonly (readonly [name: string, text: string])[] = [
  ['ok', 'ok'],
  ['end', 'reached end of trace stream'],
  ['bad-opcode', 'unknown opcode'],
  ['bad-packet', 'unknown packet'],
  ['bad-context', 'unexpected packet context'],
  ['bad-query', 'trace stream does not match query'],
  ['no-ip', 'no ip'],
  ['ip-suppressed', 'ip has been suppressed'],
  ['no-map', 'no memory mapped at this address'],
  ['bad-instruction', 'unknown instruction'],
  ['return-stack-empty', 'compressed return without call'],
  ['bad-return', 'bad compressed return'],
  ['bad-status', 'bad status update'],
  ['no-enable', 'expected tracing enabled event'],
  ['too-many-events', 'out of memory'],
  ['endless-loop', 'endless loop in the code'],
  ['no-sync', 'decoder out of sync'],
];

/** A stable name of a FLOW_* code, for JSON and counters: `no-map`. */
export function flowErrorName(code: number): string {
  return NAMES[-code]?.[0] ?? `unknown(${code})`;
}

/** A FLOW_* code as one line for a person. */
export function flowErrorText(code: number): string {
  return NAMES[-code]?.[1] ?? `unknown error ${code}`;
}

/** An error, and how often it was met. */
export interface FlowErrorCount {
  /** As `flowErrorName` says: `no-map`. */
  readonly code: string;
  /** Times. */
  count: number;
  /** Bytes from the start of the trace to the first one. */
  readonly firstOffset: number;
}

/** Errors by code, each with the place of the first. */
export class FlowErrorCounts {
  readonly #counts = new Map<number, FlowErrorCount>();

  /** One more of a code (FLOW_*), met at an offset in the trace. */
  add(code: number, offset: number): void {
    const known = this.#counts.get(code);
    if (known !== undefined) known.count++;
    else this.#counts.set(code, { code: flowErrorName(code), count: 1, firstOffset: offset });
  }

  /** Take over the errors of a later part of the trace, in whose bytes offsets count from `baseOffset`. */
  addAll(
    errors: Iterable<readonly [code: number, count: number, firstOffset: number]>,
    baseOffset: number,
  ): void {
    for (const [code, count, firstOffset] of errors) {
      this.add(code, baseOffset + firstOffset);
      this.#counts.get(code)!.count += count - 1;
    }
  }

  /** As plain numbers, for `addAll`. */
  toRows(): [code: number, count: number, firstOffset: number][] {
    return [...this.#counts].map(([code, { count, firstOffset }]) => [code, count, firstOffset]);
  }

  /** In the order of their first place. */
  list(): FlowErrorCount[] {
    return [...this.#counts.values()].sort((a, b) => a.firstOffset - b.firstOffset);
  }

  /** Errors of all codes. */
  get total(): number {
    let total = 0;
    for (const { count } of this.#counts.values()) total += count;
    return total;
  }
}
