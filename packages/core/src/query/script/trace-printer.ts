import type { WalkedSample } from '../../ingest/index.ts';
import {
  type PerfDataReader,
  type TracepointFormat,
  type TracingData,
  tracingDataOf,
} from '../../perfdata/index.ts';
import { compilePrintFormat, parseKernelTexts, type RecordPrinter } from './print-format.ts';
import { traceText } from './trace-text.ts';

/** What tracepoints recorded, as the kernel prints it; each format is compiled once. */
export class TracePrinter {
  readonly #reader: PerfDataReader;
  readonly #printers = new Map<TracepointFormat, RecordPrinter | null>();
  #kernelTexts: Map<bigint, string> | null = null;
  #tracing: TracingData | null = null;

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  /** The format of a sample's tracepoint; undefined where it is none, or recorded nothing. */
  formatOf({ event, fields }: WalkedSample): TracepointFormat | undefined {
    return fields.rawSize === 0 ? undefined : this.#data()?.byId.get(Number(event.attr.config));
  }

  text({ view, fields }: WalkedSample, format: TracepointFormat): string {
    let printer = this.#printers.get(format);
    if (printer === undefined) {
      this.#kernelTexts ??= parseKernelTexts(this.#data()!.printkFormats);
      this.#printers.set(format, (printer = compilePrintFormat(format, this.#kernelTexts)));
    }
    const le = this.#reader.littleEndian;
    const { rawOffset: offset, rawSize: size } = fields;
    return printer === null ? traceText(view, offset, size, format, le) : printer({ view, offset, size, le });
  }

  /** Of a pipe it arrives among the records. */
  #data(): TracingData | null {
    return (this.#tracing ??= tracingDataOf(this.#reader.features));
  }
}
