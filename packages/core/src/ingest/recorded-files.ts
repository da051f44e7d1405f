import { FEATURE_RECORDED_FILES } from '../abi/index.ts';
import { type ByteSource, FormatError, memorySource } from '../base/index.ts';
import { inflateZlib } from '../elf/index.ts';
import { decodeRecordedFiles, processStarts, type RecordedFile } from '../jit/index.ts';
import type { PerfDataReader } from '../perfdata/index.ts';

/** Files that travel with a recording, found once. */
export class RecordedFiles {
  readonly #reader: Pick<PerfDataReader, 'features'>;
  /** Where a pipe brings its features later, they are looked for again. */
  #section: Uint8Array | null = null;
  #files: readonly RecordedFile[] = [];
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
    const file = this.#files.find((one) => one.kind === kind && one.pid === pid);
    return file === undefined ? null : await inflateZlib(file.packed, file.sizeBytes);
  }

  /** Processes with a file of a kind. Throws FormatError where the section is damaged. */
  pidsOf(kind: number): number[] {
    this.#find();
    return this.#files.filter((one) => one.kind === kind).map(({ pid }) => pid);
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
      this.#files = decodeRecordedFiles(section.slice(), rawLittleEndian);
      this.#starts = processStarts(this.#files, rawLittleEndian);
    }
    this.#section = section;
  }
}
