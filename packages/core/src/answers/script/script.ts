import {
  checkArgument,
  checkOptionNames,
  type Damage,
  type Diagnostic,
  formatSeconds,
  hasMembers,
  optional,
  printable,
  printableJson,
  TextBuffer,
  toDecimal,
  toHex,
} from '../../base/index.ts';
import {
  checkRecordSource,
  hasRawUserStacks,
  type PerfDataReader,
  type RecordedEvent,
  type RecordSink,
  type RecordSource,
} from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_AUXTRACE_ERROR,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from '../../format/abi/index.ts';
import type { LossEntry } from '../../format/loss/index.ts';
import {
  type AuxtraceErrorRecord,
  decodeRecord,
  readSampleExtra,
  type SampleExtra,
} from '../../format/records/index.ts';
import {
  BinaryCode,
  contentNotes,
  isBranchEvent,
  kernelNotes,
  NativeSources,
  SampleWalker,
  SymbolResolver,
  type WalkedSample,
  waitingForDumps,
} from '../../profile/ingest/index.ts';
import { Int32Column, NONE, Profile } from '../../profile/tables/index.ts';
import { typesOfKinds } from '../record-text/kinds.ts';
import { blockText } from './branch-block-text.ts';
import { BranchBlocks } from './branch-blocks.ts';
import { flagsText } from './branch-flags.ts';
import { BranchPlaces } from './branch-places.ts';
import { CallIndent, type PendingBranch } from './call-indent.ts';
import { CodeNames, waitsForNames } from './code-names.ts';
import { BLOCKS, defaultFields, fieldsOf, PLACED, SCRIPT_FIELDS, type ScriptField } from './fields.ts';
import { HeadTexts } from './head-texts.ts';
import { jsonSample } from './json-sample.ts';
import { LaterParts } from './later-parts.ts';
import { plainTail, registerTail } from './plain-tail.ts';
import { RecordLines } from './record-lines.ts';
import { SCRIPT_OPTIONS, type ScriptOptions } from './script-options.ts';
import { ShownTimes } from './shown-times.ts';
import { StackText } from './stack-text.ts';
import { syntheticText } from './synthetic-text.ts';
import { TracePrinter } from './trace-printer.ts';
import { WantedSamples } from './wanted-samples.ts';

/** What was printed. */
export interface ScriptResult {
  /** How many samples were printed. */
  samples: number;
  /** With `perEvent`: how many of each event. */
  samplesOf: ReadonlyMap<RecordedEvent, number>;
  /** The limit was reached: the rest of the recording was not read, and its losses are not told. */
  isLimited: boolean;
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
 * Every sample as text, in order of time. `write` is called with large pieces of UTF-8 (borrowed until it is
 * done); what it returns is awaited, so a slow reader slows the reading. Symbols are looked up between
 * pieces, each address once. With `perEvent` it is told the event of the lines; null for other records.
 */
export async function writeScript(
  source: RecordSource,
  options: ScriptOptions,
  write: (utf8: Uint8Array, event: RecordedEvent | null) => Promise<void> | void,
): Promise<ScriptResult> {
  checkRecordSource('writeScript()', source);
  checkOptionNames('writeScript()', options, SCRIPT_OPTIONS);
  checkArgument(
    hasMembers(options, { symbols: 'object' }),
    'writeScript()',
    'options',
    options,
    'an object with symbols',
  );
  checkArgument(typeof write === 'function', 'writeScript()', 'write', write, 'a function that takes bytes');
  const { reader } = source;
  const printer = new ScriptPrinter(reader, options);
  const flush = async () => {
    await printer.loadBlocks();
    await printer.resolver.resolveNew();
    if (printer.wantsSources) await printer.sources.resolveNew();
    for (const { bytes, event } of printer.takePieces()) await write(bytes, event);
    if (printer.isLimited) throw LIMIT_REACHED;
  };
  const { signal, onProgress, fields } = options;
  const scan = {
    ...optional({ signal, onProgress }),
    onChunk: flush,
    countsCycles: fields != null && [...fields.set, ...fields.added].includes('ipc'),
  };
  const added = await untilLimit(async () => {
    const { dumps } = printer.walker.codeHistories;
    const traces = await waitingForDumps(source, dumps, options.symbols).scan(printer, scan);
    await flush();
    return traces;
  }).finally(() => printer.close());
  const { losses } = printer.walker;
  losses.finish();
  for (const loss of added?.losses ?? []) losses.ledger.add(loss);
  return {
    samples: printer.samples,
    samplesOf: printer.samplesOf,
    isLimited: printer.isLimited,
    loss: losses.ledger.list(),
    diagnostics: [
      ...contentNotes(reader, added),
      ...kernelNotes(printer.profile),
      ...printer.resolver.diagnostics,
      ...printer.walker.codeHistories.diagnostics,
      ...printer.sources.diagnostics,
    ],
    damage: reader.damage.list(),
    absentFields: printer.absentFields(),
  };
}

/** Ends the reading, as an error of `write` would. */
const LIMIT_REACHED = /* @__PURE__ */ Symbol('limit reached');

async function untilLimit<Result>(read: () => Promise<Result>): Promise<Result | null> {
  try {
    return await read();
  } catch (reason) {
    if (reason !== LIMIT_REACHED) throw reason;
    return null;
  }
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
  event: RecordedEvent | null;
  stackText: StackText;
}

/** Lines that are borrowed until the next piece; `event` with `perEvent` only. */
interface Piece {
  bytes: Uint8Array;
  event: RecordedEvent | null;
}

/** What stands behind the names. */
const TAIL_FIELDS = /* @__PURE__ */ tailFields();

function tailFields(): ScriptField[] {
  const rest = ['phys_addr', 'data_page_size', 'code_page_size', 'ipc', 'insn', 'insnlen'] as const;
  return ['iregs', 'uregs', ...PLACED, ...BLOCKS, ...rest];
}

/** Debug information is read only where somebody asks for lines. */
const JSON_FIELDS = /* @__PURE__ */ SCRIPT_FIELDS.filter((field) => field !== 'srcline' && !isForm(field));
/** Other forms of what `brstack` has. */
function isForm(field: ScriptField): boolean {
  return field.startsWith('brstack') && field !== 'brstack';
}

/** A part of a line: text, or what is made of it once symbols are known. */
type TailPart = string | (() => string);

const NO_PARTS: readonly TailPart[] = [];

const PIECE_SIZE = 1 << 20;
const EVENT_PIECE_SIZE = 1 << 16;
const NEWLINE = /* @__PURE__ */ Uint8Array.of(10);
const JSON_END = /* @__PURE__ */ Uint8Array.of(0x7d);

/** A line that is text already. */
const PLAIN_LINE: EventForm = {
  fields: new Set(),
  hasChain: false,
  hasTail: false,
  isBranch: false,
  name: '',
  event: null,
  stackText: /* @__PURE__ */ new StackText(/* @__PURE__ */ new Profile(), new Set(), {
    sources: null,
    isInlined: false,
    fullPaths: false,
    maxStack: 0,
  }),
};

class ScriptPrinter implements RecordSink {
  readonly walker: SampleWalker;
  readonly resolver: SymbolResolver;
  readonly sources: NativeSources;
  /** Some event shows lines or inlined functions. */
  wantsSources = false;
  samples = 0;
  readonly samplesOf = new Map<RecordedEvent, number>();
  /** A sample came after the last one that is wanted. */
  isLimited = false;
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
  readonly #tails = new Map<number, TailPart[]>();
  readonly #branchPlaces: BranchPlaces;
  readonly #blocks: BranchBlocks | null;
  readonly #code: BinaryCode;
  readonly #branches = new Map<number, PendingBranch>();
  readonly #callIndent: CallIndent;
  readonly #buffer = new TextBuffer(PIECE_SIZE + (1 << 16));
  readonly #tracePrinter: TracePrinter;
  readonly #recordLines: RecordLines;
  readonly #recordTypes: ReadonlySet<number>;
  readonly #headTexts = new HeadTexts();
  readonly #times: ShownTimes;
  /** Times that depend on the lines before, and names in what tracepoints recorded. */
  readonly #laterParts = new LaterParts();
  readonly #codeNames: CodeNames;
  /** Null: all samples are wanted. */
  readonly #wanted: WantedSamples | null;
  readonly #eventBuffers = new Map<RecordedEvent | null, TextBuffer>();
  #nameWidth = 0;
  #measuredNames = 0;

  constructor(reader: PerfDataReader, options: ScriptOptions) {
    this.#reader = reader;
    this.#options = options;
    const { functions } = options;
    this.#wanted = functions === undefined ? null : new WantedSamples(this.profile, functions);
    this.#times = new ShownTimes(options);
    this.walker = new SampleWalker(
      reader,
      this.profile,
      { filter: options.filter, innermostOnly: options.callChains === false },
      (sample) => this.#sample(sample),
    );
    this.#codeNames = new CodeNames(this.profile, this.walker);
    this.#tracePrinter = new TracePrinter(reader, this.#codeNames);
    this.resolver = new SymbolResolver(
      this.profile,
      this.walker.binaries,
      options.symbols,
      options.acceptUnverified,
      this.walker,
      options.sourceMaps !== false,
    );
    const { binaries } = this.walker;
    const isAccepted = () => options.acceptUnverified?.(binaries.meta()) ?? true;
    this.sources = new NativeSources(this.profile, binaries, options.symbols, isAccepted);
    this.#code = new BinaryCode(this.profile, binaries, options.symbols, isAccepted);
    const { littleEndian } = reader;
    this.#branchPlaces = new BranchPlaces(this.walker, this.profile, littleEndian);
    this.#blocks =
      options.instructions === undefined
        ? null
        : new BranchBlocks(this.walker, this.profile, this.#code, options.instructions, littleEndian);
    this.#callIndent = new CallIndent(this.profile, options.dsoWidth ?? 0);
    this.#recordLines = new RecordLines(reader, this.walker.machine, options);
    this.#recordTypes = typesOfKinds(options.records ?? []);
  }

  /** The code between branches, so that its symbols are looked up with all others. */
  async loadBlocks(): Promise<void> {
    await this.#blocks?.load();
  }

  async close(): Promise<void> {
    await this.sources.close();
    await this.#code.close();
  }

  record(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    if (this.isLimited) return;
    if (type === PERF_RECORD_AUXTRACE_ERROR) this.#traceError(view, start, end);
    else this.walker.record(view, start, end, type, fileOffset);
    if (!this.#recordTypes.has(type)) return;
    const text = this.#recordLines.text(view, start, end, type, (event) => this.#formOf(event));
    if (text !== null) this.#plainLine(text);
  }

  #plainLine(text: string): void {
    this.#heads.putText(text);
    this.#headEnds.push(this.#heads.length);
    this.#pendingStacks.push(NONE);
    this.#pendingForms.push(PLAIN_LINE);
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
    this.#plainLine(text);
  }

  #sample(sample: WalkedSample): void {
    // Whether the function is wanted is known later.
    if (this.#wanted === null && !this.#counts()) return;
    const form = this.#formOf(sample.event);
    const isJson = this.#options.json === true;
    this.#heads.putText(isJson ? this.#jsonHead(sample, form) : this.#head(sample, form));
    this.#headEnds.push(this.#heads.length);
    const line = this.#pendingStacks.push(sample.stack);
    this.#pendingForms.push(form);
    if (isJson) return;
    if (form.isBranch) this.#addBranch(line, sample, form);
    if (form.hasTail) this.#tails.set(line, this.#tail(sample, form));
  }

  /** One more sample is printed, unless the limit was reached. */
  #counts(): boolean {
    this.isLimited = this.samples === this.#options.limit;
    if (!this.isLimited) this.samples++;
    return !this.isLimited;
  }

  #formOf(event: RecordedEvent): EventForm {
    let form = this.#forms.get(event);
    if (form === undefined) {
      // perf lines up the names of all events; in a pipe those that are known by now.
      const { events } = this.#reader.events;
      for (; this.#measuredNames < events.length; this.#measuredNames++)
        this.#nameWidth = Math.max(this.#nameWidth, events[this.#measuredNames]!.name.length);
      const defaults =
        this.#options.json === true ? JSON_FIELDS : defaultFields(event, this.#options.callChains);
      const fields = fieldsOf(event, this.#options.fields ?? null, defaults);
      const hasChain =
        this.#options.callChains !== false &&
        fields.has('ip') &&
        (event.layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0;
      const hasTail = TAIL_FIELDS.some((field) => fields.has(field));
      const isBranch = isBranchEvent(event) && (fields.has('addr') || fields.has('callindent'));
      const isInlined = hasChain && (this.#options.inlined ?? hasRawUserStacks(event));
      if (isInlined || fields.has('srcline')) this.wantsSources = true;
      const stackText = this.#stackTextOf(fields, isInlined);
      form = { fields, hasChain, hasTail, isBranch, name: event.name, event, stackText };
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
  #stackTextOf(fields: ReadonlySet<ScriptField>, isInlined: boolean): StackText {
    const key = [...fields, String(isInlined)].sort().join();
    let text = this.#stackTexts.get(key);
    if (text === undefined) {
      text = new StackText(this.profile, fields, {
        sources: isInlined || fields.has('srcline') ? this.sources : null,
        isInlined,
        fullPaths: this.#options.fullPaths === true,
        maxStack: this.#options.maxStack ?? Number.POSITIVE_INFINITY,
      });
      this.#stackTexts.set(key, text);
    }
    return text;
  }

  /** `node  2493 [000]   304.868890:    1003009 cpu-clock: ` - widths as perf prints them. */
  #head(sample: WalkedSample, form: EventForm): string {
    const { fields } = form;
    const { thread } = sample;
    let text = '';
    const texts = this.#headTexts;
    const { pid, tid } = sample.fields;
    if (fields.has('comm'))
      text += form.hasChain ? texts.command(thread.comm) : texts.paddedCommand(thread.comm);
    const hasPid = fields.has('pid');
    const hasTid = fields.has('tid');
    if (hasPid && hasTid) text += texts.processBefore(pid) + texts.threadBehind(tid);
    else if (hasPid || hasTid) text += texts.number(hasPid ? pid : tid);
    if (fields.has('cpu')) text += texts.cpu(sample.cpu);
    if (fields.has('time')) text += `${this.#time(sample)}: `;
    if (fields.has('period')) text += `${toDecimal(sample.periodLo, sample.periodHi).padStart(10)} `;
    if (fields.has('event')) text += `${printable(form.name).padStart(this.#nameWidth)}: `;
    if (fields.has('flags')) text += `  ${flagsText(this.#extra(sample)?.flags ?? 0).padEnd(21)} `;
    if (fields.has('trace')) text += this.#traceText(sample);
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

  #time({ fields }: WalkedSample): string {
    if (this.#wanted === null || this.#times.isAbsolute)
      return this.#times.next(fields.timeLo, fields.timeHi);
    const { timeLo, timeHi } = fields;
    return this.#later(() => this.#times.next(timeLo, timeHi));
  }

  /** A part of the line that is being made. */
  #later(part: () => string): string {
    return this.#laterParts.add(this.#headEnds.length, part);
  }

  #weight(sample: WalkedSample): string {
    const isStruct = (sample.event.layout.sampleType & PERF_SAMPLE_WEIGHT_STRUCT) !== 0;
    return toDecimal(sample.fields.weightLo, isStruct ? 0 : sample.fields.weightHi);
  }

  /** It may wait for names. */
  #trace(sample: WalkedSample): string {
    const format = this.#tracePrinter.formatOf(sample);
    return format === undefined ? '' : this.#tracePrinter.text(sample, format);
  }

  #traceText(sample: WalkedSample): string {
    const text = this.#trace(sample);
    return waitsForNames(text) ? this.#later(() => printable(this.#codeNames.named(text))) : printable(text);
  }

  #tail(sample: WalkedSample, form: EventForm): TailPart[] {
    const { fields } = form;
    const { littleEndian, features } = this.#reader;
    const parts: TailPart[] = [registerTail(sample, fields, littleEndian, features.arch)];
    if (PLACED.some((field) => fields.has(field))) parts.push(this.#branchPlaces.textOf(sample, fields));
    if (BLOCKS.some((field) => fields.has(field))) parts.push(this.#blockText(sample, form));
    parts.push(plainTail(sample, fields, this.#extra(sample)));
    return parts;
  }

  #blockText(sample: WalkedSample, { fields, stackText }: EventForm): TailPart {
    const lines = this.#blocks?.linesOf(sample) ?? [];
    if (sample.fields.branchCount === 0) return '';
    const lineOf = (frame: number) => stackText.sourceLine(frame, '\t');
    return () => blockText(this.profile, lines, { hasLengths: fields.has('brstackinsnlen'), lineOf });
  }

  #jsonHead(sample: WalkedSample, { fields }: EventForm): string {
    const everything = this.#options.fields?.mode !== 'set';
    const le = this.#reader.littleEndian;
    const record = jsonSample(sample, { fields, everything }, () => this.#trace(sample), le);
    const { trace } = record;
    const text = () => {
      if (typeof trace === 'string') record['trace'] = printable(this.#codeNames.named(trace));
      return printableJson(record).slice(0, -1);
    };
    return typeof trace === 'string' && waitsForNames(trace) ? this.#later(text) : text();
  }

  /** The lines that wait, now that their symbols are known, in pieces that are borrowed until the next. */
  *takePieces(): Generator<Piece> {
    const { perEvent = false, json: isJson = false } = this.#options;
    const heads = this.#heads;
    const headEnds = this.#headEnds;
    const pendingStacks = this.#pendingStacks;
    const pendingForms = this.#pendingForms;
    const pieceSize = perEvent ? EVENT_PIECE_SIZE : PIECE_SIZE;
    const headBytes = heads.view();
    let start = 0;
    for (let line = 0; line < headEnds.length; line++) {
      const end = headEnds.at(line);
      const head = headBytes.subarray(start, end);
      start = end;
      const form = pendingForms[line]!;
      const stack = pendingStacks.at(line);
      if (this.isLimited && this.#wanted !== null) break;
      if (form !== PLAIN_LINE && this.#wanted !== null && !(this.#wanted.has(stack) && this.#counts()))
        continue;
      const event = perEvent ? form.event : null;
      if (event !== null) this.samplesOf.set(event, (this.samplesOf.get(event) ?? 0) + 1);
      const buffer = perEvent ? this.#eventBuffer(event) : this.#buffer;
      this.#laterParts.put(buffer, head, line);
      if (form !== PLAIN_LINE) this.#putRest(buffer, line, stack, form, isJson);
      buffer.put(NEWLINE);
      if (buffer.length < pieceSize) continue;
      yield { bytes: buffer.view(), event };
      buffer.clear();
    }
    for (const [event, buffer] of perEvent ? this.#eventBuffers : [[null, this.#buffer] as const]) {
      if (buffer.length > 0) yield { bytes: buffer.view(), event };
      buffer.clear();
    }
    heads.clear();
    headEnds.length = 0;
    pendingStacks.length = 0;
    this.#pendingForms = [];
    this.#tails.clear();
    this.#branches.clear();
    this.#laterParts.clear();
  }

  #eventBuffer(event: RecordedEvent | null): TextBuffer {
    let buffer = this.#eventBuffers.get(event);
    if (buffer === undefined) this.#eventBuffers.set(event, (buffer = new TextBuffer(1 << 12)));
    return buffer;
  }

  /** What needs symbols. */
  #putRest(buffer: TextBuffer, line: number, stack: number, form: EventForm, isJson: boolean): void {
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
    for (const part of this.#tails.get(line) ?? NO_PARTS)
      buffer.putText(typeof part === 'string' ? part : part());
  }
}
