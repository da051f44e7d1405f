import { TripleTable } from '../../base/index.ts';
import { NAME_NOT_CERTAIN, parseScriptName } from '../../code/jit/index.ts';
import { MODE_KERNEL, MODE_USER, NONE, type Profile } from '../tables/index.ts';
import {
  BUILTIN_WORK,
  type Category,
  expressionText,
  isBuiltin,
  KERNEL_WORK,
  NAMELESS_WORK,
  NATIVE_WORK,
  NO_WORK,
  UNNAMED_INTERPRETED,
  type Work,
  workMark,
  workOf,
} from './categories.ts';
import type { IsFolded } from './fold.ts';

/** Where the time of an event went. */
export interface JavascriptShare {
  /** What the samples count as. */
  category: Category;
  /** Sum of the samples' periods. */
  weight: number;
  /** How many samples. */
  samples: number;
}

/** What programs that run JavaScript did. */
export interface JavascriptTime {
  /** Their processes, ascending. */
  pids: number[];
  /** By row of `Profile.events`: the largest share first. Empty where an event has no samples of them. */
  shares: JavascriptShare[][];
  /**
   * Engines (Node itself) without a single name, on whose code `nameless` time was spent: nobody knows what
   * of it was GC, compilation or builtins.
   */
  namelessBinaries: string[];
}

/**
 * How stacks of JavaScript programs are shown:
 *
 *     recorded     main ─ node::Start ─ Builtins_JSEntry ─ handler ─ parse ─ Builtins_ArrayMap ─ Heap::CollectGarbage
 *     charge       handler ─ parse
 *     categories   handler ─ parse ─ GC
 */
export type JavascriptView = 'charge' | 'categories';

/**
 * Looks at the profile as the author of a JavaScript program does: its stacks become those of JavaScript
 * functions. What V8, libraries and the kernel did counts for the function that called them, or stands below
 * it as one row of its category. Work without a caller in JavaScript (compilers and garbage collectors in
 * threads of their own) is a row of its category; other code keeps its stack. Processes without JavaScript
 * stay as they are. Null, and nothing is changed: no process has functions of JavaScript.
 *
 * With `isFolded`, functions of those files are left out of stacks where another function of JavaScript
 * called them, and their time counts for it. Where none did, they stay: `node:events ─ handler` keeps both.
 */
export function viewJavascript(
  profile: Profile,
  view: JavascriptView,
  isFolded: (file: string) => boolean = () => false,
): JavascriptTime | null {
  const pids = javascriptProcesses(profile);
  return pids.size === 0 ? null : new Viewer(profile, view, pids, isFolded).run();
}

/** Where the time of JavaScript programs went; null: there are none. The profile stays as it is. */
export function javascriptTime(profile: Profile): JavascriptTime | null {
  const pids = javascriptProcesses(profile);
  return pids.size === 0 ? null : new Viewer(profile, null, pids, () => false).run();
}

/** Kinds of frames. */
const UNKNOWN = 0;
const NATIVE = 1;
const JAVASCRIPT = 2;
const WASM = 3;
/** Interpreted code of a function that nobody knows. */
const UNNAMED = 4;
/** A function of JavaScript that counts for its caller. */
const FOLDED = 5;

class Viewer {
  readonly #profile: Profile;
  readonly #view: JavascriptView | null;
  readonly #pids: ReadonlySet<number>;
  readonly #isFolded: IsFolded;
  readonly #kinds: Uint8Array;
  /** By frame: what its name says; -1 where nobody has asked. */
  readonly #marks: Int32Array;
  /** By row of stacks: what the functions after the last one of JavaScript do. */
  readonly #work: Int32Array;
  /** By row of stacks: the innermost function of JavaScript, as a row of the new table and as a frame. */
  readonly #caller: Int32Array;
  readonly #callerKind: Uint8Array;
  /** By row of stacks: 1 where a function that is not folded is at it or above it. */
  readonly #hasCharged: Uint8Array;
  readonly #prefixes: Int32Array;
  readonly #frames: Int32Array;
  /**
   * By row of stacks: the binary of code without names, after the last function of JavaScript; else `NONE`.
   */
  readonly #nameless: Int32Array;
  readonly #isNameless: readonly boolean[];
  readonly #namelessFound = new Set<number>();
  readonly #raw: Int32Array;
  readonly #rows = new TripleTable();
  /** Frames of ours, by name. */
  readonly #ownFrames = new Map<string, number>();
  #ownBinary = NONE;

  constructor(profile: Profile, view: JavascriptView | null, pids: ReadonlySet<number>, isFolded: IsFolded) {
    const { frames, stacks } = profile;
    this.#profile = profile;
    this.#view = view;
    this.#pids = pids;
    this.#isFolded = isFolded;
    this.#kinds = new Uint8Array(frames.length);
    this.#marks = new Int32Array(frames.length).fill(-1);
    this.#prefixes = stacks.prefix.view().slice();
    this.#frames = stacks.frame.view().slice();
    this.#work = new Int32Array(stacks.length);
    this.#caller = new Int32Array(stacks.length).fill(NONE);
    this.#callerKind = new Uint8Array(stacks.length).fill(NATIVE);
    this.#nameless = new Int32Array(stacks.length).fill(NONE);
    this.#isNameless = this.#enginesWithoutNames();
    this.#hasCharged = new Uint8Array(stacks.length);
    this.#raw = new Int32Array(stacks.length).fill(NONE);
  }

  run(): JavascriptTime {
    const { events, samples, stacks, threads } = this.#profile;
    if (this.#view !== null) stacks.prefix.length = stacks.frame.length = 0;
    this.#walkStacks();
    const sums = events.map(() => new Map<Category, JavascriptShare>());
    for (let row = 0; row < samples.length; row++) {
      const stack = samples.stack.at(row);
      if (stack === NONE) continue;
      const isOurs = this.#pids.has(threads.pid.at(samples.thread.at(row)));
      const work = isOurs ? this.#workAt(stack) : null;
      if (isOurs) {
        const category = work?.category ?? (this.#callerKind[stack] === WASM ? 'wasm' : 'javascript');
        const sum = sums[samples.event.at(row)]!;
        const share = sum.get(category) ?? { category, weight: 0, samples: 0 };
        share.weight += samples.weight.at(row);
        share.samples += samples.count.at(row);
        sum.set(category, share);
      }
      if (this.#view !== null)
        samples.stack.data[row] = isOurs ? this.#shown(stack, work) : this.#rawRow(stack);
    }
    return {
      pids: [...this.#pids].sort((a, b) => a - b),
      shares: sums.map((sum) => [...sum.values()].sort((a, b) => b.weight - a.weight)),
      namelessBinaries: [...this.#namelessFound].map((binary) => this.#profile.binaries[binary]!.name).sort(),
    };
  }

  /** By binary: its code calls functions of JavaScript, and none of it has a name. */
  #enginesWithoutNames(): boolean[] {
    const { binaries, frames } = this.#profile;
    const isEngine = binaries.map(() => false);
    for (let row = 0; row < this.#prefixes.length; row++) {
      const prefix = this.#prefixes[row]!;
      if (prefix === NONE) continue;
      const caller = frames.binary.at(this.#frames[prefix]!);
      if (isEngine[caller]! || binaries[caller]!.kind !== 'user') continue;
      const kind = this.#kindOf(this.#frames[row]!);
      isEngine[caller] = kind === JAVASCRIPT || kind === FOLDED || kind === WASM;
    }
    for (let frame = 0; frame < frames.length; frame++)
      if (frames.symbol.at(frame) !== NONE) isEngine[frames.binary.at(frame)] = false;
    return isEngine;
  }

  /** Callers come before what they call. */
  #walkStacks(): void {
    for (let row = 0; row < this.#prefixes.length; row++) {
      const prefix = this.#prefixes[row]!;
      const frame = this.#frames[row]!;
      const kind = this.#kindOf(frame);
      const outer = prefix === NONE ? NONE : this.#caller[prefix]!;
      const isInCharged = prefix !== NONE && this.#hasCharged[prefix] === 1;
      this.#hasCharged[row] = kind === JAVASCRIPT || kind === WASM || isInCharged ? 1 : 0;
      if (kind === NATIVE) {
        this.#caller[row] = outer;
        if (prefix !== NONE) this.#callerKind[row] = this.#callerKind[prefix]!;
        const binary = this.#profile.frames.binary.at(frame);
        this.#nameless[row] = this.#isNameless[binary]!
          ? binary
          : prefix === NONE
            ? NONE
            : this.#nameless[prefix]!;
        this.#work[row] = (prefix === NONE ? NO_WORK : this.#work[prefix]!) | this.#markOf(frame);
      } else {
        this.#callerKind[row] = kind;
        const isLeftOut = kind === FOLDED && isInCharged;
        if (this.#view !== null)
          this.#caller[row] = isLeftOut ? outer : this.#functionRow(outer, frame, kind);
      }
    }
  }

  /** What is done at the inner end of a stack; null: a function of JavaScript runs itself. */
  #workAt(stack: number): Work | null {
    const frame = this.#frames[stack]!;
    if (this.#kindOf(frame) !== NATIVE) return null;
    const named = workOf(this.#work[stack]!);
    if (named !== null) return named.category === 'regexp' ? this.#expressionAt(stack) : named;
    if (this.#profile.frames.mode.at(frame) === MODE_KERNEL) return KERNEL_WORK;
    if (isBuiltin(this.#nameOf(frame))) return BUILTIN_WORK;
    const nameless = this.#nameless[stack]!;
    if (nameless === NONE) return NATIVE_WORK;
    this.#namelessFound.add(nameless);
    return NAMELESS_WORK;
  }

  /** The expression, where its code was made. */
  #expressionAt(stack: number): Work {
    for (
      let at = stack;
      at !== NONE && this.#kindOf(this.#frames[at]!) === NATIVE;
      at = this.#prefixes[at]!
    ) {
      const text = expressionText(this.#nameOf(this.#frames[at]!));
      if (text !== null) return { category: 'regexp', name: `regexp ${text}` };
    }
    return { category: 'regexp', name: 'regexp' };
  }

  #shown(stack: number, work: Work | null): number {
    const caller = this.#caller[stack]!;
    if (work === null) return caller;
    if (caller !== NONE)
      return this.#view === 'charge' ? caller : this.#stackRow(caller, this.#ownFrame(work.name));
    // Of native code without a caller in JavaScript nobody knows more than its own stack.
    const isNamed = workOf(this.#work[stack]!) !== null;
    return isNamed ? this.#stackRow(NONE, this.#ownFrame(work.name)) : this.#rawRow(stack);
  }

  #functionRow(outer: number, frame: number, kind: number): number {
    if (kind !== UNNAMED) return this.#stackRow(outer, frame);
    const unnamed = this.#ownFrame(UNNAMED_FUNCTION);
    // How many of them call each other says nothing.
    const isCalledByOne = outer !== NONE && this.#profile.stacks.frame.at(outer) === unnamed;
    return isCalledByOne ? outer : this.#stackRow(outer, unnamed);
  }

  #rawRow(stack: number): number {
    const path: number[] = [];
    let at = stack;
    for (; at !== NONE && this.#raw[at] === NONE; at = this.#prefixes[at]!) path.push(at);
    let outer = at === NONE ? NONE : this.#raw[at]!;
    for (const row of path.reverse()) this.#raw[row] = outer = this.#stackRow(outer, this.#frames[row]!);
    return outer;
  }

  #stackRow(prefix: number, frame: number): number {
    const row = this.#rows.find(prefix, frame, 0);
    if (row >= 0) return row;
    const { stacks } = this.#profile;
    stacks.prefix.push(prefix);
    stacks.frame.push(frame);
    return -1 - row;
  }

  /** A frame that stands for many. */
  #ownFrame(name: string): number {
    const known = this.#ownFrames.get(name);
    if (known !== undefined) return known;
    const { binaries, frames, strings, symbols } = this.#profile;
    if (this.#ownBinary === NONE) {
      const engine = { path: ENGINE, name: ENGINE, buildId: '', kind: 'unknown' } as const;
      this.#ownBinary = binaries.push(engine) - 1;
    }
    symbols.name.push(strings.intern(`(${name})`));
    const symbol = symbols.binary.push(this.#ownBinary);
    const frame = frames.add({ symbol, binary: this.#ownBinary, mode: MODE_USER });
    this.#ownFrames.set(name, frame);
    return frame;
  }

  #markOf(frame: number): number {
    let mark = this.#marks[frame]!;
    if (mark < 0) this.#marks[frame] = mark = workMark(this.#nameOf(frame));
    return mark;
  }

  #kindOf(frame: number): number {
    let kind = this.#kinds[frame]!;
    if (kind !== UNKNOWN) return kind;
    kind = kindOf(this.#profile, frame);
    const file = kind === JAVASCRIPT ? parseScriptName(this.#nameOf(frame))?.file : undefined;
    if (file !== undefined && this.#isFolded(file)) kind = FOLDED;
    this.#kinds[frame] = kind;
    return kind;
  }

  #nameOf(frame: number): string {
    const { frames, strings, symbols } = this.#profile;
    const symbol = frames.symbol.at(frame);
    return symbol === NONE ? '' : strings.get(symbols.name.at(symbol));
  }
}

/** What reports call the engine, where one row stands for many functions. */
const ENGINE = '[JavaScript engine]';

/** Of a row that `viewJavascript` has made: the work that it stands for, `GC: scavenge`; else null. */
export function engineWork({ binaries, frames, strings, symbols }: Profile, frame: number): string | null {
  if (binaries[frames.binary.at(frame)]!.path !== ENGINE) return null;
  return strings.get(symbols.name.at(frames.symbol.at(frame))).slice(1, -1);
}
const UNNAMED_FUNCTION = 'functions without a name';

/**
 * Whether a frame is of a function of JavaScript that has no file, or no name: of `eval`, of a process whose
 * names could not be had. Nobody knows more of it, and its time is the program's all the same.
 */
export function isNamelessFunction(profile: Profile, frame: number): boolean {
  const { binaries, frames, strings, symbols } = profile;
  const symbol = frames.symbol.at(frame);
  const { kind, path } = binaries[frames.binary.at(frame)]!;
  if (path === ENGINE) return engineWork(profile, frame) === UNNAMED_FUNCTION;
  if (kind !== 'jit') return false;
  if (symbol === NONE) return true;
  const name = strings.get(symbols.name.at(symbol));
  return name === NAME_NOT_CERTAIN || parseScriptName(name)?.file === '';
}

function kindOf({ binaries, frames, strings, symbols }: Profile, frame: number): number {
  const symbol = frames.symbol.at(frame);
  if (symbol === NONE) return NATIVE;
  const name = strings.get(symbols.name.at(symbol));
  if (binaries[frames.binary.at(frame)]!.kind !== 'jit')
    return name === UNNAMED_INTERPRETED ? UNNAMED : NATIVE;
  // A function of JavaScript, whichever it is: its time is not that of its caller.
  if (name === NAME_NOT_CERTAIN) return JAVASCRIPT;
  const script = parseScriptName(name);
  if (script === null) return NATIVE;
  return script.file.startsWith('wasm') || script.name.startsWith('wasm-function[') ? WASM : JAVASCRIPT;
}

function javascriptProcesses(profile: Profile): Set<number> {
  const { frames, samples, stacks, threads } = profile;
  const isJavascript = Uint8Array.from({ length: frames.length }, (_, frame) => {
    const kind = kindOf(profile, frame);
    return kind === JAVASCRIPT || kind === WASM ? 1 : 0;
  });
  const has = new Uint8Array(stacks.length);
  for (let row = 0; row < stacks.length; row++) {
    const prefix = stacks.prefix.at(row);
    has[row] = isJavascript[stacks.frame.at(row)]! | (prefix === NONE ? 0 : has[prefix]!);
  }
  const pids = new Set<number>();
  for (let row = 0; row < samples.length; row++) {
    const stack = samples.stack.at(row);
    if (stack !== NONE && has[stack] === 1) pids.add(threads.pid.at(samples.thread.at(row)));
  }
  return pids;
}
