/**
 * The names V8 gives its code in perf maps and jitdumps (`node --perf-basic-prof`, `--perf-prof`):
 *
 *   JS:*fib /app/fib.js:1:13
 *   │  ││   └ source, line, column
 *   │  │└ function; empty where it is anonymous
 *   │  └ tier
 *   └ kind of code; LazyCompile, Function, Eval and Script before V8 10
 *
 * Newer engines (seen in Node 26) write an `o` before the tier of code that a running loop was moved into (on-stack replacement).
 */
export interface ScriptName {
  name: string;
  /** Empty where V8 knows none. */
  file: string;
  line: number | null;
  column: number | null;
  /** One of `~^+*`, or empty. */
  tier: string;
}

/** What V8's tier marks mean, from its `CodeKindToMarker`. */
export const TIER_WORDS: Readonly<Record<string, string>> = {
  '~': 'interpreted by Ignition',
  '^': 'baseline code from Sparkplug',
  '+': 'optimised by Maglev',
  '*': 'optimised by TurboFan',
};

/** V8's markers carry an apostrophe where the code was specialised for one context. A function may be called `o`, too. */
const KIND_AND_TIER = /^(?:JS|LazyCompile|Function|Eval|Script|Module):(?:o(?=[+*]))?([~^+*]?)'?/;

/** Where a source begins after the function's name: both may contain spaces. */
const SOURCE_START = / (?=\/|node:|file:|https?:|wasm:|evalmachine|<|\[)/;

const LINE_AND_COLUMN = /:(\d{1,9})(?::(\d{1,9}))?$/;

/** The parts of a JavaScript function's symbol, or null where the symbol is none. */
export function parseScriptName(symbol: string): ScriptName | null {
  const head = KIND_AND_TIER.exec(symbol);
  if (head === null) return null;
  const rest = symbol.slice(head[0].length);
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

/** The last part of a source and its line, as in `fib.js:1`. */
export function shortSource(script: ScriptName): string {
  const file = script.file.slice(script.file.lastIndexOf('/') + 1);
  if (file === '') return '';
  return script.line === null ? file : `${file}:${script.line}`;
}
