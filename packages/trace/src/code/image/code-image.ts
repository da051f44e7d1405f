import { CounterpointError, hiOf, loOf } from '@counterpoint/core/base';
import type { FileRequest, OpenedFile } from '@counterpoint/core/symbols';
import {
  decodeInstruction,
  INSN_TRUNCATED,
  type Instruction,
  LONGEST_INSTRUCTION,
} from '../instructions/index.ts';
import { CodeChanges } from './code-changes.ts';
import {
  type CodeBytes,
  type CodeFile,
  type CodeHole,
  type CodeSource,
  EVERY_ADDRESS_SPACE,
  FOREVER,
  type Layer,
  newLayer,
  newPending,
} from './layer.ts';
import { LayerIndex, type Timeline } from './layer-index.ts';
import { type LoadReport, loadPending, PART_BYTES } from './load-pending.ts';
import { type CodeSnapshot, snapshotOf } from './snapshot.ts';

/**
 * Code without gaps, valid for a time: what `find` answers. The same object for the same
 * question until code is added.
 */
export interface CodeSection {
  /** Small and unique within the image. */
  readonly id: number;
  /** As the placement of the code says: a path, `[vdso]`, a function made at run time. */
  readonly name: string;
  /** The code: `bytes[0]` is at the base address. Do not change it. */
  readonly bytes: Uint8Array;
  /** Address of the first byte. */
  readonly baseLo: number;
  /** Its upper half. Both are signed 32-bit integers: compare them after `>>> 0`. */
  readonly baseHi: number;
  /** As `bytes.length`. */
  readonly sizeBytes: number;
  /**
   * Answers for times from `fromTime` up to but not including `toTime`: other code
   * may be there before and after.
   */
  readonly fromTime: number;
  /** `Infinity` where the code stays. */
  readonly toTime: number;
  /** The process it was added for, by the caller's number; -1: every one sees it. */
  readonly addressSpace: number;
}

/** A lookup that is at the end of time: what was there last. */
export const LATEST: number = Number.MAX_VALUE;

/**
 * Which code was where, when, in which address space. What is added later lies on top of what was there, for
 * its time and its addresses. Add everything, then ask: adding makes the next question sort anew.
 *
 *     const image = new CodeImage();
 *     await addElf(image, file, { name: file.name, address: 0x5555_5555_4000n });
 *     image.addSection({ name: 'jit', address: 0x7fff_0000n, bytes }); // from a dump of memory, say
 *
 * Nothing here waits for a file, nor do decoders. Where code is known to exist but is not read yet
 * (`addFile`, `addSource`, large files of `addElf`) they answer as if there were none, and the image
 * remembers. `isWaiting` says so, `load` reads what was asked for, and the same question then has an answer:
 *
 *     let found = profileTrace(trace, image);
 *     while (image.isWaiting) {
 *       await image.load(open); // open(request): the file's bytes as a ByteSource, or null
 *       found = profileTrace(trace, image);
 *     }
 */
export class CodeImage {
  readonly #layers: Layer[] = [];
  readonly #spaces = new Set<number>();
  readonly #indexes = new Map<number, LayerIndex>();
  /** Sections by timeline, then by stretch of time and part of the layer. */
  #sections = new Map<Timeline, Map<number, CodeSection>>();
  #nextId = 0;
  #known: CodeChanges | null = null;
  #loadCount = 0;
  readonly #waiting = new Set<Layer>();
  #lastSection: CodeSection | null = null;
  #lastSpace = EVERY_ADDRESS_SPACE;
  readonly #scratchCode = new Uint8Array(LONGEST_INSTRUCTION);

  /** Code whose bytes are at hand. They are kept, not copied. */
  addSection(code: CodeBytes): void {
    this.#add(newLayer(code, BigInt(code.bytes.length), code.bytes, null));
  }

  /** Code that `load` reads from a source, once it is asked for. */
  addSource(code: CodeSource): void {
    this.#add(newLayer(code, BigInt(code.sizeBytes), null, newPending(code.source, null, code.offset)));
  }

  /** Code in a file that the function given to `load` opens, once the code is asked for. */
  addFile(code: CodeFile): void {
    this.#add(newLayer(code, BigInt(code.sizeBytes), null, newPending(null, code.request, code.offset)));
  }

  /** From `from` on nothing is known there: munmap, exec. */
  addHole(hole: CodeHole): void {
    this.#add(newLayer(hole, hole.sizeBytes, null, null));
  }

  /** Number of things that were added. */
  get layerCount(): number {
    return this.#layers.length;
  }

  /** How often `load` may have brought code. */
  get loads(): number {
    return this.#loadCount;
  }

  /**
   * When code changes, of all that was added by now.
   *
   * @internal
   */
  changes(): CodeChanges {
    this.#known ??= new CodeChanges(this.#layers);
    return this.#known;
  }

  /** The code around an address, or null: none is known, or it is not read yet (then `isWaiting`). */
  find(
    lo: number,
    hi: number,
    time: number = LATEST,
    addressSpace: number = EVERY_ADDRESS_SPACE,
  ): CodeSection | null {
    const last = this.#lastSection;
    if (
      last !== null &&
      addressSpace === this.#lastSpace &&
      time >= last.fromTime &&
      time < last.toTime &&
      offsetIn(last, lo, hi) >= 0
    )
      return last;
    const index = this.#indexOf(addressSpace);
    const timeline = index.timelineOf(index.intervalOf(lo, hi));
    const stretch = stretchAt(timeline.from, time);
    const layer = timeline.layers[stretch]!;
    if (layer === null) return null;
    const section = this.#sectionOf(timeline, stretch, layer, lo, hi);
    if (section === null) return null;
    this.#lastSection = section;
    this.#lastSpace = addressSpace;
    return section;
  }

  /**
   * Decode the instruction at an address, also where it begins in one section and ends in the next.
   * Returns what `decodeInstruction` returns; INSN_TRUNCATED where no code is known, or not to its end.
   */
  decode(
    lo: number,
    hi: number,
    mode: number,
    out: Instruction,
    time: number = LATEST,
    addressSpace: number = EVERY_ADDRESS_SPACE,
  ): number {
    const section = this.find(lo, hi, time, addressSpace);
    if (section === null) return INSN_TRUNCATED;
    const { bytes, sizeBytes } = section;
    const size = decodeInstruction(bytes, offsetIn(section, lo, hi), sizeBytes, mode, out);
    if (size !== INSN_TRUNCATED) return size;
    const available = this.read(lo, hi, this.#scratchCode, time, addressSpace);
    return decodeInstruction(this.#scratchCode, 0, available, mode, out);
  }

  /** Copy code to `into`, across sections; returns how many bytes were known without a gap. */
  read(
    lo: number,
    hi: number,
    into: Uint8Array,
    time: number = LATEST,
    addressSpace: number = EVERY_ADDRESS_SPACE,
  ): number {
    let done = 0;
    let atLo = lo >>> 0;
    let atHi = hi >>> 0;
    while (done < into.length) {
      const section = this.find(atLo, atHi, time, addressSpace);
      if (section === null) break;
      const offset = offsetIn(section, atLo, atHi);
      const size = Math.min(into.length - done, section.sizeBytes - offset);
      into.set(section.bytes.subarray(offset, offset + size), done);
      done += size;
      const next = atLo + size;
      atLo = next >>> 0;
      if (next > 0xffff_ffff) {
        // Behind the last address there is nothing, not the first address again.
        if (atHi === 0xffff_ffff) break;
        atHi++;
      }
    }
    return done;
  }

  /** Whether `find` said null for code that `load` may bring. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** The files that `load` would ask for. */
  requests(): FileRequest[] {
    const requests = new Map<string, FileRequest>();
    for (const { pending } of this.#waiting)
      if (pending?.request != null && pending.source === null)
        requests.set(
          `${pending.request.buildId} ${pending.request.pid} ${pending.request.path}`,
          pending.request,
        );
    return [...requests.values()];
  }

  /**
   * Read what was asked for since the last time. `open` finds files; one that it does not find, or that is of
   * another build, stays unknown and is not asked for again. Files are closed before it returns, unless
   * `load` will need them again.
   */
  async load(open: (request: FileRequest) => Promise<OpenedFile | null> = noFiles): Promise<LoadReport> {
    const wanted = [...this.#waiting];
    this.#waiting.clear();
    const report = await loadPending(wanted, open);
    this.#lastSection = null;
    this.#loadCount++;
    return report;
  }

  /**
   * All of it that is at hand, for another thread's `CodeImage.of`. Bytes are copied, into
   * shared memory where there is any.
   */
  snapshot(): CodeSnapshot {
    return { layers: snapshotOf(this.#layers) };
  }

  /** The image that a snapshot was made of: it has the same answers, but can load nothing more. */
  static of({ layers }: CodeSnapshot): CodeImage {
    const image = new CodeImage();
    for (const layer of layers) image.#add({ ...layer, pending: null });
    return image;
  }

  #add(layer: Layer | null): void {
    if (layer === null) return;
    this.#layers.push(layer);
    this.#spaces.add(layer.addressSpace);
    this.#indexes.clear();
    this.#sections = new Map();
    this.#known = null;
    this.#lastSection = null;
  }

  /** A space without code of its own sees what every space sees. */
  #indexOf(addressSpace: number): LayerIndex {
    const space = this.#spaces.has(addressSpace) ? addressSpace : EVERY_ADDRESS_SPACE;
    let index = this.#indexes.get(space);
    if (index === undefined) {
      index = new LayerIndex(
        this.#layers.filter((one) => one.addressSpace === space || one.addressSpace === EVERY_ADDRESS_SPACE),
      );
      this.#indexes.set(space, index);
    }
    return index;
  }

  #sectionOf(timeline: Timeline, stretch: number, layer: Layer, lo: number, hi: number): CodeSection | null {
    const { pending } = layer;
    let { bytes } = layer;
    let first = timeline.first;
    let last = timeline.last;
    let bytesAt = layer.first;
    let part = 0;
    if (bytes === null) {
      if (pending === null) return null;
      const distance = Number(toAddress(lo, hi) - layer.first);
      part = Math.floor(distance / PART_BYTES);
      const loaded = pending.parts.get(part);
      if (loaded === undefined) {
        if (pending.isGone) return null;
        pending.wanted.add(part);
        this.#waiting.add(layer);
        return null;
      }
      bytes = loaded;
      bytesAt = layer.first + BigInt(part) * BigInt(PART_BYTES);
      const end = bytesAt + BigInt(bytes.length) - 1n;
      if (first < bytesAt) first = bytesAt;
      if (last > end) last = end;
      // The source ended before the layer did.
      if (toAddress(lo, hi) > last) return null;
    }
    let known = this.#sections.get(timeline);
    if (known === undefined) {
      known = new Map();
      this.#sections.set(timeline, known);
    }
    const key = part * timeline.from.length + stretch;
    const found = known.get(key);
    if (found !== undefined) return found;
    const start = Number(first - bytesAt);
    const sizeBytes = Number(last - first + 1n);
    const section: CodeSection = {
      id: this.#nextId++,
      name: layer.name,
      bytes: bytes.subarray(start, start + sizeBytes),
      baseLo: loOf(first) | 0,
      baseHi: hiOf(first) | 0,
      sizeBytes,
      fromTime: timeline.from[stretch]!,
      toTime: timeline.from[stretch + 1] ?? FOREVER,
      addressSpace: layer.addressSpace,
    };
    known.set(key, section);
    return section;
  }
}

/** Distance of an address from the section's beginning, or -1 where it is not inside. */
export function offsetIn(section: CodeSection, lo: number, hi: number): number {
  const low = (lo >>> 0) - (section.baseLo >>> 0);
  const offset = low < 0 ? low + 0x1_0000_0000 : low;
  const high = (hi - section.baseHi - (low < 0 ? 1 : 0)) | 0;
  return high === 0 && offset < section.sizeBytes ? offset : -1;
}

function stretchAt(from: Float64Array, time: number): number {
  let low = 0;
  let high = from.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (from[middle]! <= time) low = middle;
    else high = middle;
  }
  return low;
}

function toAddress(lo: number, hi: number): bigint {
  return (BigInt(hi >>> 0) << 32n) | BigInt(lo >>> 0);
}

async function noFiles(request: FileRequest): Promise<OpenedFile | null> {
  throw new CounterpointError(
    'ERR_NO_FILES',
    `code of ${request.path} is needed, but there is no function that opens files`,
    'Give `load` a function that answers file requests.',
  );
}
