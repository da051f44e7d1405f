import { type ByteSource, FormatError, memorySource } from '../../base/index.ts';
import { inflateZlib } from '../../code/elf/index.ts';
import { decodeRecordedFiles, processStarts, type RecordedFile } from '../../code/jit/index.ts';
import type { PerfDataReader } from '../../file-formats/perfdata/index.ts';
import { FEATURE_RECORDED_FILES } from '../../format/abi/index.ts';

/**
 * Maps of V8 are packed to a fifth of their size. All files together may be this many times their section.
 */
const MOST_RATIO = 24;
/** Small sections may be packed better. */
const LEAST_BYTES = 4 << 20;

/**
 * Files that travel with a recording, found once. What all of them hold together is bounded by the bytes of
 * their section: those that go beyond are not read.
 */
export class RecordedFiles {
  readonly #reader: Pick<PerfDataReader, 'features'>;
  /** Where a pipe brings its features later, they are looked for again. */
  #section: Uint8Array | null = null;
  /** By kind and process. */
  #files: ReadonlyMap<string, RecordedFile> = new Map();
  /** Those that go beyond what all may hold. */
  #beyond: ReadonlySet<RecordedFile> = new Set();
  #starts: ReadonlyMap<number, number> = new Map();

  constructor(reader: Pick<PerfDataReader, 'features'>) {
    this.#reader = reader;
  }

  /** Rejects with FormatError where its bytes are damaged. */
  async open(kind: number, pid: number): Promise<ByteSource | null> {
    const bytes = await this.bytesOf(kind, pid);
    return bytes === null ? null : memorySource(bytes);
  }

  /** Rejects with FormatError where its bytes are damaged. */
  async bytesOf(kind: number, pid: number): Promise<Uint8Array<ArrayBuffer> | null> {
    this.#find();
    const file = this.#files.get(keyOf(kind, pid));
    if (file === undefined) return null;
    if (this.#beyond.has(file)) {
      const most = `at most ${mostBytes(this.#section!)} bytes in all recorded files`;
      throw new FormatError('ERR_RECORDED_FILES', 0, most, `${file.sizeBytes} bytes beside the others`);
    }
    return await inflateZlib(file.packed, file.sizeBytes);
  }

  /** Processes with a file of a kind. Throws FormatError where the section is damaged. */
  pidsOf(kind: number): number[] {
    this.#find();
    return [...this.#files.values()].filter((one) => one.kind === kind).map(({ pid }) => pid);
  }

  /**
   * When a process began, in milliseconds since 1970; null: the recording does not tell it, or is damaged.
   */
  startOf(pid: number): number | null {
    try {
      this.#find();
    } catch (error) {
      // Who loads the names says what is damaged.
      if (!(error instanceof FormatError)) throw error;
    }
    return this.#starts.get(pid) ?? null;
  }

  #find(): void {
    const { raw, rawLittleEndian } = this.#reader.features;
    const section = raw.get(FEATURE_RECORDED_FILES) ?? null;
    if (section !== this.#section && section !== null) {
      const files = decodeRecordedFiles(section.slice(), rawLittleEndian);
      const byKey = new Map<string, RecordedFile>();
      // The first one of a kind and a process holds.
      for (const file of files.reverse()) byKey.set(keyOf(file.kind, file.pid), file);
      this.#files = byKey;
      this.#beyond = filesBeyond(byKey.values(), mostBytes(section));
      this.#starts = processStarts(files, rawLittleEndian);
    }
    this.#section = section;
  }
}

function keyOf(kind: number, pid: number): string {
  return `${kind} ${pid}`;
}

function mostBytes(section: Uint8Array): number {
  return LEAST_BYTES + MOST_RATIO * section.length;
}

/** The small ones are read first: one that is too large takes no other one away. */
function filesBeyond(files: Iterable<RecordedFile>, mostBytes: number): Set<RecordedFile> {
  const beyond = new Set<RecordedFile>();
  let bytes = 0;
  for (const file of [...files].sort((a, b) => a.sizeBytes - b.sizeBytes)) {
    bytes += file.sizeBytes;
    if (bytes > mostBytes) beyond.add(file);
  }
  return beyond;
}
