import { TWO_32, toHex } from '../../../base/index.ts';
import type { ScriptName } from '../../../code/jit/index.ts';
import { NONE, type Profile } from '../../../profile/tables/index.ts';
import type { ByteWriter } from '../byte-writer.ts';
import { isInlinedName, labelFrames, plainName } from '../stacks/frame-labels.ts';
import { CATEGORY_OF, RESOURCE_LIBRARY, RESOURCE_URL, SUBCATEGORY_OF_TIER } from './facts.ts';

type Chunks = Generator<Uint8Array<ArrayBuffer>>;

const NULL = 'null';

/** The format's mark for a frame that is no machine code. */
const NO_ADDRESS = -1;

const COMMA = 0x2c;

/** `[…]` of `length` values, each written by `write(index)`. */
export function* writeColumn(out: ByteWriter, length: number, write: (index: number) => void): Chunks {
  out.text('[');
  for (let index = 0; index < length; index++) {
    if (index > 0) out.byte(COMMA);
    write(index);
    if (out.isFull) yield out.take();
  }
  out.text(']');
}

/** `"name":[…],` */
function* column(out: ByteWriter, name: string, length: number, write: (index: number) => void): Chunks {
  out.text(`"${name}":`);
  yield* writeColumn(out, length, write);
  out.text(',');
}

/** A function: a symbol, or one address without any; all nameless JIT code of a process is one. */
interface Func {
  name: number;
  resource: number;
  script: ScriptName | null;
  source: number;
}

/**
 * `profile.shared`: stacks, frames, functions, native symbols, resources, sources and strings of all
 * threads. Stacks and frames are our own rows; functions are symbols, and one per address where there is no
 * symbol (of JIT code: one per process).
 */
export class SharedTables {
  readonly strings = new Map<string, number>();
  readonly #profile: Profile;
  readonly #funcs: Func[] = [];
  readonly #funcOfFrame: Int32Array;
  readonly #categoryOfFrame: Uint8Array;
  readonly #subcategoryOfFrame: Uint8Array;
  /** Resource `b` is binary `b`; sources follow. */
  readonly #sources = new Map<string, number>();
  /** Native symbols: symbol row, start address. */
  readonly #nativeSymbols: number[] = [];
  readonly #nativeStart: number[] = [];
  readonly #nativeOfSymbol: Int32Array;
  readonly #addresses: Float64Array;

  constructor(profile: Profile) {
    this.#profile = profile;
    this.#addresses = relativeAddresses(profile);
    this.#funcOfFrame = new Int32Array(profile.frames.length);
    this.#categoryOfFrame = new Uint8Array(profile.frames.length);
    this.#subcategoryOfFrame = new Uint8Array(profile.frames.length);
    this.#nativeOfSymbol = new Int32Array(profile.symbols.length).fill(NONE);
    this.#collectFunctions();
  }

  string(text: string): number {
    let index = this.strings.get(text);
    if (index === undefined) {
      index = this.strings.size;
      this.strings.set(text, index);
    }
    return index;
  }

  #collectFunctions(): void {
    const { frames, symbols, strings } = this.#profile;
    const { labels, ofFrame } = labelFrames(this.#profile);
    const funcOfSymbol = new Int32Array(symbols.length).fill(NONE);
    const funcOfJit = new Map<number, number>();
    for (let frame = 0; frame < frames.length; frame++) {
      const symbol = frames.symbol.at(frame);
      const label = labels[ofFrame[frame]!]!;
      const { script } = label;
      this.#categoryOfFrame[frame] = CATEGORY_OF[label.family];
      this.#subcategoryOfFrame[frame] = script === null ? 0 : this.#subcategoryOf(frame, script);
      if (symbol === NONE && label.family === 'jit') {
        let func = funcOfJit.get(label.binary);
        if (func === undefined) {
          const name = this.string(label.text);
          func = this.#funcs.push({ name, resource: label.binary, script: null, source: NONE }) - 1;
          funcOfJit.set(label.binary, func);
        }
        this.#funcOfFrame[frame] = func;
        continue;
      }
      if (symbol === NONE) {
        const lo = frames.addressLo.at(frame) >>> 0;
        const name = this.string(`0x${toHex(lo, frames.addressHi.at(frame) >>> 0)}`);
        const resource = frames.binary.at(frame);
        this.#funcOfFrame[frame] = this.#funcs.push({ name, resource, script: null, source: NONE }) - 1;
        continue;
      }
      if (funcOfSymbol[symbol] === NONE) {
        const text = plainName(strings.get(symbols.name.at(symbol)));
        const file = script?.file ?? label.file ?? '';
        const source = file === '' ? NONE : this.#source(file);
        const binary = symbols.binary.at(symbol);
        const isScript = script !== null && source !== NONE;
        const resource = isScript ? this.#profile.binaries.length + source : binary;
        funcOfSymbol[symbol] =
          this.#funcs.push({ name: this.string(script?.name ?? text), resource, script, source }) - 1;
      }
      this.#funcOfFrame[frame] = funcOfSymbol[symbol]!;
      // The symbol at the address of an inlined function is that of the function around it.
      if (script === null && label.family !== 'inlined') this.#addNativeSymbol(frame, symbol);
    }
  }

  /** Each frame is of one copy of its function, and that of one tier. */
  #subcategoryOf(frame: number, script: ScriptName): number {
    const { frames, jitCode, strings } = this.#profile;
    const code = frames.jitCode.at(frame);
    return SUBCATEGORY_OF_TIER[code === NONE ? script.tier : strings.get(jitCode.tier.at(code))] ?? 0;
  }

  #source(file: string): number {
    let source = this.#sources.get(file);
    if (source === undefined) {
      source = this.#sources.size;
      this.#sources.set(file, source);
      this.string(file);
    }
    return source;
  }

  #addNativeSymbol(frame: number, symbol: number): void {
    const start = Math.max(0, this.#addresses[frame]! - this.#profile.frames.symbolOffset.at(frame));
    if (this.#nativeOfSymbol[symbol] === NONE) {
      this.#nativeOfSymbol[symbol] = this.#nativeSymbols.push(symbol) - 1;
      this.#nativeStart.push(start);
    }
  }

  *write(out: ByteWriter): Chunks {
    out.text('{');
    yield* this.#writeStacks(out);
    yield* this.#writeFrames(out);
    yield* this.#writeFunctions(out);
    yield* this.#writeNativeSymbols(out);
    yield* this.#writeResources(out);
    yield* this.#writeSources(out);
    out.text('"stringArray":[');
    let isFirst = true;
    for (const text of this.strings.keys()) {
      if (!isFirst) out.byte(COMMA);
      isFirst = false;
      out.jsonString(text);
      if (out.isFull) yield out.take();
    }
    out.text(']}');
  }

  *#writeStacks(out: ByteWriter): Chunks {
    const { stacks } = this.#profile;
    out.text('"stackTable":{');
    yield* column(out, 'frame', stacks.length, (row) => out.integer(stacks.frame.at(row)));
    yield* column(out, 'prefix', stacks.length, (row) => indexOrNull(out, stacks.prefix.at(row)));
    out.text(`"length":${stacks.length}},`);
  }

  *#writeFrames(out: ByteWriter): Chunks {
    const { frames } = this.#profile;
    const { length } = frames;
    const isScript = (row: number) => this.#funcs[this.#funcOfFrame[row]!]!.script !== null;
    out.text('"frameTable":{');
    yield* column(out, 'address', length, (row) =>
      out.integer(isScript(row) ? NO_ADDRESS : this.#addresses[row]!),
    );
    const depths = this.#inlineDepths();
    yield* column(out, 'inlineDepth', length, (row) => out.integer(depths[row]!));
    yield* column(out, 'category', length, (row) => out.integer(this.#categoryOfFrame[row]!));
    yield* column(out, 'subcategory', length, (row) => out.integer(this.#subcategoryOfFrame[row]!));
    yield* column(out, 'func', length, (row) => out.integer(this.#funcOfFrame[row]!));
    yield* column(out, 'nativeSymbol', length, (row) => {
      const symbol = frames.symbol.at(row);
      indexOrNull(out, symbol === NONE ? NONE : this.#nativeOfSymbol[symbol]!);
    });
    yield* column(out, 'innerWindowID', length, () => out.integer(0));
    yield* column(out, 'line', length, (row) => numberOrNull(out, this.#lineOf(row)));
    yield* column(out, 'column', length, (row) => numberOrNull(out, this.#columnOf(row)));
    out.text(`"length":${length}},`);
  }

  /**
   * Of frames of functions that debug information says are inlined: how many
   * functions are between them and code.
   */
  #inlineDepths(): Uint8Array {
    const { frames, stacks, strings, symbols } = this.#profile;
    const depths = new Uint8Array(frames.length);
    const isInlined = symbols.name.view().map((name) => (isInlinedName(strings.get(name)) ? 1 : 0));
    for (let row = 0; row < stacks.length; row++) {
      const frame = stacks.frame.at(row);
      const prefix = stacks.prefix.at(row);
      const symbol = frames.symbol.at(frame);
      if (symbol === NONE || prefix === NONE || isInlined[symbol] === 0) continue;
      depths[frame] = Math.min(255, depths[stacks.frame.at(prefix)]! + 1);
    }
    return depths;
  }

  #lineOf(frame: number): number | null {
    const { frames, sources } = this.#profile;
    const source = frames.source.at(frame);
    return source === NONE ? null : sources.line.at(source);
  }

  #columnOf(frame: number): number | null {
    const { frames, sources } = this.#profile;
    const source = frames.source.at(frame);
    return source === NONE ? null : sources.column.at(source) || null;
  }

  *#writeFunctions(out: ByteWriter): Chunks {
    const funcs = this.#funcs;
    const at = (row: number) => funcs[row]!;
    out.text('"funcTable":{');
    yield* column(out, 'name', funcs.length, (row) => out.integer(at(row).name));
    yield* column(out, 'isJS', funcs.length, (row) => out.text(String(at(row).script !== null)));
    yield* column(out, 'relevantForJS', funcs.length, () => out.text('false'));
    yield* column(out, 'resource', funcs.length, (row) => out.integer(at(row).resource));
    yield* column(out, 'source', funcs.length, (row) => indexOrNull(out, at(row).source));
    yield* column(out, 'lineNumber', funcs.length, (row) => numberOrNull(out, at(row).script?.line));
    yield* column(out, 'columnNumber', funcs.length, (row) => numberOrNull(out, at(row).script?.column));
    out.text(`"length":${funcs.length}},`);
  }

  *#writeNativeSymbols(out: ByteWriter): Chunks {
    const { symbols, strings } = this.#profile;
    const nativeSymbols = this.#nativeSymbols;
    const nativeStart = this.#nativeStart;
    const { length } = nativeSymbols;
    out.text('"nativeSymbols":{');
    yield* column(out, 'libIndex', length, (row) => out.integer(symbols.binary.at(nativeSymbols[row]!)));
    yield* column(out, 'address', length, (row) => out.integer(nativeStart[row]!));
    yield* column(out, 'name', length, (row) =>
      out.integer(this.string(strings.get(symbols.name.at(nativeSymbols[row]!)))),
    );
    yield* column(out, 'functionSize', length, () => out.text(NULL));
    out.text(`"length":${length}},`);
  }

  *#writeResources(out: ByteWriter): Chunks {
    const { binaries } = this.#profile;
    const names = [...binaries.map((binary) => binary.name), ...this.#sources.keys()];
    const { length } = names;
    out.text('"resourceTable":{');
    yield* column(out, 'lib', length, (row) => indexOrNull(out, row < binaries.length ? row : NONE));
    yield* column(out, 'name', length, (row) => out.integer(this.string(names[row]!)));
    yield* column(out, 'host', length, () => out.text(NULL));
    yield* column(out, 'type', length, (row) =>
      out.integer(row < binaries.length ? RESOURCE_LIBRARY : RESOURCE_URL),
    );
    out.text(`"length":${length}},`);
  }

  *#writeSources(out: ByteWriter): Chunks {
    const files = [...this.#sources.keys()];
    const { length } = files;
    out.text('"sources":{');
    yield* column(out, 'id', length, () => out.text(NULL));
    yield* column(out, 'filename', length, (row) => out.integer(this.string(files[row]!)));
    yield* column(out, 'startLine', length, () => out.integer(1));
    yield* column(out, 'startColumn', length, () => out.integer(1));
    yield* column(out, 'sourceMapURL', length, () => out.text(NULL));
    out.text(`"length":${length}},`);
  }
}

function indexOrNull(out: ByteWriter, index: number): void {
  if (index === NONE) out.text(NULL);
  else out.integer(index);
}

function numberOrNull(out: ByteWriter, value: number | null | undefined): void {
  if (value === null || value === undefined) out.text(NULL);
  else out.integer(value);
}

/**
 * Addresses as JSON can hold them, exactly: the kernel's and JIT code's are absolute and beyond 2^53,
 * so in a binary with such an address all are counted from its lowest one, rounded down to 1 MiB. What
 * is still too far away has none.
 */
function relativeAddresses(profile: Profile): Float64Array {
  const { frames, binaries } = profile;
  const lowest = new Array<bigint | undefined>(binaries.length).fill(undefined);
  const isHigh = new Uint8Array(binaries.length);
  const address = (frame: number) =>
    (BigInt(frames.addressHi.at(frame) >>> 0) << 32n) | BigInt(frames.addressLo.at(frame) >>> 0);
  for (let frame = 0; frame < frames.length; frame++) {
    if (frames.addressHi.at(frame) >>> 0 >= 0x20_0000) isHigh[frames.binary.at(frame)] = 1;
  }
  const relative = new Float64Array(frames.length);
  for (let frame = 0; frame < frames.length; frame++) {
    const binary = frames.binary.at(frame);
    if (isHigh[binary] === 0) {
      relative[frame] = (frames.addressHi.at(frame) >>> 0) * TWO_32 + (frames.addressLo.at(frame) >>> 0);
      continue;
    }
    const own = address(frame) & ~0xf_ffffn;
    const low = lowest[binary];
    if (low === undefined || own < low) lowest[binary] = own;
  }
  for (let frame = 0; frame < frames.length; frame++) {
    const low = lowest[frames.binary.at(frame)];
    if (low === undefined) continue;
    const distance = Number(address(frame) - low);
    relative[frame] = Number.isSafeInteger(distance) ? distance : NO_ADDRESS;
  }
  return relative;
}
