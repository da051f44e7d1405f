import {
  CounterpointError,
  checkOptionNames,
  type Damage,
  type OptionNames,
  TripleTable,
} from '../../base/index.ts';
import type { LossEntry } from '../../format/loss/index.ts';
import { isNamelessFunction } from '../../profile/javascript/index.ts';
import { checkProfile, isOffCpuEvent, NONE, type Profile } from '../../profile/tables/index.ts';
import { type FrameFilter, frameTest, NO_DSO, NO_SYMBOL } from './frame-filter.ts';
import { copyOf, type FunctionPlace, Functions, modeLetter, tierOf } from './functions.ts';
import { isTraceKey, type SortKey, type TraceSortKey } from './sort-keys.ts';
import { type RowSource, SourceLines, UNKNOWN_FILE, UNKNOWN_LINE } from './source-lines.ts';
import type { StackEnd } from './stack-limit.ts';
import { NO_PARENT, PARENT_PATTERN, parentsOfStacks } from './stack-parents.ts';
import { WaitingPlaces } from './waiting-place.ts';

/** Options of `topFunctions()`. */
export interface TopOptions extends FrameFilter {
  /** Index of the event; default 0. */
  event?: number;
  /** Default comm, dso, symbol; of time off the CPU comm, role, dso, symbol. */
  sort?: readonly SortKey[];
  /** Count the time of callees for their callers too, and sort by that. */
  children?: boolean;
  /**
   * As the author of a JavaScript program looks at it: its functions before all others, each by own time,
   * with those that have no name or no file.
   */
  javascriptFirst?: boolean;
  /** With `javascriptFirst`: functions of these files, such as `node:fs`, come after the program's own. */
  isFolded?: (file: string) => boolean;
  /** Only samples of these commands. Shares stay shares of the whole, as with `dsos` and `symbols`. */
  comms?: ReadonlySet<string>;
  /**
   * For the sort key `parent`: which functions count, by their name. Default: system calls and page faults.
   */
  parent?: RegExp;
  /** Which of several on a stack is its parent. Default, as in perf: with `children` the outermost one. */
  parentEnd?: StackEnd;
  /** Show of source files of programs and libraries only the last part of the path, as perf does. */
  shortPaths?: boolean;
  /**
   * At most this many rows; the names of others are not looked up. Rows of equal weight are cut in any order.
   */
  most?: number;
}

const OPTIONS: OptionNames<TopOptions> = {
  event: true,
  sort: true,
  children: true,
  javascriptFirst: true,
  isFolded: true,
  comms: true,
  parent: true,
  parentEnd: true,
  shortPaths: true,
  most: true,
  dsos: true,
  symbols: true,
};

/** One row of `TopAnswer`. The fields of sort keys are there if the rows are told apart by them. */
export interface TopRow {
  /** Share of the event's sum, in percent: own time, or with children own and called. */
  percent: number;
  /** Share of the event's sum in the function itself, in percent. */
  selfPercent: number;
  /** Samples in which the row is the innermost function. */
  samples: number;
  /** Sum of the periods in the function itself, decimal, in the unit of the answer. */
  selfPeriod: string;
  /**
   * With `children` the sum of the periods in the function and in what it called,
   * decimal; else as `selfPeriod`.
   */
  totalPeriod: string;
  /** The name of the thread. */
  comm?: string;
  /** The binary. */
  dso?: string;
  /** The function. */
  symbol?: string;
  /**
   * With `symbol`, perf's letter: `.` user, `k` kernel, `g` guest kernel, `u` guest user,
   * `H` hypervisor; `?` not known.
   */
  mode?: string;
  /**
   * With `symbol`, of functions of JavaScript: the file that they are in, as far as their runtime says it.
   */
  file?: string;
  /** The line of the function's parameters, from 1. */
  line?: number;
  /** The column of the function's parameters, from 1. */
  column?: number;
  /** The line of source code, `/app/main.js:12`; `UNKNOWN_LINE` where nothing is known. */
  srcline?: string;
  /** The file of source code; `UNKNOWN_FILE` where it is not known. */
  srcfile?: string;
  /** The line as parts; null where nothing is known. */
  source?: RowSource | null;
  /** The compiler that made the code (`TurboFan`), empty if there is none. */
  tier?: string;
  /** Where a JIT compiler's copy of the function begins, `0x7f41d2c04a20`; empty for other code. */
  copy?: string;
  /** The process. */
  pid?: number;
  /** The thread. */
  tid?: number;
  /** The thread with its last name: `1234:node`. */
  thread?: string;
  /** The CPU; -1 where it was not recorded. */
  cpu?: number;
  /** `main`: the first thread of its process; `other`: of a pool, a worker, a library. */
  role?: 'main' | 'other';
  /** The function of the stack that `TopOptions.parent` chooses; `[other]` if there is none. */
  parent?: string;
  /** What tracepoints recorded, by sort key: `{ 'sched:sched_switch.next_comm': 'node' }`. */
  trace?: Record<string, string>;
}

/** The answer of `topFunctions()`. */
export interface TopAnswer {
  /** Tells this answer from others. */
  type: 'top-functions';
  /** Version of the form of this answer. */
  version: 1;
  /** The name of the event. */
  event: string;
  /** What its periods count: `nanoseconds` where they are time, else the name of the event. */
  unit: string;
  /** How many samples the event has. */
  samples: number;
  /** Sum of their periods, decimal. */
  sumPeriod: string;
  /**
   * What the kernel says it dropped of the event, decimal: samples, and its records of mappings and tasks.
   */
  lost: string;
  /** What the rows are told apart by. */
  sort: SortKey[];
  /** Whether time of callees is counted for their callers. */
  children: boolean;
  /** The rows, the largest first. */
  rows: TopRow[];
  /** With `most`: how many rows there are. */
  rowCount?: number;
  /** What the recording does not contain. */
  loss: LossEntry[];
  /** What was wrong in the recording. */
  damage: Damage[];
}

/** The functions that cost most, or any other grouping of the innermost frames. */
export function topFunctions(profile: Profile, options: TopOptions = {}): TopAnswer {
  checkProfile('topFunctions()', profile);
  checkOptionNames('topFunctions()', options, OPTIONS);
  const eventIndex = options.event ?? 0;
  const event = profile.events[eventIndex];
  const isOffCpu = event !== undefined && isOffCpuEvent(event.name);
  const sort = [...(options.sort ?? (isOffCpu ? OFF_CPU_SORT : DEFAULT_SORT))];
  const functions = new Functions(profile);
  const children = options.children === true && hasCallers(profile);
  const parents = sort.includes('parent')
    ? parentsOfStacks(
        profile,
        functions,
        options.parent ?? PARENT_PATTERN,
        options.parentEnd ?? (children ? 'outermost' : 'innermost'),
      )
    : null;
  const groups = new Groups(profile, functions, sort, {
    shortPaths: options.shortPaths === true,
    mergesProcesses: options.javascriptFirst === true && !sort.includes('dso'),
    parents,
  });
  const { samples, stacks } = profile;
  const places = isOffCpu ? new WaitingPlaces(profile, functions) : null;
  const isWantedFrame = frameTest(profile, functions, options);
  const isWantedComm = commTest(profile, options.comms);

  let total = 0;
  const lastSeen: number[] = [];
  for (let row = 0; row < samples.length; row++) {
    if (samples.event.data[row] !== eventIndex) continue;
    const weight = samples.weight.data[row]!;
    total += weight;
    if (!isWantedComm(samples.comm.data[row]!)) continue;
    const stack = samples.stack.data[row]!;
    const place = stack === NONE || places === null ? stack : places.of(stack);
    const innermost = place === NONE ? NONE : stacks.frame.data[place]!;
    if (isWantedFrame(innermost)) groups.addSelf(groups.of(row, innermost), weight, samples.count.data[row]!);
    if (!children) continue;
    if (stack === NONE) {
      if (isWantedFrame(NONE)) groups.addTotal(groups.of(row, NONE), weight);
      continue;
    }
    for (let caller = stack; caller !== NONE; caller = stacks.prefix.data[caller]!) {
      const frame = stacks.frame.data[caller]!;
      if (!isWantedFrame(frame)) continue;
      const group = groups.of(row, frame);
      // A function that is on the stack more than once counts once.
      if (lastSeen[group] === row) continue;
      lastSeen[group] = row;
      groups.addTotal(group, weight);
    }
  }

  const rows: TopRow[] = [];
  const nameless = new Set<TopRow>();
  const javascriptFirst = options.javascriptFirst === true;
  const byTotal = children && !javascriptFirst;
  for (const group of groups.heaviest(byTotal, options.most)) {
    const self = groups.self[group]!;
    const totalWeight = children ? groups.total[group]! : self;
    const row = {
      percent: total === 0 ? 0 : (100 * totalWeight) / total,
      selfPercent: total === 0 ? 0 : (100 * self) / total,
      samples: groups.samples[group]!,
      selfPeriod: decimal(self),
      totalPeriod: decimal(totalWeight),
      ...groups.labels(group),
    };
    rows.push(row);
    if (javascriptFirst && groups.isNameless(group)) nameless.add(row);
  }
  const rank = (row: TopRow) => {
    const { file } = row;
    if (!javascriptFirst || nameless.has(row)) return 0;
    return file === undefined ? 2 : options.isFolded?.(file) === true ? 1 : 0;
  };
  const byShare = (a: TopRow, b: TopRow) =>
    byTotal
      ? b.percent - a.percent || b.selfPercent - a.selfPercent
      : b.selfPercent - a.selfPercent || b.percent - a.percent;
  rows.sort((a, b) => rank(a) - rank(b) || byShare(a, b) || compareLabels(a, b, sort));
  return {
    type: 'top-functions',
    version: 1,
    event: event?.name ?? '',
    unit: event?.unit ?? '',
    samples: event?.samples ?? 0,
    sumPeriod: (event?.sumPeriod ?? 0n).toString(),
    lost: (event?.lost ?? 0n).toString(),
    sort,
    children,
    rows,
    ...(options.most === undefined ? {} : { rowCount: groups.count }),
    loss: profile.loss,
    damage: profile.damage,
  };
}

function hasCallers(profile: Profile): boolean {
  return profile.stacks.prefix.view().some((prefix) => prefix !== NONE);
}

function decimal(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : BigInt(Math.round(value)).toString();
}

/** Rows of equal weight stand in order of what they are sorted by, as perf has them. */
function compareLabels(a: TopRow, b: TopRow, sort: readonly SortKey[]): number {
  for (const key of sort) {
    const [left, right] = isTraceKey(key) ? [a.trace?.[key], b.trace?.[key]] : [a[key], b[key]];
    const order =
      typeof left === 'number' && typeof right === 'number'
        ? left - right
        : compareText(String(left), String(right));
    if (order !== 0) return order;
  }
  return 0;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether samples of a command are wanted; each name is compared once. */
function commTest(profile: Profile, comms: ReadonlySet<string> | undefined): (comm: number) => boolean {
  if (comms === undefined) return () => true;
  const known = new Map<number, boolean>();
  return (comm) => {
    let wanted = known.get(comm);
    if (wanted === undefined) known.set(comm, (wanted = comms.has(profile.strings.get(comm))));
    return wanted;
  };
}

/** Keys that belong to the sample, and keys that belong to the frame. */
const SAMPLE_KEYS: ReadonlySet<string> = new Set([
  'comm',
  'pid',
  'thread',
  'tid',
  'cpu',
  'role',
  'parent',
] as const);

const DEFAULT_SORT: readonly SortKey[] = ['comm', 'dso', 'symbol'];
/** Pools wait for work most of the time: beside them nobody would see what the main thread waits for. */
const OFF_CPU_SORT: readonly SortKey[] = ['comm', 'role', 'dso', 'symbol'];

interface GroupOptions {
  shortPaths: boolean;
  /** One function of JavaScript is one row, however many processes have code of it. */
  mergesProcesses: boolean;
  /** By row of stacks: the function that is its parent; null where nobody asks. */
  parents: Int32Array | null;
}

/**
 * Rows by sort keys. The keys of a sample and those of a frame are folded into one number each, the frame's
 * once per frame; a group is a pair of the two.
 */
class Groups {
  readonly self: number[] = [];
  readonly total: number[] = [];
  readonly samples: number[] = [];
  readonly #profile: Profile;
  readonly #functions: Functions;
  readonly #sort: readonly SortKey[];
  readonly #lines: SourceLines;
  /** By row of stacks: the function that is its parent; null where nobody asks. */
  readonly #parents: Int32Array | null;
  /** By group: its column, 0 where it has several. */
  readonly #columns: number[] | null;
  /** By the name of made code: its function, of whichever process; null where processes are told apart. */
  readonly #madeFunctions: Map<string, number> | null;
  readonly #pairs = new TripleTable();
  readonly #sampleFolds = new TripleTable();
  readonly #frameFolds = new TripleTable();
  /** Frame -> its folded keys, -1 where not yet known. */
  readonly #frameKeys: Int32Array;
  readonly #texts: string[] = [];
  readonly #textRows = new Map<string, number>();
  #lastSample = -1;
  #lastSampleKey = -1;
  /** A sample and a frame of each group, to take the labels from. */
  readonly #exampleSamples: number[] = [];
  readonly #exampleFrames: number[] = [];

  constructor(
    profile: Profile,
    functions: Functions,
    sort: readonly SortKey[],
    { shortPaths, mergesProcesses, parents }: GroupOptions,
  ) {
    this.#profile = profile;
    this.#parents = parents;
    this.#madeFunctions = mergesProcesses ? new Map() : null;
    this.#functions = functions;
    this.#sort = sort;
    this.#lines = new SourceLines(profile, functions, shortPaths);
    this.#columns = sort.includes('srcline') ? [] : null;
    this.#frameKeys = new Int32Array(profile.frames.length).fill(-1);
  }

  get count(): number {
    return this.self.length;
  }

  /** The group of a frame within a sample. */
  of(sample: number, frame: number): number {
    if (sample !== this.#lastSample) {
      this.#lastSample = sample;
      this.#lastSampleKey = this.#fold(this.#sampleFolds, true, sample, NONE);
    }
    let frameKey = frame === NONE ? NONE : this.#frameKeys[frame]!;
    if (frameKey < 0 && frame !== NONE) {
      frameKey = this.#fold(this.#frameFolds, false, sample, frame);
      this.#frameKeys[frame] = frameKey;
    }
    const found = this.#pairs.find(this.#lastSampleKey, frameKey, 0);
    if (found >= 0) {
      this.#mergeColumn(found, frame);
      return found;
    }
    this.#columns?.push(frame === NONE ? 0 : this.#lines.columnOf(frame));
    this.self.push(0);
    this.total.push(0);
    this.samples.push(0);
    this.#exampleSamples.push(sample);
    this.#exampleFrames.push(frame);
    return -1 - found;
  }

  #mergeColumn(group: number, frame: number): void {
    if (this.#columns === null || this.#columns[group] === 0 || frame === NONE) return;
    if (this.#columns[group] !== this.#lines.columnOf(frame)) this.#columns[group] = 0;
  }

  /** All groups, or those with the largest sums. */
  heaviest(byTotal: boolean, most = Number.POSITIVE_INFINITY): number[] {
    const all = Array.from({ length: this.count }, (_, group) => group);
    if (all.length <= most) return all;
    const sums = byTotal ? this.total : this.self;
    return all.sort((a, b) => sums[b]! - sums[a]! || a - b).slice(0, most);
  }

  addSelf(group: number, weight: number, samples: number): void {
    this.self[group]! += weight;
    this.samples[group]! += samples;
  }

  addTotal(group: number, weight: number): void {
    this.total[group]! += weight;
  }

  #fold(table: TripleTable, ofSample: boolean, sample: number, frame: number): number {
    let folded = -1;
    this.#sort.forEach((key, place) => {
      if ((SAMPLE_KEYS.has(key) || isTraceKey(key)) !== ofSample) return;
      const found = table.find(folded, this.#value(key, sample, frame), place);
      folded = found < 0 ? -1 - found : found;
    });
    return folded;
  }

  #functionOf(frame: number): number {
    const id = this.#functions.ofFrame(frame);
    const made = this.#madeFunctions;
    if (made === null || !this.#functions.isJit(id)) return id;
    const name = this.#functions.name(id);
    const first = made.get(name);
    if (first === undefined) made.set(name, id);
    return first ?? id;
  }

  /** Index into `Profile.strings`. */
  #traceText(key: TraceSortKey, sample: number): number {
    const { sampleTexts } = this.#profile;
    const index = sampleTexts?.keys.indexOf(key) ?? NONE;
    if (sampleTexts === null || index < 0)
      throw new CounterpointError(
        'ERR_SORT_KEY',
        `the profile was made without ${key}`,
        `Request it when you make the profile: recording.profile({ traceKeys: ['${key}'] }).`,
      );
    return sampleTexts.texts[index]!.data[sampleTexts.ofSample.data[sample]!]!;
  }

  #text(text: string): number {
    let index = this.#textRows.get(text);
    if (index === undefined) this.#textRows.set(text, (index = this.#texts.push(text) - 1));
    return index;
  }

  #value(key: SortKey, sample: number, frame: number): number {
    const { samples, frames, threads, strings } = this.#profile;
    if (isTraceKey(key)) return this.#traceText(key, sample);
    switch (key) {
      case 'comm':
        return samples.comm.data[sample]!;
      case 'dso':
        return frame === NONE ? NONE : frames.binary.data[frame]!;
      case 'symbol':
        return frame === NONE ? NONE : this.#functionOf(frame);
      case 'srcline':
        return frame === NONE ? NONE : this.#lines.ofFrame(frame);
      case 'srcfile':
        return this.#text(frame === NONE ? UNKNOWN_FILE : this.#lines.fileOf(frame));
      case 'pid':
        return threads.pid.data[samples.thread.data[sample]!]!;
      case 'tid':
        return threads.tid.data[samples.thread.data[sample]!]!;
      case 'thread': {
        const thread = samples.thread.data[sample]!;
        return this.#text(`${threads.tid.data[thread]!}:${strings.get(threads.comm.data[thread]!)}`);
      }
      case 'cpu':
        return samples.cpu.data[sample]!;
      case 'role': {
        const thread = samples.thread.data[sample]!;
        return threads.pid.data[thread] === threads.tid.data[thread] ? 1 : 0;
      }
      case 'parent': {
        const stack = samples.stack.data[sample]!;
        return stack === NONE || this.#parents === null ? NONE : this.#parents[stack]!;
      }
      case 'tier':
        return this.#text(frame === NONE ? '' : tierOf(this.#profile, frame));
      case 'copy':
        return frame === NONE ? NONE : frames.jitCode.data[frame]!;
    }
  }

  /** Whether all of it is one function of JavaScript without a file, or such without names. */
  isNameless(group: number): boolean {
    const frame = this.#exampleFrames[group]!;
    return this.#sort.includes('symbol') && frame !== NONE && isNamelessFunction(this.#profile, frame);
  }

  labels(group: number): Partial<TopRow> {
    const profile = this.#profile;
    const functions = this.#functions;
    const sample = this.#exampleSamples[group]!;
    const frame = this.#exampleFrames[group]!;
    const labels: Partial<TopRow> = {};
    for (const key of this.#sort) {
      const value = this.#value(key, sample, frame);
      if (isTraceKey(key)) (labels.trace ??= {})[key] = profile.strings.get(value);
      else if (key === 'comm') labels.comm = profile.strings.get(value);
      else if (key === 'dso') labels.dso = value === NONE ? NO_DSO : profile.binaries[value]!.name;
      else if (key === 'symbol') {
        labels.symbol = value === NONE ? NO_SYMBOL : functions.name(value);
        labels.mode = modeLetter(frame === NONE ? 0 : profile.frames.mode.at(frame));
        const place = value === NONE ? null : functions.place(value);
        if (place !== null) Object.assign(labels, presentParts(place));
      } else if (key === 'srcline') {
        const source = value === NONE ? null : this.#lines.source(value);
        const column = this.#columns?.[group] ?? 0;
        labels.srcline = source === null ? UNKNOWN_LINE : this.#lines.text(value);
        labels.source = source === null || column === 0 ? source : { ...source, column };
      } else if (key === 'srcfile')
        labels.srcfile = frame === NONE ? UNKNOWN_FILE : this.#lines.shownFile(frame);
      else if (key === 'tier' || key === 'thread') labels[key] = this.#texts[value]!;
      else if (key === 'role') labels.role = value === 1 ? 'main' : 'other';
      else if (key === 'parent') labels.parent = value === NONE ? NO_PARENT : functions.name(value);
      else if (key === 'copy') labels.copy = frame === NONE ? '' : copyOf(profile, frame);
      else labels[key] = value;
    }
    return labels;
  }
}

function presentParts({ file, line, column }: FunctionPlace): Pick<TopRow, 'file' | 'line' | 'column'> {
  return {
    ...(file === null ? {} : { file }),
    ...(line === null ? {} : { line }),
    ...(column === null ? {} : { column }),
  };
}
