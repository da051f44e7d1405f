import {
  PERF_RECORD_AUXTRACE_ERROR,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from '../../abi/index.ts';
import {
  type Damage,
  type Diagnostic,
  formatSeconds,
  printable,
  printableJson,
  TextBuffer,
  toDecimal,
  toHex,
} from '../../base/index.ts';
import {
  contentNotes,
  kernelNotes,
  type SampleFilter,
  SampleWalker,
  SymbolResolver,
  type WalkedSample,
} from '../../ingest/index.ts';
import type { LossEntry } from '../../loss/index.ts';
import type {
  PerfDataReader,
  RecordedEvent,
  RecordSink,
  RecordSource,
  ScanOptions,
} from '../../perfdata/index.ts';
import { Int32Column, NONE, Profile, type ProfileMeta } from '../../profile/index.ts';
import {
  type AuxtraceErrorRecord,
  decodeRecord,
  readSampleExtra,
  type SampleExtra,
} from '../../records/index.ts';
import type { SymbolDriver } from '../../symbols/index.ts';
import { flagsText } from './branch-flags.ts';
import { branchesOf } from './branches.ts';
import { CallIndent, type PendingBranch } from './call-indent.ts';
import {
  defaultFields,
  type FieldChoice,
  fieldsOf,
  isBranchEvent,
  SCRIPT_FIELDS,
  type ScriptField,
} from './fields.ts';
import { jsonSample } from './json-sample.ts';
import { StackText } from './stack-text.ts';
import { syntheticText } from './synthetic-text.ts';
import { TracePrinter } from './trace-printer.ts';

/** Options of `writeScript()`. */
export interface ScriptOptions extends Omit<ScanOptions, 'onChunk' | 'unordered'> {
  /** Where files are found that have names of functions. */
  symbols: SymbolDriver;
  /** As in `ingestPerfData`. */
  acceptUnverified?: (meta: ProfileMeta) => boolean;
  /** Which fields are printed. Default: those of perf. */
  fields?: FieldChoice | null;
  /** Times with nine digits instead of six. */
  nanoseconds?: boolean;
  /** Print call chains where samples have them (default). */
  callChains?: boolean;
  /** One JSON object a line instead of perf's form. */
  json?: boolean;
  /** Which samples are printed. Default: all. */
  filter?: SampleFilter;
  /** Fill up the names of binaries to this width where calls are indented. */
  dsoWidth?: number;
}

/** What was printed. */
export interface ScriptResult {
  /** How many samples were printed. */
  samples: number;
  /** What the recording does not contain. */
  loss: LossEntry[];
  /** What could not be named, and what to do about it. */
  diagnostics: Diagnostic[];
  /** What was wrong in the recording. */
  damage: Damage[];
  /** Fields that were asked for by name and that no printed event recorded. */
  absentFields: ScriptField[];
}

/**
 * Every sample as text, in order of time. `write` is called with large pieces of UTF-8 (borrowed until
 * it is done); what it returns is awaited, so a slow reader slows the reading. Symbols are looked up
 * between pieces, each address once.
 */
export async function writeScript(
  source: RecordSource,
  options: ScriptOptions,
  write: (utf8: Uint8Array) => Promise<void> | void,
): Promise<ScriptResult> {
  const { reader } = source;
  const printer = new ScriptPrinter(reader, options);
  const flush = async () => {
    await printer.resolver.resolveNew();
    for (const piece of printer.takePieces()) await write(piece);
  };
  const { signal, onProgress, fields } = options;
  const scan = {
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onProgress }),
    onChunk: flush,
    countsCycles: fields != null && [...fields.set, ...fields.added].includes('ipc'),
  };
  const added = await source.scan(printer, scan);
  await flush();
  const { losses } = printer.walker;
  losses.finish();
  for (const loss of added?.losses ?? []) losses.ledger.add(loss);
  return {
    samples: printer.samples,
    loss: losses.ledger.list(),
    diagnostics: [
      ...contentNotes(reader, added),
      ...kernelNotes(printer.profile),
      ...printer.resolver.diagnostics,
    ],
    damage: reader.damage.list(),
    absentFields: printer.absentFields(),
  };
}

/** How an event's lines look. */
interface EventForm {
  fields: ReadonlySet<ScriptField>;
  /** The call chain goes below the line, one frame a line. */
  hasChain: boolean;
  /** Something stands after the symbols. */
  hasTail: boolean;
  /** Where a branch went follows where it was. */
  isBranch: boolean;
  name: string;
  stackText: StackText;
}

/** What stands behind the names. */
const TAIL_FIELDS = ['brstack', 'phys_addr', 'ipc', 'insn', 'insnlen'] as const;
const PIECE_SIZE = 1 << 20;
const NEWLINE = /* @__PURE__ */ Uint8Array.of(10);
const JSON_END = /* @__PURE__ */ Uint8Array.of(0x7d);

/** A line that is text already. */
const PLAIN_LINE: EventForm = {
  fields: new Set(),
  hasChain: false,
  hasTail: false,
  isBranch: false,
  name: '',
  stackText: /* @__PURE__ */ new StackText(/* @__PURE__ */ new Profile(), new Set()),
};

class ScriptPrinter implements RecordSink {
  readonly walker: SampleWalker;
  readonly resolver: SymbolResolver;
  samples = 0;
  readonly profile = new Profile();
  readonly #reader: PerfDataReader;
  readonly #options: ScriptOptions;
  readonly #forms = new Map<RecordedEvent, EventForm>();
  readonly #stackTexts = new Map<string, StackText>();
  /**
   * Lines whose start is text already and whose symbols are not yet known: columns,
   * so that nothing lives long.
   */
  readonly #heads = new TextBuffer(1 << 20);
  readonly #headEnds = new Int32Column(1 << 13);
  readonly #pendingStacks = new Int32Column(1 << 13);
  #pendingForms: EventForm[] = [];
  readonly #tails = new Map<number, string>();
  readonly #branches = new Map<number, PendingBranch>();
  readonly #callIndent: CallIndent;
  readonly #buffer = new TextBuffer(PIECE_SIZE + (1 << 16));
  readonly #tracePrinter: TracePrinter;
  #nameWidth = 0;
  #measuredNames = 0;

  constructor(reader: PerfDataReader, options: ScriptOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#tracePrinter = new TracePrinter(reader);
    this.walker = new SampleWalker(
      reader,
      this.profile,
      { filter: options.filter, innermostOnly: options.callChains === false },
      (sample) => this.#sample(sample),
    );
    this.resolver = new SymbolResolver(
      this.profile,
      this.walker.binaries,
      options.symbols,
      options.acceptUnverified,
    );
    this.#callIndent = new CallIndent(this.profile, options.dsoWidth ?? 0);
  }

  record(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    if (type === PERF_RECORD_AUXTRACE_ERROR) this.#traceError(view, start, end);
    else this.walker.record(view, start, end, type, fileOffset);
  }

  /**
   * perf's line: ` instruction trace error type 1 time 5.000000001 cpu 0 pid 10 tid
   * 10 ip 0x401000 code 5: ...`.
   */
  #traceError(view: DataView, start: number, end: number): void {
    const le = this.#reader.littleEndian;
    const record = decodeRecord(view, start, end - start, null, le) as AuxtraceErrorRecord;
    const { errorType, code, cpu, pid, tid, ip, time, message } = record;
    const seconds = formatSeconds(Number(time & 0xffff_ffffn), Number(time >> 32n), 9);
    const place = `cpu ${cpu} pid ${pid} tid ${tid} ip ${ip === 0n ? '0' : `0x${ip.toString(16)}`}`;
    const text =
      this.#options.json === true
        ? printableJson({
            type: 'trace-error',
            code,
            message,
            time: String(time),
            cpu,
            pid,
            tid,
            ip: `0x${ip.toString(16)}`,
          })
        : ` instruction trace error type ${errorType} time ${seconds} ${place} code ${code}: ${printable(message)}`;
    this.#heads.putText(text);
    this.#headEnds.push(this.#heads.length);
    this.#pendingStacks.push(NONE);
    this.#pendingForms.push(PLAIN_LINE);
  }

  #sample(sample: WalkedSample): void {
    this.samples++;
    const form = this.#formOf(sample.event);
    const isJson = this.#options.json === true;
    this.#heads.putText(isJson ? this.#jsonHead(sample, form) : this.#head(sample, form));
    this.#headEnds.push(this.#heads.length);
    const line = this.#pendingStacks.push(sample.stack);
    this.#pendingForms.push(form);
    if (isJson) return;
    if (form.isBranch) this.#addBranch(line, sample, form);
    if (form.hasTail) this.#tails.set(line, this.#tail(sample, form.fields));
  }

  #formOf(event: RecordedEvent): EventForm {
    let form = this.#forms.get(event);
    if (form === undefined) {
      // perf lines up the names of all events; in a pipe those that are known by now.
      const { events } = this.#reader.events;
      for (; this.#measuredNames < events.length; this.#measuredNames++)
        this.#nameWidth = Math.max(this.#nameWidth, events[this.#measuredNames]!.name.length);
      const defaults =
        this.#options.json === true ? SCRIPT_FIELDS : defaultFields(event, this.#options.callChains);
      const fields = fieldsOf(event, this.#options.fields ?? null, defaults);
      const hasChain =
        this.#options.callChains !== false &&
        fields.has('ip') &&
        (event.layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0;
      const hasTail = TAIL_FIELDS.some((field) => fields.has(field));
      const isBranch = isBranchEvent(event) && (fields.has('addr') || fields.has('callindent'));
      const stackText = this.#stackTextOf(fields);
      form = { fields, hasChain, hasTail, isBranch, name: event.name, stackText };
      this.#forms.set(event, form);
    }
    return form;
  }

  /** What was asked for and could be printed for no event. */
  absentFields(): ScriptField[] {
    const choice = this.#options.fields;
    if (choice == null || this.#forms.size === 0) return [];
    const wanted = [...choice.set, ...choice.added];
    const forms = [...this.#forms.values()];
    return wanted.filter((field) => !forms.some(({ fields }) => fields.has(field)));
  }

  /** Events that print the same fields share the texts of their stacks. */
  #stackTextOf(fields: ReadonlySet<ScriptField>): StackText {
    const key = [...fields].sort().join();
    let text = this.#stackTexts.get(key);
    if (text === undefined) {
      text = new StackText(this.profile, fields);
      this.#stackTexts.set(key, text);
    }
    return text;
  }

  /** `node  2493 [000]   304.868890:    1003009 cpu-clock: ` - widths as perf prints them. */
  #head(sample: WalkedSample, form: EventForm): string {
    const { fields } = form;
    const { thread } = sample;
    let text = '';
    if (fields.has('comm')) text += `${printable(thread.comm).padStart(form.hasChain ? 0 : 16)} `;
    const hasPid = fields.has('pid');
    const hasTid = fields.has('tid');
    if (hasPid && hasTid) text += `${pad(sample.fields.pid, 5)}/${String(sample.fields.tid).padEnd(5)} `;
    else if (hasPid) text += `${pad(sample.fields.pid, 5)} `;
    else if (hasTid) text += `${pad(sample.fields.tid, 5)} `;
    if (fields.has('cpu')) text += `[${String(sample.cpu).padStart(3, '0')}] `;
    if (fields.has('time')) text += `${this.#time(sample)}: `;
    if (fields.has('period')) text += `${toDecimal(sample.periodLo, sample.periodHi).padStart(10)} `;
    if (fields.has('event')) text += `${printable(form.name).padStart(this.#nameWidth)}: `;
    if (fields.has('flags')) text += `  ${flagsText(this.#extra(sample)?.flags ?? 0).padEnd(21)} `;
    if (fields.has('trace')) text += this.#trace(sample);
    if (fields.has('synth')) text += this.#synthetic(sample);
    if (fields.has('addr') && !form.isBranch)
      text += `${toHex(sample.fields.addrLo, sample.fields.addrHi).padStart(16)}`;
    if (fields.has('weight')) text += this.#weight(sample).padStart(16);
    if (form.hasChain) return `${text}\n`;
    if (fields.has('ip') && !fields.has('callindent'))
      text += ` ${toHex(sample.fields.ipLo, sample.fields.ipHi).padStart(16)}`;
    return text;
  }

  #extra({ view, fields, recordEnd }: WalkedSample): SampleExtra | null {
    return readSampleExtra(view, fields.end, recordEnd, this.#reader.littleEndian);
  }

  #synthetic({ view, fields, event }: WalkedSample): string {
    return syntheticText(view, fields.rawOffset, fields.rawSize, event, this.#reader.littleEndian);
  }

  /** Where it went is named with all the others. */
  #addBranch(line: number, sample: WalkedSample, form: EventForm): void {
    const { addrLo, addrHi, ipLo, ipHi } = sample.fields;
    const extra = form.fields.has('callindent') ? this.#extra(sample) : null;
    this.#branches.set(line, {
      stack: this.walker.stackAt(sample, addrLo, addrHi),
      address: toHex(addrLo, addrHi),
      fromAddress: toHex(ipLo, ipHi),
      flags: extra?.flags ?? 0,
      depth: extra?.depth ?? 0,
    });
  }

  #time(sample: WalkedSample): string {
    const digits = this.#options.nanoseconds === true ? 9 : 6;
    const text = formatSeconds(sample.fields.timeLo, sample.fields.timeHi, digits);
    return text.padStart(6 + digits);
  }

  #weight(sample: WalkedSample): string {
    const isStruct = (sample.event.layout.sampleType & PERF_SAMPLE_WEIGHT_STRUCT) !== 0;
    return toDecimal(sample.fields.weightLo, isStruct ? 0 : sample.fields.weightHi);
  }

  #trace(sample: WalkedSample): string {
    const format = this.#tracePrinter.formatOf(sample);
    return format === undefined ? '' : printable(this.#tracePrinter.text(sample, format));
  }

  #tail(sample: WalkedSample, fields: ReadonlySet<ScriptField>): string {
    let text = '';
    if (fields.has('brstack')) text += this.#branchStack(sample);
    if (fields.has('phys_addr')) {
      text += toHex(sample.fields.physicalAddrLo, sample.fields.physicalAddrHi).padStart(16);
    }
    const extra = this.#extra(sample);
    if (extra === null) return text;
    if (fields.has('ipc') && extra.cycles > 0) {
      // As perf: what is behind the second digit is cut off.
      const ipc = (Math.floor((extra.instructions * 100) / extra.cycles) / 100).toFixed(2);
      text += ` \t IPC: ${ipc} (${extra.instructions}/${extra.cycles}) `;
    }
    const { instruction } = extra;
    if (fields.has('insnlen')) text += ` ilen: ${instruction.length}`;
    if (fields.has('insn') && instruction.length > 0) {
      text += ' insn:';
      for (const byte of instruction) text += ` ${byte.toString(16).padStart(2, '0')}`;
    }
    return text;
  }

  /** ` 0xFROM/0xTO/P/-/-/CYCLES/TYPE ` for each entry: predicted, in transaction, aborted, cycles, type. */
  #branchStack(sample: WalkedSample): string {
    let text = '';
    for (const branch of branchesOf(sample, this.#reader.littleEndian)) {
      const transaction = `${branch.inTransaction ? 'X' : '-'}/${branch.isAbort ? 'A' : '-'}`;
      text += ` 0x${toHex(branch.fromLo, branch.fromHi)}/0x${toHex(branch.toLo, branch.toHi)}`;
      text += `/${branch.prediction}/${transaction}/${branch.cycles}/${branch.type} `;
    }
    return text;
  }

  #jsonHead(sample: WalkedSample, { fields }: EventForm): string {
    const everything = this.#options.fields?.mode !== 'set';
    const le = this.#reader.littleEndian;
    const record = jsonSample(sample, { fields, everything }, () => this.#trace(sample), le);
    return printableJson(record).slice(0, -1);
  }

  /** The lines that wait, now that their symbols are known, in pieces that are borrowed until the next. */
  *takePieces(): Generator<Uint8Array> {
    const buffer = this.#buffer;
    const heads = this.#heads;
    const headEnds = this.#headEnds;
    const pendingStacks = this.#pendingStacks;
    const pendingForms = this.#pendingForms;
    const tails = this.#tails;
    const isJson = this.#options.json === true;
    const headBytes = heads.view();
    let start = 0;
    for (let line = 0; line < headEnds.length; line++) {
      const end = headEnds.at(line);
      buffer.put(headBytes.subarray(start, end));
      start = end;
      const form = pendingForms[line]!;
      const stack = pendingStacks.at(line);
      if (form === PLAIN_LINE) {
        buffer.put(NEWLINE);
        continue;
      }
      if (isJson && !form.fields.has('ip')) buffer.put(JSON_END);
      else if (isJson) buffer.putText(`,"stack":${form.stackText.json(stack, form.hasChain)}}`);
      else if (form.hasChain) buffer.put(form.stackText.chain(stack));
      else if (form.fields.has('callindent')) {
        const branch = this.#branches.get(line);
        if (branch !== undefined) buffer.putText(this.#callIndent.text(branch, stack, form.fields));
      } else if (form.fields.has('ip')) buffer.put(form.stackText.innermost(stack));
      const branch = form.fields.has('addr') ? this.#branches.get(line) : undefined;
      if (branch !== undefined) {
        buffer.putText(` => ${branch.address.padStart(16)}`);
        buffer.put(form.stackText.innermost(branch.stack));
      }
      if (tails.size > 0) buffer.putText(tails.get(line) ?? '');
      buffer.put(NEWLINE);
      if (buffer.length < PIECE_SIZE) continue;
      yield buffer.view();
      buffer.clear();
    }
    if (buffer.length > 0) yield buffer.view();
    buffer.clear();
    heads.clear();
    headEnds.length = 0;
    pendingStacks.length = 0;
    this.#pendingForms = [];
    tails.clear();
    this.#branches.clear();
  }
}

function pad(value: number, width: number): string {
  return String(value).padStart(width);
}
