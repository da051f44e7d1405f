import type { SymbolDriver } from '../../code/symbols/index.ts';
import type { RecordSink, RecordSource, SourceScanOptions } from '../../file-formats/perfdata/index.ts';
import type { CodeDumps } from './code-dumps.ts';

/**
 * The records of a source, in their order. Where one of them says that a process has a dump of its code,
 * those behind it wait until the dump is read:
 *
 *   records ── mapping of a dump ── sample ── sample ──┤ end of a chunk: the dump is read, and they pass
 *                                   └─── wait ─────┘
 *
 * `dumps` are told of mappings by who takes the records.
 */
export function waitingForDumps(source: RecordSource, dumps: CodeDumps, files: SymbolDriver): RecordSource {
  return {
    reader: source.reader,
    scan: async (sink, scan: SourceScanOptions = {}) => {
      const waiting = new WaitingRecords(sink, dumps, () => dumps.read(source.reader, files));
      const onChunk = async (): Promise<void> => {
        await waiting.drain();
        await scan.onChunk?.();
      };
      const added = await source.scan(waiting, { ...scan, onChunk });
      await waiting.drain();
      return added;
    },
  };
}

interface WaitingRecord {
  bytes: Uint8Array;
  type: number;
  fileOffset: number;
}

class WaitingRecords implements RecordSink {
  readonly #sink: RecordSink;
  readonly #dumps: CodeDumps;
  readonly #readDumps: () => Promise<void>;
  #waiting: WaitingRecord[] = [];

  constructor(sink: RecordSink, dumps: CodeDumps, readDumps: () => Promise<void>) {
    this.#sink = sink;
    this.#dumps = dumps;
    this.#readDumps = readDumps;
  }

  record(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    if (!this.#dumps.isWaiting) {
      this.#sink.record(view, start, end, type, fileOffset);
      return;
    }
    const bytes = new Uint8Array(view.buffer, view.byteOffset + start, end - start).slice();
    this.#waiting.push({ bytes, type, fileOffset });
  }

  async drain(): Promise<void> {
    if (!this.#dumps.isWaiting) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    await this.#readDumps();
    for (const { bytes, type, fileOffset } of waiting) {
      this.#sink.record(new DataView(bytes.buffer), 0, bytes.length, type, fileOffset);
      if (this.#dumps.isWaiting) await this.#readDumps();
    }
  }
}
