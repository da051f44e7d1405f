import type { JitCode } from '../jit/index.ts';
import { orderByAddress } from '../symbols/index.ts';
import { ruleAt, type UnwindRule } from './call-frame-program.ts';
import { FrameEntries } from './frame-entries.ts';

/** Memory that was used again more often is not looked through. */
const MOST_LINES_SEEN = 4096;
/** Rules that are kept. A program has some thousand places where it is sampled, or calls. */
const MOST_RULES = 1 << 14;
/** `.eh_frame` stands behind the code, at a multiple of that. */
const FRAME_ALIGNMENT = 8;

interface KnownRule {
  line: number;
  rule: UnwindRule | null;
}

/**
 * Frame information of code that was made while the program ran, out of the dump of its runtime (`python3 -X
 * perf_jit`, `node --perf-prof --perf-prof-unwinding-info`). Each piece of code has its own:
 *
 *     address of the code          + its size, rounded up
 *     [ code                      ) [ .eh_frame: one CIE, one FDE ) .eh_frame_hdr
 */
export class JitFrames {
  readonly machine: number;
  readonly #code: JitCode;
  /** Lines by address; those of one address as they were written. */
  readonly #order: Uint32Array;
  readonly #isTimed: boolean;
  readonly #rules = new Map<number, KnownRule>();

  /** `isTimed`: the dump's times are of the clock of the samples. */
  constructor(code: JitCode, isTimed: boolean) {
    this.machine = code.machine;
    this.#code = code;
    this.#isTimed = isTimed;
    this.#order = orderByAddress(code.map.start);
  }

  /** Null where nothing is said of the code there. */
  ruleAt(address: number, timeNs: number): UnwindRule | null {
    const line = this.#lineAt(address, this.#isTimed ? timeNs : Number.POSITIVE_INFINITY);
    if (line < 0) return null;
    const known = this.#rules.get(address);
    if (known?.line === line) return known.rule;
    const rule = this.#ruleOf(line, address);
    if (this.#rules.size === MOST_RULES) this.#rules.clear();
    this.#rules.set(address, { line, rule });
    return rule;
  }

  /** The line that was the last to take an address until a time; -1: none has. */
  #lineAt(address: number, timeNs: number): number {
    const { map, timeNs: times } = this.#code;
    const order = this.#order;
    let low = 0;
    let high = order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (map.start[order[middle]!]! <= address) low = middle + 1;
      else high = middle;
    }
    let found = -1;
    for (let at = low - 1; at >= 0 && at >= low - MOST_LINES_SEEN; at--) {
      const line = order[at]!;
      if (line > found && address < map.end[line]! && !(times[line]! > timeNs)) found = line;
    }
    return found;
  }

  #ruleOf(line: number, address: number): UnwindRule | null {
    const { map, frames, frameStart, frameEnd, littleEndian } = this.#code;
    const bytes = frames.subarray(frameStart[line]!, frameEnd[line]!);
    if (bytes.length === 0) return null;
    const sizeBytes = map.end[line]! - map.start[line]!;
    const section = {
      bytes,
      address: Math.ceil(sizeBytes / FRAME_ALIGNMENT) * FRAME_ALIGNMENT,
      isEhFrame: true,
      pointerBytes: 8,
      littleEndian,
    } as const;
    // Its FDE is of this code, wherever it says that the code is.
    const [first] = new FrameEntries(section).all();
    if (first === undefined) return null;
    const { entry } = first;
    const place = entry.start + address - map.start[line]!;
    return place < entry.end ? ruleAt(section, entry, place) : null;
  }
}
