import { TWO_32 } from '../../base/index.ts';
import { PERF_CONTEXT_USER } from '../../format/abi/index.ts';
import type { SampleFields } from '../../format/records/index.ts';

/** A record's size has 16 bits, and is a multiple of 8. */
const MOST_RECORD_BYTES = 0xfff8;

const WORD_BYTES = 8;

/**
 * The same sample with the callers in its call chain. Of the copy of the stack that they were found in, the
 * innermost word stays: in V8's builtins it tells a caller that no frame does.
 *
 *   header ... | chain: n, kernel's addresses                | ... | regs | stack: size, bytes, real size | ...
 *   header ... | chain: n, kernel's addresses, USER, unwound | ... | regs | stack: 8, a word, 8           | ...
 */
export class UnwoundRecord {
  readonly #bytes = new Uint8Array(1 << 16);
  readonly view = new DataView(this.#bytes.buffer);
  /** How many bytes of `view` it has. */
  size = 0;
  readonly #littleEndian: boolean;

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian;
  }

  /**
   * Takes the sample at `[start, end)`, which `fields` describes, and `count` addresses. False where it has
   * no room for all of them: then it has the innermost ones.
   */
  set(
    view: DataView,
    start: number,
    end: number,
    fields: SampleFields,
    addresses: Float64Array,
    count: number,
  ): boolean {
    const le = this.#littleEndian;
    const out = this.view;
    const { chainOffset, chainCount, userStackOffset, userStackSize, userStackDynamicSize } = fields;
    const chainEnd = chainOffset + chainCount * 8;
    const afterStack = userStackOffset + userStackSize + 8;
    // Their sizes are multiples of a word.
    const topBytes = Math.min(WORD_BYTES, userStackDynamicSize);
    const otherBytes = userStackOffset - start + topBytes + 8 + (end - afterStack) + 8;
    const kept = Math.min(count, (MOST_RECORD_BYTES - otherBytes) >> 3);
    let at = this.#copy(view, start, chainEnd, 0);
    const added = kept > 0 ? kept + 1 : 0;
    this.#put(chainOffset - 8 - start, chainCount + added, 0);
    if (added > 0) {
      this.#put(at, PERF_CONTEXT_USER >>> 0, -1);
      at += 8;
      for (let index = 0; index < kept; index++, at += 8) {
        const address = addresses[index]!;
        this.#put(at, address >>> 0, Math.floor(address / TWO_32));
      }
    }
    at = this.#copy(view, chainEnd, userStackOffset - 8, at);
    this.#put(at, topBytes, 0);
    at = this.#copy(view, userStackOffset, userStackOffset + topBytes, at + 8);
    if (topBytes > 0) {
      this.#put(at, topBytes, 0);
      at += 8;
    }
    this.size = this.#copy(view, afterStack, end, at);
    out.setUint16(6, this.size, le);
    return kept === count;
  }

  #copy(view: DataView, from: number, to: number, at: number): number {
    this.#bytes.set(new Uint8Array(view.buffer, view.byteOffset + from, to - from), at);
    return at + to - from;
  }

  #put(at: number, lo: number, hi: number): void {
    const le = this.#littleEndian;
    this.view.setUint32(at + (le ? 0 : 4), lo, le);
    this.view.setInt32(at + (le ? 4 : 0), hi, le);
  }
}
