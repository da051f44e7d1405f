/**
 * Stacks of JavaScript as their functions called each other. The kernel follows frame pointers, and V8
 * does not always build frames:
 *
 * - Optimised code holds the code of the functions that it calls. One address in it is then a piece of a stack:
 *
 *       recorded   main ─ outer              address in outer, offset 0x41
 *       known      0x41 is of `inner`, called by `middle`, called by `outer`
 *       made       main ─ outer ─ middle ─ inner
 *
 * - Most builtins and handlers of the interpreter build no frame, and the chain lacks their caller. Where the
 *   samples have the top of the stack, it is known (`StackInterner.guessedCallers`):
 *
 *       recorded   main ─ outer ─ (inner) ─ AddHandler
 *
 * - So do functions of programs and libraries that need no frame, or have not built it yet: `exp`, `memcpy`.
 *   Their frame information says at which instructions the top of the stack is their caller.
 *
 * - A handler of the interpreter is no function of its own: `AddHandler` is `inner` here.
 */
import { TripleTable } from '../../base/index.ts';
import { codePlacesAt, type InlinedCode } from '../../code/jit/index.ts';
import { NONE, type Profile } from '../tables/index.ts';
import { CALLING, INTERRUPTED, isUserFrame, stackUses } from './stack-uses.ts';

/** What is known of code: by row of `Profile.jitCode`. */
export interface InlinedFunctions {
  codeAt(jitCode: number): InlinedCode | null;
  /** Row of `Profile.symbols`. */
  symbolOf(binary: number, functionName: string): number;
  /** Of a place in a function's code, where it is in the source; null: nobody knows. */
  sourceOf(binary: number, functionName: string, line: number, column: number): SourceLine | null;
}

/** Where something is in a source; both from 1, and a column of 0 is unknown. */
export interface SourceLine {
  file: string;
  line: number;
  column: number;
}

/** What samples with the top of the stack tell. */
export interface StackTops {
  /** Rows of stacks whose frame is a guess; see `StackInterner`. */
  guessedCallers: ReadonlySet<number>;
  /** Whether the function at a frame, of a program or a library, has its caller at the top of the stack. */
  hasCallerAtTop(frame: number): boolean;
}

/**
 * Gives the samples whole stacks. The table of stacks is made anew, and with it the rows that samples
 * refer to. `tops` is null where samples have no top of the stack: then nothing is known of callers that
 * are missing, and handlers stay.
 */
export function mendStacks(profile: Profile, known: InlinedFunctions | null, tops: StackTops | null): void {
  new JavascriptStacks(profile, known, tops).mend();
}

/** The frames of functions that may lack their caller: those next to a guess. */
export function framesBesideGuesses({ stacks }: Profile, guessedCallers: ReadonlySet<number>): Set<number> {
  const found = new Set<number>();
  for (let row = 0; row < stacks.length; row++)
    if (guessedCallers.has(stacks.prefix.at(row))) found.add(stacks.frame.at(row));
  return found;
}

class JavascriptStacks {
  readonly #profile: Profile;
  readonly #known: InlinedFunctions | null;
  readonly #tops: StackTops | null;
  readonly #rows: TripleTable;
  readonly #frames = new TripleTable();
  readonly #newFrames: number[] = [];
  readonly #sources = new TripleTable();
  /** By frame: what kind of function it is of; 0 where nobody has asked. */
  readonly #kinds: Uint8Array;

  constructor(profile: Profile, known: InlinedFunctions | null, tops: StackTops | null) {
    this.#profile = profile;
    this.#known = known;
    this.#tops = tops;
    this.#rows = new TripleTable(profile.stacks.length);
    this.#kinds = new Uint8Array(profile.frames.length);
  }

  mend(): void {
    const { samples, stacks } = this.#profile;
    const prefixes = stacks.prefix.view().slice();
    const frames = stacks.frame.view().slice();
    stacks.prefix.length = 0;
    stacks.frame.length = 0;
    // Of each row, where its frame was interrupted, and where it had called the next one.
    const interrupted = new Int32Array(prefixes.length).fill(NONE);
    const calling = new Int32Array(prefixes.length).fill(NONE);
    const uses = stackUses(this.#profile, prefixes, frames);
    const isGuess = (row: number) => row !== NONE && this.#tops?.guessedCallers.has(row) === true;
    for (let row = 0; row < prefixes.length; row++) {
      // Its callee decides.
      if (isGuess(row)) continue;
      const frame = frames[row]!;
      const isUser = isUserFrame(this.#profile, frame);
      const outerOf = (prefix: number) =>
        prefix === NONE ? NONE : (isUser ? calling : interrupted)[prefix]!;
      let outer: number;
      const prefix = prefixes[row]!;
      if (isGuess(prefix)) {
        outer = outerOf(prefixes[prefix]!);
        const caller = frames[prefix]!;
        if (this.#isCaller(caller, frame)) outer = this.#stackRow(outer, caller, true);
      } else outer = outerOf(prefix);
      const isFolded = this.#runsFor(frame, outer);
      if ((uses[row]! & INTERRUPTED) !== 0)
        interrupted[row] = isFolded ? outer : this.#stackRow(outer, frame, false);
      if ((uses[row]! & CALLING) !== 0) calling[row] = isFolded ? outer : this.#stackRow(outer, frame, true);
    }
    for (let row = 0; row < samples.length; row++) {
      const stack = samples.stack.at(row);
      if (stack !== NONE) samples.stack.data[row] = interrupted[stack]!;
    }
  }

  /** Whether the function at the top of the stack called a function that builds no frame. */
  #isCaller(caller: number, callee: number): boolean {
    const kind = this.#kindOf(caller);
    const calleeKind = this.#kindOf(callee);
    if (calleeKind === HANDLER) return kind === INTERPRETED;
    if (calleeKind === BUILTIN) return kind === INTERPRETED || kind === COMPILED;
    return this.#profile.frames.jitCode.at(callee) === NONE && this.#tops!.hasCallerAtTop(callee);
  }

  /** Whether a frame is of a handler that runs the function at `outer`. */
  #runsFor(frame: number, outer: number): boolean {
    if (this.#tops === null || outer === NONE || this.#kindOf(frame) !== HANDLER) return false;
    return this.#kindOf(this.#profile.stacks.frame.at(outer)) === INTERPRETED;
  }

  #kindOf(frame: number): number {
    let kind = this.#kinds[frame] ?? OTHER;
    if (kind === UNKNOWN) this.#kinds[frame] = kind = this.#findKind(frame);
    return kind;
  }

  #findKind(frame: number): number {
    const { frames, jitCode, strings, symbols } = this.#profile;
    const code = frames.jitCode.at(frame);
    if (code !== NONE) {
      const tier = strings.get(jitCode.tier.at(code));
      return tier === '~' ? INTERPRETED : COMPILED_TIERS.has(tier) ? COMPILED : OTHER;
    }
    const symbol = frames.symbol.at(frame);
    const name = symbol === NONE ? '' : strings.get(symbols.name.at(symbol));
    if (!name.startsWith(BUILTIN_PREFIX)) return OTHER;
    return name.endsWith(HANDLER_SUFFIX) ? HANDLER : BUILTIN;
  }

  /** The row of `outer` and all that is at the frame's address. */
  #stackRow(outer: number, frame: number, isCalling: boolean): number {
    const { frames, stacks } = this.#profile;
    let prefix = outer;
    const add = (one: number) => {
      const row = this.#rows.find(prefix, one, 0);
      if (row < 0) {
        stacks.prefix.push(prefix);
        stacks.frame.push(one);
      }
      prefix = row < 0 ? -1 - row : row;
    };
    const code = frames.jitCode.at(frame);
    const inlining = this.#known;
    const known = code === NONE || inlining === null ? null : inlining.codeAt(code);
    // A return address is that of the next instruction, which may be of another function.
    const offset = frames.symbolOffset.at(frame) - (isCalling ? 1 : 0);
    const places = known === null ? [] : codePlacesAt(known, offset);
    if (known === null || inlining === null || places.length === 0) {
      add(frame);
      return prefix;
    }
    const binary = frames.binary.at(frame);
    for (const { call, line, column } of places.reverse()) {
      const inlined = known.calls[call];
      const name = inlined?.functionName ?? known.functionName ?? known.recordedName;
      const symbol = inlined === undefined ? frames.symbol.at(frame) : inlining.symbolOf(binary, name);
      const place = line === 0 ? null : inlining.sourceOf(binary, name, line, column);
      add(this.#frameAt(frame, symbol, this.#source(place), inlined !== undefined));
    }
    return prefix;
  }

  #source(place: SourceLine | null): number {
    if (place === null) return NONE;
    const { sources, strings } = this.#profile;
    const file = strings.intern(place.file);
    const row = this.#sources.find(file, place.line, place.column);
    if (row >= 0) return row;
    sources.file.push(file);
    sources.line.push(place.line);
    sources.column.push(place.column);
    return -1 - row;
  }

  /** The same address, as that of the function and of the line whose code it is. */
  #frameAt(frame: number, symbol: number, source: number, isInlined: boolean): number {
    const { frames } = this.#profile;
    if (!isInlined && source === NONE) return frame;
    const row = this.#frames.find(frame, symbol, source);
    if (row >= 0) return this.#newFrames[row]!;
    const added = frames.addLike(frame, { source, symbol, ...(isInlined && { symbolOffset: 0 }) });
    this.#newFrames.push(added);
    return added;
  }
}

/** Kinds of functions. */
const UNKNOWN = 0;
const OTHER = 1;
const BUILTIN = 2;
const HANDLER = 3;
const INTERPRETED = 4;
const COMPILED = 5;

/** Code of V8 that is built into its program: symbols as V8's `EmbeddedFileWriter` writes them. */
const BUILTIN_PREFIX = 'Builtins_';
/** Of the interpreter's bytecodes: `Builtins_AddHandler`, `Builtins_AddWideHandler`. */
const HANDLER_SUFFIX = 'Handler';
/** V8's marks of code that a compiler made. */
const COMPILED_TIERS: ReadonlySet<string> = new Set(['^', '+', '*']);
