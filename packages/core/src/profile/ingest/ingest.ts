import {
  type CancelSignal,
  checkOptionNames,
  type Diagnostic,
  type OptionNames,
  optional,
  type ProgressListener,
  TWO_32,
  toBigInt,
} from '../../base/index.ts';
import type { SourceMapsResult } from '../../code/source-maps/index.ts';
import type { SymbolDriver } from '../../code/symbols/index.ts';
import {
  type AddedRecords,
  checkRecordSource,
  hasRawUserStacks,
  type PerfDataReader,
  type RecordedEvent,
  type RecordSource,
} from '../../file-formats/perfdata/index.ts';
import {
  MODE_KERNEL,
  NONE,
  Profile,
  ProfileBranches,
  type ProfileMeta,
  SampleTextTable,
  unitOfEvent,
} from '../tables/index.ts';
import { BranchCollector } from './branch-collector.ts';
import { framesBesideGuesses, type StackTops } from './javascript-stacks.ts';
import { MergedSamples, ThreadRows } from './merged-samples.ts';
import { profileMeta } from './meta.ts';
import { NativeSources } from './native-sources.ts';
import { addNativeSources } from './native-stacks.ts';
import type { SampleFilter } from './sample-filter.ts';
import { SampleWalker, type WalkedSample } from './sample-walker.ts';
import { SymbolResolver } from './symbol-resolver.ts';
import { trimTracing } from './tracing-machinery.ts';
import { waitingForDumps } from './waiting-for-dumps.ts';

/** Texts of samples, for rows that are told apart by them: what tracepoints recorded. */
export interface SampleTexts {
  /** The sort keys that the texts are for. */
  readonly keys: readonly string[];
  /** One for each key. */
  textsOf(sample: WalkedSample): string[];
  /** A text once symbols are known: names of functions may be in it. */
  named(text: string): string;
  /** All samples have been there. Throws where a key was of none of them. */
  finish(): void;
}

/** Where further addresses of samples are: they get their symbols with all others. */
export interface SamplePlaces {
  /** What the rows are of. */
  readonly profile: Profile;
  /** Row of the profile's stacks for an address of the sample that is being walked. */
  stackAt(sample: WalkedSample, lo: number, hi: number): number;
}

/**
 * Which functions of programs and libraries have no frame: the kernel's call chain lacks what called them.
 * `FramelessCode` of `@counterpoint/core/unwind` is one.
 */
export interface FramelessFunctions {
  /** Reads a binary, to be asked for by its number in the profile. */
  load(
    binary: number,
    wanted: { path: string; buildId: string; pid: number; isVdso: boolean; acceptUnverified: boolean },
  ): Promise<void>;
  /** Whether the word at the top of the stack is the caller of the instruction at an offset in the file. */
  hasCallerAtTop(binary: number, fileOffset: number): boolean;
}

/** Options of `ingestPerfData()`. */
export interface IngestOptions {
  /** What to keep of samples beside their place. */
  sampleTexts?: (reader: PerfDataReader, places: SamplePlaces) => SampleTexts;
  /** Where symbols come from; without it frames keep their addresses. */
  symbols?: SymbolDriver;
  /**
   * Whether files on this machine may name code of a recording when no build id proves that
   * they are the same; default yes.
   */
  acceptUnverified?: (meta: ProfileMeta) => boolean;
  /**
   * Merge samples with the same event, thread, command and stack into one row. Times and CPUs are given up
   * (NaN, -1), and memory depends on the program, not on the length of the recording.
   */
  aggregate?: boolean;
  /** With `aggregate`: keep samples of different CPUs apart. */
  keepCpu?: boolean;
  /**
   * Leave call chains aside and keep the innermost frame of each sample: all that flat reports need.
   * Tracepoints keep theirs, since their places are found by them.
   */
  innermostOnly?: boolean;
  /**
   * Show functions and lines of JavaScript as their sources have them, where source maps tell it (default).
   * Of recordings of other machines, only maps inside them are read (see `acceptUnverified`).
   */
  sourceMaps?: boolean;
  /**
   * What debug information is read for: `lines` gives frames of programs and libraries their places
   * in the source, `inlines` call chains the functions that were inlined, too. Default: nothing,
   * and no such file is opened.
   */
  debugInfo?: 'lines' | 'inlines' | undefined;
  /**
   * Who knows where native functions that JavaScript calls have no frame. Without it, such a function counts
   * for the caller of its caller.
   */
  framelessCode?: FramelessFunctions;
  /** Count branches, too: `Profile.branches`. Default: no. */
  branches?: boolean;
  /** Which samples are counted. Default: all. */
  filter?: SampleFilter;
  /** Ends it: it throws the signal's reason. */
  signal?: CancelSignal;
  /** Called now and then with how much of the recording is read. */
  onProgress?: ProgressListener;
}

const OPTIONS: OptionNames<IngestOptions> = {
  sampleTexts: true,
  symbols: true,
  acceptUnverified: true,
  aggregate: true,
  keepCpu: true,
  innermostOnly: true,
  sourceMaps: true,
  debugInfo: true,
  framelessCode: true,
  branches: true,
  filter: true,
  signal: true,
  onProgress: true,
};

/** A profile, and what was found on the way to it. */
export interface IngestResult {
  /** The profile of all samples that passed the filter. */
  profile: Profile;
  /** What was wrong with symbols: missing files, other build ids, forbidden kernel addresses. */
  diagnostics: Diagnostic[];
  /** What became of source maps; null where none were asked for. */
  sourceMaps: SourceMapsResult | null;
  /** Time of the first sample on the recording's clock; null without samples that have a time. */
  firstTimeNs: bigint | null;
  /** Time of the last sample on the recording's clock; null without samples that have a time. */
  lastTimeNs: bigint | null;
}

/** Read a whole recording into a profile: what a reader has, or a source that adds to it. */
export async function ingestPerfData(
  source: RecordSource,
  options: IngestOptions = {},
): Promise<IngestResult> {
  checkRecordSource('ingestPerfData()', source);
  checkOptionNames('ingestPerfData()', options, OPTIONS);
  const builder = new Builder(source.reader, options);
  const scan = optional({ signal: options.signal, onProgress: options.onProgress });
  if (options.symbols === undefined) return builder.finish(await source.scan(builder.walker, scan));
  const { codeHistories } = builder.walker;
  await codeHistories.load(source.reader);
  const waiting = waitingForDumps(source, codeHistories.dumps, options.symbols);
  return builder.finish(await waiting.scan(builder.walker, scan));
}

/** Says what the recording holds besides what is shown of it. */
export function contentNotes(reader: PerfDataReader, added: AddedRecords | null = null): Diagnostic[] {
  const notes: Diagnostic[] = [...(added?.diagnostics ?? [])];
  const bytes = reader.auxTraceBytes;
  if (bytes > 0 && added?.hasTraces !== true) {
    notes.push({
      code: 'trace-not-decoded',
      path: 'AUX data',
      detail: `the recording holds ${bytes} bytes of hardware trace, which is not decoded: only sampled events are shown`,
      remedy: 'To decode Intel PT, use --itrace. For other traces, use `perf script --itrace=...`.',
    });
  }
  if (added?.hasCallers !== true && reader.events.events.some(hasRawUserStacks)) {
    notes.push({
      code: 'user-stacks-not-unwound',
      path: 'user stacks',
      detail:
        'the samples hold copies of the user stack (--call-graph dwarf), which were not unwound: callers in user code are missing',
      remedy: 'Give the recording by `withUnwoundStacks()` of `@counterpoint/core/unwind`.',
    });
  }
  return notes;
}

/**
 * Says why functions of the kernel have no names, where the recording does not even say where the kernel was.
 */
export function kernelNotes({ binaries, frames }: Profile): Diagnostic[] {
  if (binaries.some(({ kind }) => kind === 'kernel')) return [];
  for (let frame = 0; frame < frames.length; frame++) {
    if (frames.mode.at(frame) !== MODE_KERNEL) continue;
    return [
      {
        code: 'no-kernel-map',
        path: 'kernel',
        detail:
          'the kernel hid its addresses from the user who recorded this (kernel.kptr_restrict), so its functions have no names',
        remedy: 'Record as root, with kernel.kptr_restrict at most 1.',
      },
    ];
  }
  return [];
}

interface PeriodSum {
  lo: number;
  hi: number;
  samples: number;
}

class Builder {
  readonly profile = new Profile();
  readonly walker: SampleWalker;
  readonly #reader: PerfDataReader;
  readonly #options: IngestOptions;
  readonly #threads = new ThreadRows(this.profile);
  readonly #merged = new MergedSamples(this.profile);
  readonly #sums: PeriodSum[] = [];
  readonly #resolver: SymbolResolver | null;
  readonly #texts: SampleTexts | null;
  readonly #branches: BranchCollector | null;
  readonly #textRows = new Map<string, number>();
  #firstNs = Infinity;
  #lastNs = -Infinity;

  constructor(reader: PerfDataReader, options: IngestOptions) {
    this.#reader = reader;
    this.#options = options;
    this.walker = new SampleWalker(
      reader,
      this.profile,
      // Without symbols nobody could tell which guesses are right.
      { ...options, guessCallers: options.symbols !== undefined },
      (sample) => this.#sample(sample),
    );
    this.#texts = options.sampleTexts?.(reader, this.#places()) ?? null;
    if (this.#texts !== null) this.profile.sampleTexts = new SampleTextTable(this.#texts.keys);
    this.#branches = this.#branchesOf(reader);
    const { binaries } = this.walker;
    this.#resolver =
      options.symbols === undefined
        ? null
        : new SymbolResolver(
            this.profile,
            binaries,
            options.symbols,
            options.acceptUnverified,
            this.walker,
            options.sourceMaps !== false,
          );
    // In a pipe the build ids come after the samples, so nothing can be looked for yet.
    // Names of generated code may be in a dump that its process opens later.
    if (!reader.isPipe)
      binaries.onNew = (index) => {
        if (this.profile.binaries[index]!.kind !== 'jit') this.#resolver?.begin(index);
      };
  }

  #places(): SamplePlaces {
    const { profile, walker } = this;
    return { profile, stackAt: (sample, lo, hi) => walker.stackAt(sample, lo, hi) };
  }

  #branchesOf(reader: PerfDataReader): BranchCollector | null {
    if (this.#options.branches !== true) return null;
    this.profile.branches = new ProfileBranches();
    return new BranchCollector(this.walker, this.profile, this.profile.branches, reader.littleEndian);
  }

  #sample(sample: WalkedSample): void {
    const { timeNs, thread, event, stack, cpu } = sample;
    if (timeNs < this.#firstNs) this.#firstNs = timeNs;
    if (timeNs > this.#lastNs) this.#lastNs = timeNs;
    if (thread.profileRow < 0) this.#threads.add(thread);
    const weight = sample.periodHi * TWO_32 + sample.periodLo;
    this.#count(event, sample.periodLo, sample.periodHi);
    this.#branches?.sample(sample);
    const row = thread.profileRow;
    const comm = thread.profileComm;
    const texts = this.#texts === null ? NONE : this.#textRow(this.#texts.textsOf(sample));
    if (this.#options.aggregate === true) {
      const place = this.#options.keepCpu === true ? cpu : NONE;
      this.#merged.add(thread, place, event.index, stack, weight, 1, texts);
      return;
    }
    this.profile.samples.add(timeNs, row, comm, cpu, event.index, stack, weight, 1);
    this.profile.sampleTexts?.ofSample.push(texts);
  }

  #textRow(texts: readonly string[]): number {
    const key = texts.join('\0');
    let row = this.#textRows.get(key);
    if (row === undefined) {
      row = this.#textRows.size;
      this.#textRows.set(key, row);
      const { sampleTexts, strings } = this.profile;
      for (const [index, text] of texts.entries()) sampleTexts!.texts[index]!.push(strings.intern(text));
    }
    return row;
  }

  #nameTexts(): void {
    const { sampleTexts, strings } = this.profile;
    if (this.#texts === null || sampleTexts === null) return;
    for (const column of sampleTexts.texts)
      for (let row = 0; row < column.length; row++) {
        const text = strings.get(column.at(row));
        const named = this.#texts.named(text);
        if (named !== text) column.data[row] = strings.intern(named);
      }
  }

  #count(event: RecordedEvent, periodLo: number, periodHi: number): void {
    const sum = (this.#sums[event.index] ??= { lo: 0, hi: 0, samples: 0 });
    sum.samples++;
    sum.lo += periodLo;
    sum.hi += periodHi;
    // Both halves stay exact: the low one hands its carry over before it outgrows float64.
    if (sum.lo > 2 ** 52) {
      const carry = Math.floor(sum.lo / TWO_32);
      sum.hi += carry;
      sum.lo -= carry * TWO_32;
    }
  }

  async finish(added: AddedRecords | null): Promise<IngestResult> {
    const { profile } = this;
    const reader = this.#reader;
    const options = this.#options;
    const { losses } = this.walker;
    this.#texts?.finish();
    losses.finish();
    for (const loss of added?.losses ?? []) losses.ledger.add(loss);
    profile.baseTimeNs = toBigInt(reader.baseTime.lo, reader.baseTime.hi);
    profile.loss = losses.ledger.list();
    for (const event of reader.events.events) {
      const sum = this.#sums[event.index];
      profile.events.push({
        name: event.name,
        unit: unitOfEvent(event.name),
        samples: sum?.samples ?? 0,
        sumPeriod: sum === undefined ? 0n : BigInt(sum.hi) * BigInt(TWO_32) + BigInt(sum.lo),
        lost: losses.lostOf(event),
      });
    }
    const absolute = (ns: number) => (Number.isFinite(ns) ? profile.baseTimeNs + BigInt(ns) : null);
    const firstTimeNs = absolute(this.#firstNs);
    profile.meta = profileMeta(reader.features, firstTimeNs);
    await this.#resolver?.resolveNew(options.onProgress);
    this.#nameTexts();
    this.#resolver?.mendStacks(this.walker.hasStackTops ? await this.#stackTops() : null);
    const sourceNotes = await this.#addSources();
    trimTracing(profile, reader.events.events);
    const found =
      this.#resolver === null
        ? []
        : [
            ...kernelNotes(profile),
            ...this.#resolver.diagnostics,
            ...this.walker.codeHistories.diagnostics,
            ...sourceNotes,
          ];
    const diagnostics = [...contentNotes(reader, added), ...found];
    profile.damage = reader.damage.list();
    const sourceMaps = this.#resolver?.sourceMaps ?? null;
    return { profile, diagnostics, sourceMaps, firstTimeNs, lastTimeNs: absolute(this.#lastNs) };
  }

  /** Reads where functions have no frame, of the binaries whose functions may have had none. */
  async #stackTops(): Promise<StackTops> {
    const { guessedCallers, binaries } = this.walker;
    const { frames } = this.profile;
    const binaryOf = (frame: number) => frames.binary.at(frame);
    const found = framesBesideGuesses(this.profile, guessedCallers);
    const wanted = new Set<number>();
    for (const frame of found)
      if (this.profile.binaries[binaryOf(frame)]!.kind === 'user') wanted.add(binaryOf(frame));
    const code = this.#options.framelessCode;
    if (wanted.size === 0 || code === undefined) return { guessedCallers, hasCallerAtTop: () => false };
    const acceptUnverified = this.#options.acceptUnverified?.(binaries.meta()) ?? true;
    for (const binary of wanted) {
      const { path, buildId } = this.profile.binaries[binary]!;
      const { pid } = binaries.known[binary]!;
      await code.load(binary, { path, buildId, pid, isVdso: false, acceptUnverified });
    }
    const hasCallerAtTop = (frame: number) => {
      const offset = frames.addressHi.at(frame) * TWO_32 + (frames.addressLo.at(frame) >>> 0);
      return code.hasCallerAtTop(binaryOf(frame), offset);
    };
    return { guessedCallers, hasCallerAtTop };
  }

  /** Lines and inlined functions of programs and libraries; notes on what is missing of them. */
  async #addSources(): Promise<readonly Diagnostic[]> {
    const { debugInfo, symbols, acceptUnverified, onProgress } = this.#options;
    if (debugInfo === undefined || symbols === undefined) return [];
    const { binaries } = this.walker;
    const isAccepted = () => acceptUnverified?.(binaries.meta()) ?? true;
    const sources = new NativeSources(this.profile, binaries, symbols, isAccepted);
    try {
      await sources.resolveNew(onProgress);
      this.#branches?.addLines(sources);
      addNativeSources(this.profile, sources, debugInfo === 'inlines');
    } finally {
      await sources.close();
    }
    return sources.diagnostics;
  }
}
