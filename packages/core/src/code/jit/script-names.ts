/**
 * The names V8 gives its code in perf maps and jitdumps (`node --perf-basic-prof`, `--perf-prof`):
 *
 *   JS:*fib /app/fib.js:1:13
 *   │  ││   └ source, line, column
 *   │  │└ function; empty where it is anonymous
 *   │  └ tier
 *   └ kind of code: how it came to be compiled, so that one function has several (Eval and JS); LazyCompile and Function before V8 11
 *
 * WebAssembly has its tier at the end, after the function's index:
 * `JS:wasm-function[3]-3-liftoff`, `JS:fib-0-turbofan`.
 *
 * Code that `eval` or `new Function` made has no file. Counterpoint writes where it was made, as stack traces
 * do: `JS:render eval at compile (/app/views.js:10:5), <anonymous>:2:18`.
 *
 * Newer engines (seen in Node 26) write an `o` before the tier of code that a running loop was
 * moved into (on-stack replacement).
 */
export interface ScriptName {
  /** The name of the function; `(anonymous)` where it has none. */
  name: string;
  /** Path or URL of the script, of WebAssembly `wasm-function[INDEX]`; empty where V8 knows none. */
  file: string;
  /** The line where its parameters begin, from 1; null where the runtime does not say it. */
  line: number | null;
  /**
   * The column where its parameters begin, from 1: 11 of `function f() {}`; null where
   * the runtime does not say it.
   */
  column: number | null;
  /** One of `~^+*`; `liftoff` or `turbofan` for WebAssembly; or empty. */
  tier: string;
}

/** What V8's tier marks mean, from its `CodeKindToMarker`. */
export const TIER_WORDS: Readonly<Record<string, string>> = {
  '~': 'interpreted by Ignition',
  '^': 'baseline code from Sparkplug',
  '+': 'optimised by Maglev',
  '*': 'optimised by TurboFan',
};

/** The compilers behind the marks. */
export const TIER_NAMES: Readonly<Record<string, string>> = {
  '~': 'Ignition',
  '^': 'Sparkplug',
  '+': 'Maglev',
  '*': 'TurboFan',
  liftoff: 'Liftoff',
  turbofan: 'TurboFan',
};

/**
 * V8's markers carry an apostrophe where the code was specialised for one context. A
 * function may be called `o`, too.
 */
const KIND_AND_TIER = /^(?:JS|LazyCompile|Function|Eval|Script|Module|Wasm):(?:o(?=[+*]))?([~^+*]?)'?/;

/** Where a source begins after the function's name: both may contain spaces. */
const SOURCE_START =
  / (?=\/|node:|[a-z][a-z0-9+.-]+:\/\/|wasm-function\[|evalmachine|<|\[(?:worker )?eval|eval at )/;

/** A WebAssembly function by its index, where its module gives it no name. */
const WASM_INDEX_NAME = /^wasm-function\[\d+\]$/;
const WASM_TIER = /-(\d{1,10})-(liftoff|turbofan)$/;

const LINE_AND_COLUMN = /:(\d{1,9})(?::(\d{1,9}))?$/;

/** The parts of a JavaScript function's symbol, or null if the symbol is not one. */
export function parseScriptName(symbol: string): ScriptName | null {
  const head = KIND_AND_TIER.exec(symbol);
  if (head === null) return null;
  const rest = symbol.slice(head[0].length);
  const wasm = WASM_TIER.exec(rest);
  if (wasm !== null) return wasmName(rest.slice(0, wasm.index), Number(wasm[1]), wasm[2]!);
  const place = LINE_AND_COLUMN.exec(rest);
  const text = place === null ? rest : rest.slice(0, place.index);
  let cut = text.search(SOURCE_START);
  if (cut < 0 && place !== null) cut = text.lastIndexOf(' ');
  const name = cut < 0 ? text : text.slice(0, cut);
  return {
    name: name === '' ? '(anonymous)' : name,
    file: cut < 0 ? '' : text.slice(cut + 1),
    line: place === null ? null : Number(place[1]),
    column: place?.[2] === undefined ? null : Number(place[2]),
    tier: head[1] ?? '',
  };
}

/** The index tells functions of one name apart, as a file and a line do for JavaScript. */
function wasmName(text: string, index: number, tier: string): ScriptName {
  const own = `wasm-function[${index}]`;
  const file = text === '' || WASM_INDEX_NAME.test(text) ? '' : own;
  return { name: file === '' ? own : text, file, line: null, column: null, tier };
}
