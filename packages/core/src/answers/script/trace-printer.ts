import {
  type PerfDataReader,
  type TracepointFormat,
  type TracingData,
  tracingDataOf,
} from '../../file-formats/perfdata/index.ts';
import type { WalkedSample } from '../../profile/ingest/index.ts';
import type { CodeNames } from './code-names.ts';
import { type CodeNamer, compilePrintFormat, parseKernelTexts } from './print-format.ts';
import type { RecordPrinter } from './raw-record.ts';
import { traceText } from './trace-text.ts';

/** What tracepoints recorded, as the kernel prints it; each format is compiled once. */
export class TracePrinter {
  readonly #reader: PerfDataReader;
  readonly #printers = new Map<TracepointFormat, RecordPrinter | null>();
  #kernelTexts: Map<bigint, string> | null = null;
  #tracing: TracingData | null = null;
  readonly #codeNames: CodeNames | null;
  #sample: WalkedSample | null = null;

  /** Without `codeNames`, addresses of code are printed as numbers. */
  constructor(reader: PerfDataReader, codeNames: CodeNames | null = null) {
    this.#reader = reader;
    this.#codeNames = codeNames;
  }

  /** The format of a sample's tracepoint; undefined where it is none, or recorded nothing. */
  formatOf({ event, fields }: WalkedSample): TracepointFormat | undefined {
    return fields.rawSize === 0 ? undefined : this.#data()?.byId.get(Number(event.attr.config));
  }

  /** It may wait for names of code: `CodeNames.named` gives it them. */
  text(sample: WalkedSample, format: TracepointFormat): string {
    const { view, fields } = sample;
    this.#sample = sample;
    let printer = this.#printers.get(format);
    if (printer === undefined) {
      const names = this.#codeNames;
      const codeName = names === null ? undefined : this.#codeName(names);
      this.#kernelTexts ??= parseKernelTexts(this.#data()!.printkFormats);
      this.#printers.set(format, (printer = compilePrintFormat(format, this.#kernelTexts, codeName)));
    }
    const le = this.#reader.littleEndian;
    const { rawOffset: offset, rawSize: size } = fields;
    return printer === null ? traceText(view, offset, size, format, le) : printer({ view, offset, size, le });
  }

  #codeName(names: CodeNames): CodeNamer {
    return (address, form) => names.textOf(this.#sample!, address, form);
  }

  /** Of a pipe it arrives among the records. */
  #data(): TracingData | null {
    return (this.#tracing ??= tracingDataOf(this.#reader.features));
  }
}
