import {
  type Diagnostic,
  decodeUtf8,
  FormatError,
  type ProgressListener,
  toSignedFloat,
} from '../../base/index.ts';
import {
  type InlinedCode,
  InlinedCodeTable,
  jitCodeName,
  NAME_NOT_CERTAIN,
  parseScriptName,
  RECORDED_INLINED_CODE,
  UNKNOWN_LINE,
} from '../../code/jit/index.ts';
import type { SourceMapsResult } from '../../code/source-maps/index.ts';
import { type CodeSymbols, loadCodeSymbols, type SymbolDriver } from '../../code/symbols/index.ts';
import { NONE, type Profile, type ProfileMeta } from '../tables/index.ts';
import type { Binaries } from './binaries.ts';
import type { CodeHistories } from './code-histories.ts';
import { mendStacks, type SourceLine, type StackTops } from './javascript-stacks.ts';
import { SourceNames } from './source-names.ts';

interface LoadedTable {
  table: CodeSymbols | null;
  diagnostics: Diagnostic[];
  failure: { error: unknown } | null;
}

/** A copy of a function that a JIT compiler made: rows of the profile's symbols and of its JIT code. */
interface JitRow {
  symbol: number;
  code: number;
}

/** A piece of generated code. */
interface Code {
  /** What it is told apart by, among the code of its process. */
  place: number;
  start: number;
  end: number;
  name(): string;
}

/** Marks of V8's compilers that inline. */
const OPTIMISED = new Set(['+', '*']);
/** One or two may be of the last moments of a process, in which nobody could read them. */
const FEWEST_OPTIMISED = 3;

/** Below those of all lines. */
const PLACE_OF_UNKNOWN = Number.MIN_SAFE_INTEGER;

/** Frames whose address had several functions, and the lines of the map that are theirs. */
export interface TimedCode {
  readonly codeHistories: CodeHistories;
  readonly codeLines: ReadonlyMap<number, number>;
}

/**
 * Gives frames their functions. Each binary's table is loaded once, when the first frame in it shows up; each
 * unique address is looked up once. Can be called again as frames are added.
 */
export class SymbolResolver {
  readonly #diagnostics: Diagnostic[] = [];
  readonly #profile: Profile;
  readonly #binaries: Binaries;
  readonly #driver: SymbolDriver;
  readonly #tables = new Map<number, CodeSymbols | null>();
  readonly #begun = new Map<number, Promise<LoadedTable>>();
  /** Symbol rows of the profile by binary and place in its table. */
  readonly #rows = new Map<number, Map<number, number>>();
  /**
   * Of binaries of JIT code: rows of the profile's symbols by the function's name, and of its
   * code by place in the table.
   */
  readonly #jitFunctions = new Map<number, Map<string, number>>();
  readonly #jitRows = new Map<number, Map<number, JitRow>>();
  /** What is inlined where: by binary; and by row of the profile's JIT code. */
  readonly #inlined = new Map<number, InlinedCodeTable>();
  readonly #inlinedCode = new Map<number, InlinedCode>();
  /** By process: how many pieces of optimised code of JavaScript have samples. */
  readonly #optimised = new Map<number, Set<number>>();
  /** Processes of which something is known that was inlined. */
  readonly #toldApart = new Set<number>();
  /** By binary and name: the function that `eval` made, where only one has this name. */
  readonly #evaluated = new Map<number, ReadonlyMap<string, string>>();
  #nextFrame = 0;
  /** Frames before that one that are to be looked up again. */
  #again: number[] = [];
  /** Whether files that no build id proves to be the recorded ones may name code. */
  readonly #acceptUnverified: (meta: ProfileMeta) => boolean;
  /** Where addresses of generated code had several functions. */
  readonly #timed: TimedCode | null;
  /** Rows of symbols by the function's name in its source; null: names are those of the code. */
  readonly #sourceNames: SourceNames | null;
  readonly #sourceFunctions = new Map<number, Map<string, number>>();

  constructor(
    profile: Profile,
    binaries: Binaries,
    driver: SymbolDriver,
    acceptUnverified: (meta: ProfileMeta) => boolean = () => true,
    timed: TimedCode | null = null,
    readsSourceMaps = false,
  ) {
    this.#timed = timed;
    this.#sourceNames = readsSourceMaps
      ? new SourceNames(driver, binaries, () => acceptUnverified(binaries.meta()))
      : null;
    this.#profile = profile;
    this.#binaries = binaries;
    this.#driver = driver;
    this.#acceptUnverified = acceptUnverified;
  }

  get diagnostics(): Diagnostic[] {
    return [...this.#diagnostics, ...(this.#sourceNames?.diagnostics ?? []), ...this.#notToldApart()];
  }

  /** One note, however many processes it is about. */
  #notToldApart(): Diagnostic[] {
    const pids = [...this.#optimised]
      .filter(([pid, places]) => places.size >= FEWEST_OPTIMISED && !this.#toldApart.has(pid))
      .map(([pid]) => pid);
    if (pids.length === 0) return [];
    const who = pids.length === 1 ? `process ${pids[0]}` : `${pids.length} processes`;
    return [
      {
        code: 'inlined-code-missing',
        path: 'inlined functions',
        detail: `what V8 inlined in ${who} is not in the recording: the time of functions that were inlined counts for their callers`,
        remedy:
          'Record with `counterpoint record` and a version of Node that docs/compatibility.md lists, or start Node with --no-turbo-inlining.',
      },
    ];
  }

  /** What became of source maps; null: none were wanted. */
  get sourceMaps(): SourceMapsResult | null {
    return this.#sourceNames?.result ?? null;
  }

  /**
   * Begin to load a binary's table, so that it is there when it is wanted: files are read while samples are.
   */
  begin(binary: number): void {
    if (!this.#begun.has(binary)) this.#begun.set(binary, this.#load(binary));
  }

  /**
   * Resolve the frames that were added since the last call; `asTheyCome`: those of a table once it is
   * there, for code that looks before that.
   */
  async resolveNew(onProgress?: ProgressListener, asTheyCome = false): Promise<void> {
    const { frames } = this.#profile;
    const end = frames.length;
    if (this.#nextFrame === end && this.#again.length === 0) return;
    const wanted = new Set<number>();
    for (const frame of this.#again) {
      const binary = frames.binary.at(frame);
      if (!this.#tables.has(binary)) wanted.add(binary);
    }
    for (let frame = this.#nextFrame; frame < end; frame++) {
      const binary = frames.binary.at(frame);
      if (!this.#tables.has(binary)) wanted.add(binary);
    }
    let done = 0;
    for (const binary of wanted) {
      onProgress?.({
        phase: `symbols of ${this.#profile.binaries[binary]!.name}`,
        done: done++,
        total: wanted.size,
      });
      this.begin(binary);
      const { table, diagnostics, failure } = await this.#begun.get(binary)!;
      if (failure !== null) throw failure.error;
      this.#tables.set(binary, table);
      this.#diagnostics.push(...diagnostics);
      for (let frame = this.#nextFrame; asTheyCome && frame < end; frame++)
        if (frames.binary.at(frame) === binary) this.#resolveFrame(frame);
    }
    if (this.#sourceNames !== null) await this.#prepareMaps(this.#sourceNames, end);
    for (const frame of this.#again) this.#resolveFrame(frame);
    this.#again = [];
    for (let frame = this.#nextFrame; frame < end; frame++) this.#resolveFrame(frame);
    this.#nextFrame = end;
  }

  /** Once all frames are resolved: gives stacks the frames of functions that built none. */
  mendStacks(tops: StackTops | null): void {
    if (this.#inlinedCode.size === 0 && tops === null) return;
    const known = {
      codeAt: (jitCode: number) => this.#inlinedCode.get(jitCode) ?? null,
      symbolOf: (binary: number, functionName: string) =>
        this.#jitFunction(binary, jitCodeName(functionName).name),
      sourceOf: (binary: number, functionName: string, line: number, column: number) =>
        this.#sourceOf(binary, functionName, line, column),
    };
    mendStacks(this.#profile, known, tops);
  }

  #sourceOf(binary: number, functionName: string, line: number, column: number): SourceLine | null {
    if (this.#sourceNames !== null)
      return this.#sourceNames.sourceOf(this.#binaries.known[binary]!.pid, functionName, line, column);
    const file = parseScriptName(functionName)?.file ?? '';
    return file === '' ? null : { file, line, column };
  }

  /** Reads the maps of all functions that the new frames are of, and of those that are inlined in them. */
  async #prepareMaps(names: SourceNames, end: number): Promise<void> {
    const seen = new Map<number, Set<number>>();
    const frames = [...this.#again];
    for (let frame = this.#nextFrame; frame < end; frame++) frames.push(frame);
    for (const frame of frames) {
      const binary = this.#profile.frames.binary.at(frame);
      if (this.#profile.binaries[binary]!.kind !== 'jit') continue;
      const code = this.#codeOf(frame, binary);
      let places = seen.get(binary);
      if (places === undefined) seen.set(binary, (places = new Set()));
      if (code === null || places.has(code.place)) continue;
      places.add(code.place);
      const recordedName = code.name();
      const { pid } = this.#binaries.known[binary]!;
      await names.prepare(pid, recordedName);
      const inlined = this.#inlined.get(binary)?.find(code.start, code.end - code.start, recordedName);
      for (const { functionName } of inlined?.calls ?? []) await names.prepare(pid, functionName);
    }
  }

  /**
   * A binary's code has changed (it is made while it runs): its table is loaded again, and
   * its frames are looked up anew.
   */
  forget(binary: number): void {
    const { frames } = this.#profile;
    this.#tables.delete(binary);
    this.#begun.delete(binary);
    this.#rows.delete(binary);
    this.#jitRows.delete(binary);
    const own = (frame: number) => frames.binary.at(frame) === binary;
    this.#again = this.#again.filter((frame) => !own(frame));
    for (let frame = 0; frame < this.#nextFrame; frame++) {
      if (!own(frame)) continue;
      frames.symbol.data[frame] = NONE;
      frames.symbolOffset.data[frame] = 0;
      frames.jitCode.data[frame] = NONE;
      this.#again.push(frame);
    }
  }

  /** Never rejects: what went wrong waits with the result until the table is wanted. */
  async #load(binary: number): Promise<LoadedTable> {
    const diagnostics: Diagnostic[] = [];
    try {
      return { table: await this.#loadTable(binary, diagnostics), diagnostics, failure: null };
    } catch (error) {
      return { table: null, diagnostics, failure: { error } };
    }
  }

  async #loadTable(binary: number, diagnostics: Diagnostic[]): Promise<CodeSymbols | null> {
    const { path, buildId, kind } = this.#profile.binaries[binary]!;
    const known = this.#binaries.known[binary]!;
    if (kind === 'unknown' || known.symbol !== null) return null;
    if (kind === 'jit') await this.#loadInlined(binary, diagnostics);
    return loadCodeSymbols({ path, buildId, kind, pid: known.pid }, this.#driver, diagnostics, {
      kernelReference: this.#binaries.kernelReference,
      acceptUnverified: this.#acceptUnverified(this.#binaries.meta()),
      perfMap: (pid) => this.#timed?.codeHistories.mapOf(pid) ?? null,
      dumpProblems: (pid) => this.#timed?.codeHistories.dumps.problemsOf(pid) ?? [],
      startMs: (pid) => this.#binaries.startOf(pid),
      recordedFile: (fileKind, pid) => this.#binaries.recordedFile(fileKind, pid),
      ...(kind === 'module' ? { kernelBuildId: this.#kernelBuildId(), moduleStart: known.start } : {}),
    });
  }

  async #loadInlined(binary: number, diagnostics: Diagnostic[]): Promise<void> {
    const { pid } = this.#binaries.known[binary]!;
    try {
      const file = await this.#binaries.recordedFile(RECORDED_INLINED_CODE, pid);
      if (file === null) return;
      const pieces = new InlinedCodeTable(await file.read(0, file.size));
      this.#inlined.set(binary, pieces);
      this.#evaluated.set(binary, evaluatedFunctions(pieces));
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      diagnostics.push({
        code: 'inlined-code-damaged',
        path: this.#profile.binaries[binary]!.path,
        detail: `what the recording says of inlined functions is damaged, so they are counted to the functions that they are in: ${error.message}`,
        remedy: '',
      });
    }
  }

  #kernelBuildId(): string {
    return this.#profile.binaries.find((binary) => binary.kind === 'kernel')?.buildId ?? '';
  }

  #resolveFrame(frame: number): void {
    const { frames } = this.#profile;
    const binary = frames.binary.at(frame);
    const { symbol } = this.#binaries.known[binary]!;
    if (symbol !== null) {
      frames.symbol.data[frame] = this.#symbolRow(binary, 0, () => symbol);
      return;
    }
    const table = this.#tables.get(binary);
    if (table === null || table === undefined) return;
    const address = this.#addressOf(frame);
    if (this.#profile.binaries[binary]!.kind === 'jit') {
      const code = this.#codeAt(frame, binary, address, table);
      if (code === null) return;
      const row = this.#jitRow(binary, code);
      frames.symbol.data[frame] = row.symbol;
      frames.jitCode.data[frame] = row.code;
      frames.symbolOffset.data[frame] = address - code.start;
      return;
    }
    const found = table.lookup(address);
    if (found < 0) return;
    frames.symbol.data[frame] = this.#symbolRow(binary, found, () => table.name(found));
    frames.symbolOffset.data[frame] = address - table.start(found);
  }

  #addressOf(frame: number): number {
    const { frames } = this.#profile;
    return toSignedFloat(frames.addressLo.at(frame) >>> 0, frames.addressHi.at(frame));
  }

  #codeOf(frame: number, binary: number): Code | null {
    const table = this.#tables.get(binary);
    return table === null || table === undefined
      ? null
      : this.#codeAt(frame, binary, this.#addressOf(frame), table);
  }

  /** Of the time of the frame's samples, where the address was that of several functions. */
  #codeAt(frame: number, binary: number, address: number, table: CodeSymbols): Code | null {
    const line = this.#timed?.codeLines.get(frame);
    if (line === UNKNOWN_LINE)
      return { place: PLACE_OF_UNKNOWN, start: address, end: address, name: () => NAME_NOT_CERTAIN };
    const map =
      line === undefined ? null : this.#timed!.codeHistories.mapOf(this.#binaries.known[binary]!.pid);
    if (line !== undefined && map !== null) {
      const name = () => decodeUtf8(map.names.subarray(map.nameStart[line]!, map.nameStart[line + 1]!));
      // Below all places of the table.
      return { place: -1 - line, start: map.start[line]!, end: map.end[line]!, name };
    }
    const place = table.lookup(address);
    if (place < 0) return null;
    return { place, start: table.start(place), end: table.end(place), name: () => table.name(place) };
  }

  #symbolRow(binary: number, place: number, name: () => string): number {
    const rows = innerMap(this.#rows, binary);
    let row = rows.get(place);
    if (row === undefined) rows.set(place, (row = this.#addSymbol(binary, name())));
    return row;
  }

  /** One row of symbols for all copies of a function, which have a row of code each. */
  #jitRow(binary: number, { place, start, end, name: recordedName }: Code): JitRow {
    const rows = innerMap(this.#jitRows, binary);
    const known = rows.get(place);
    if (known !== undefined) return known;
    const recorded = recordedName();
    const inlined = this.#inlined.get(binary)?.find(start, end - start, recorded) ?? null;
    const { tier } = jitCodeName(recorded);
    const { name } = jitCodeName(
      inlined?.functionName ?? this.#evaluated.get(binary)?.get(jitCodeName(recorded).name) ?? recorded,
    );
    const symbol = this.#jitFunction(binary, name);
    const { jitCode, strings } = this.#profile;
    const { pid } = this.#binaries.known[binary]!;
    jitCode.recordedName.push(strings.intern(this.#sourceNames?.recordedNameOf(pid, recorded) ?? recorded));
    jitCode.tier.push(strings.intern(tier));
    const row = { symbol, code: jitCode.start.push(start) };
    rows.set(place, row);
    if (inlined !== null) this.#inlinedCode.set(row.code, inlined);
    if (OPTIMISED.has(tier) && parseScriptName(recorded) !== null) {
      if (inlined !== null) this.#toldApart.add(pid);
      const places = this.#optimised.get(pid) ?? new Set();
      this.#optimised.set(pid, places.add(start));
    }
    return row;
  }

  #jitFunction(binary: number, name: string): number {
    const functions = innerMap(this.#jitFunctions, binary);
    let symbol = functions.get(name);
    if (symbol === undefined) {
      // Of one function in the source a compiler may have made several.
      const shown = this.#sourceNames?.nameOf(this.#binaries.known[binary]!.pid, name) ?? name;
      const shownFunctions = innerMap(this.#sourceFunctions, binary);
      symbol = shownFunctions.get(shown) ?? this.#addSymbol(binary, shown);
      shownFunctions.set(shown, symbol);
      functions.set(name, symbol);
    }
    return symbol;
  }

  #addSymbol(binary: number, name: string): number {
    const { symbols, strings } = this.#profile;
    symbols.binary.push(binary);
    return symbols.name.push(strings.intern(name));
  }
}

function innerMap<Key, Value>(maps: Map<number, Map<Key, Value>>, binary: number): Map<Key, Value> {
  let map = maps.get(binary);
  if (map === undefined) maps.set(binary, (map = new Map()));
  return map;
}

/**
 * Names of functions that `eval` made are places in its text: `render :2:18`. Where they were made is known
 * of some of their code, and holds for all of it unless several functions have the same name.
 */
function evaluatedFunctions(pieces: InlinedCodeTable): Map<string, string> {
  const found = new Map<string, string>();
  const plain = new Map<string, string>();
  const plainName = (recordedName: string) => {
    let name = plain.get(recordedName);
    if (name === undefined) plain.set(recordedName, (name = jitCodeName(recordedName).name));
    return name;
  };
  for (const { recordedName, functionName } of pieces.evaluated()) {
    const name = plainName(recordedName);
    const own = plainName(functionName);
    const before = found.get(name);
    found.set(name, before === undefined || before === own ? own : name);
  }
  return found;
}
