/**
 * Which mapped files samples are in, without an order of time, stacks or names: what a mapping says is kept
 * as long as the recording is, so that it does not matter when it came.
 *
 *     samples    pid, page │ pid, page │ ...      each once
 *     mappings   pid: [start, end) of a file      all that there ever were, and the parents' of a process
 *
 * Where files took turns at an address, all of them count.
 */
import {
  PERF_RECORD_FORK,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_MMAP_BUILD_ID,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
} from '@counterpoint/core/abi';
import { toSignedFloat } from '@counterpoint/core/base';
import { mappingKind } from '@counterpoint/core/machine';
import type { PerfDataReader, RecordSink } from '@counterpoint/core/perfdata';
import {
  decodeRecord,
  decodeSampleInto,
  type ForkRecord,
  type Mmap2Record,
  type MmapRecord,
  SampleFields,
} from '@counterpoint/core/records';

/** A piece of a file in a process, or in the kernel. */
export interface MappedCode {
  readonly path: string;
  /** Hex; empty where its record does not say. */
  readonly buildId: string;
}

interface Range extends MappedCode {
  readonly start: number;
  readonly end: number;
}

const KERNEL = -1;
const PROT_EXEC = 4;
const PAGE_BYTES = 4096;
const PAGE_MASK = ~(PAGE_BYTES - 1);
/** Pages that were seen a moment ago are not looked up again. */
const RECENT = 1 << 12;
/** Who has more is damaged: pages of a program are some thousands. */
const MOST_PAGES = 1 << 22;
/** `PERF_CONTEXT_MAX`: words from here on introduce a part of a call chain. */
const FIRST_CONTEXT = -4095;
const HOST_IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const KERNEL_IMAGE = /^(\[kernel\.kallsyms(?:\.\d+)?\])/;

/** Gathers from the records of one scan, in any order. */
class SampledCode implements RecordSink {
  readonly #reader: PerfDataReader;
  readonly #fields = new SampleFields();
  readonly #ranges = new Map<number, Range[]>();
  readonly #parents = new Map<number, Set<number>>();
  /** By process: first addresses of pages, signed. */
  readonly #pages = new Map<number, Set<number>>();
  #pageCount = 0;
  /** The bytes that hold the records, as words. */
  #words: Int32Array = new Int32Array(0);
  readonly #recentLow = new Int32Array(RECENT);
  readonly #recentHigh = new Int32Array(RECENT);
  readonly #recentPid = new Int32Array(RECENT).fill(-2);

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  record(view: DataView, start: number, end: number, type: number): void {
    if (type === PERF_RECORD_SAMPLE) this.#sample(view, start, end, type);
    else if (type === PERF_RECORD_MMAP || type === PERF_RECORD_MMAP2 || type === PERF_RECORD_FORK) {
      const { events, littleEndian } = this.#reader;
      const event = events.eventOf(view, start, end, type, littleEndian) ?? events.events[0] ?? null;
      const record = decodeRecord(view, start, end - start, event?.layout ?? null, littleEndian);
      if (type === PERF_RECORD_FORK) this.#fork(record as ForkRecord);
      else this.#map(record as MmapRecord | Mmap2Record);
    }
  }

  #sample(view: DataView, start: number, end: number, type: number): void {
    const { events, littleEndian } = this.#reader;
    const event = events.eventOf(view, start, end, type, littleEndian);
    const fields = this.#fields;
    if (event === null || !decodeSampleInto(view, start, end, event.layout, littleEndian, fields)) return;
    const { pid, chainOffset, chainCount } = fields;
    this.#add(pid, fields.ipLo | 0, fields.ipHi | 0);
    const byteOffset = view.byteOffset + chainOffset;
    if (littleEndian && HOST_IS_LITTLE_ENDIAN && byteOffset % 4 === 0) {
      if (this.#words.buffer !== view.buffer)
        this.#words = new Int32Array(view.buffer, 0, view.buffer.byteLength >> 2);
      const words = this.#words;
      const end = byteOffset / 4 + chainCount * 2;
      for (let at = byteOffset / 4; at < end; at += 2) this.#addWord(pid, words[at]!, words[at + 1]!);
      return;
    }
    const [lowAt, highAt] = littleEndian ? [0, 4] : [4, 0];
    for (let at = chainOffset; at < chainOffset + chainCount * 8; at += 8)
      this.#addWord(pid, view.getInt32(at + lowAt, littleEndian), view.getInt32(at + highAt, littleEndian));
  }

  #addWord(pid: number, low: number, high: number): void {
    if (high !== -1 || low < FIRST_CONTEXT) this.#add(pid, low, high);
  }

  #add(pid: number, low: number, high: number): void {
    const page = low & PAGE_MASK;
    const owner = high < 0 ? KERNEL : pid;
    const slot = (Math.imul(page >>> 12, 0x9e3779b1) ^ high ^ owner) & (RECENT - 1);
    const isKnown =
      this.#recentLow[slot] === page && this.#recentHigh[slot] === high && this.#recentPid[slot] === owner;
    if (isKnown || this.#pageCount >= MOST_PAGES) return;
    this.#recentLow[slot] = page;
    this.#recentHigh[slot] = high;
    this.#recentPid[slot] = owner;
    const pages = this.#pages.get(owner) ?? new Set();
    this.#pages.set(owner, pages);
    const before = pages.size;
    pages.add(toSignedFloat(page >>> 0, high));
    this.#pageCount += pages.size - before;
  }

  #fork({ pid, ppid }: ForkRecord): void {
    if (pid === ppid) return;
    this.#parents.set(pid, (this.#parents.get(pid) ?? new Set()).add(ppid));
  }

  #map(record: MmapRecord | Mmap2Record): void {
    const mode = record.misc & PERF_RECORD_MISC_CPUMODE_MASK;
    if (mode === PERF_RECORD_MISC_GUEST_KERNEL) return;
    const owner = mode === PERF_RECORD_MISC_KERNEL ? KERNEL : record.pid;
    const { buildId, buildIdSize = 20, protection } = record as Mmap2Record;
    // Data: nothing runs there.
    if (owner !== KERNEL && protection !== undefined && (protection & PROT_EXEC) === 0) return;
    const hasBuildId = buildId !== undefined && (record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) !== 0;
    const start = Number(BigInt.asIntN(64, record.start));
    const range = {
      path: KERNEL_IMAGE.exec(record.path)?.[1] ?? record.path,
      buildId: hasBuildId ? Buffer.from(buildId.subarray(0, Math.min(buildIdSize, 20))).toString('hex') : '',
      start,
      end: start + Number(record.length),
    };
    const ranges = this.#ranges.get(owner);
    if (ranges === undefined) this.#ranges.set(owner, [range]);
    else ranges.push(range);
  }

  *code(): Generator<MappedCode> {
    for (const [pid, pages] of this.#pages) {
      if (pid === KERNEL) {
        const left = new Set(pages);
        yield* this.#hit(KERNEL, left);
        // Code of its image that is behind what its map says, as far as symbols tell.
        const image =
          left.size === 0 ? undefined : this.#ranges.get(KERNEL)?.find(({ path }) => KERNEL_IMAGE.test(path));
        if (image !== undefined) yield image;
      } else yield* this.#ofProcess(pid, pages);
    }
  }

  /** Its own mappings; what is in none of them is in those of the processes that it was forked from. */
  *#ofProcess(pid: number, pages: ReadonlySet<number>): Generator<MappedCode> {
    const left = new Set(pages);
    const asked = new Set([pid]);
    for (const one of asked) {
      yield* this.#hit(one, left);
      if (left.size === 0) return;
      for (const parent of this.#parents.get(one) ?? []) asked.add(parent);
    }
  }

  /** Those of the mappings that have one of the pages; takes away the pages that are in any. */
  *#hit(owner: number, left: Set<number>): Generator<MappedCode> {
    const ranges = this.#ranges.get(owner);
    if (ranges === undefined) return;
    const pages = Float64Array.from(left).sort();
    for (const range of ranges) {
      const first = firstBehind(pages, range.start - PAGE_BYTES);
      if (!(pages[first]! < range.end)) continue;
      yield range;
      for (let row = first; pages[row]! < range.end; row++) left.delete(pages[row]!);
    }
  }
}

/** Row of the first value that is greater. */
function firstBehind(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Reads a recording for it, as a whole. What its files are called, with their build ids, each once. */
export async function readSampledCode(reader: PerfDataReader): Promise<MappedCode[]> {
  const sampled = new SampledCode(reader);
  await reader.scan(sampled, { unordered: true });
  const stored = new Map((reader.features.buildIds ?? []).map(({ path, buildId }) => [path, buildId]));
  const found = new Map<string, MappedCode>();
  for (const { path, buildId: recorded } of sampled.code()) {
    const kind = mappingKind(path);
    const buildId = recorded || (stored.get(path) ?? '');
    if (buildId !== '' && (kind === 'file' || kind === 'vdso'))
      found.set(`${path} ${buildId}`, { path, buildId });
  }
  return [...found.values()];
}
