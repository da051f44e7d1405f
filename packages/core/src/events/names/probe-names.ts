import { isGlob, matchesGlob } from './glob.ts';
import type { ProbeFile } from './types.ts';

/**
 * A function as it is typed behind FILE: ends at a comma, slash, brace or single colon, but not inside of the
 * parameters or template arguments of C++ and Rust, nor at `::`. Quoted, it may have anything:
 *
 *   malloc+4:u    a::work(int, char):u    'operator/'+4:u
 *   └──────┘      └────────────────┘      └───────────┘
 */
export function endOfFunction(text: string, at: number): number {
  if (text[at] === "'") {
    const close = text.indexOf("'", at + 1);
    return close < 0 ? text.length : endOfPlain(text, close + 1, () => true);
  }
  let depth = 0;
  const balanced = endOfPlain(text, at, (character) => {
    if (character === '(' || character === '<') depth++;
    if ((character === ')' || character === '>') && depth > 0) depth--;
    return depth === 0;
  });
  // Operators such as `<` have no end of their own.
  return depth === 0 ? balanced : endOfPlain(text, at, () => true);
}

/** `isOpen` is asked of each character, in order, whether the name may end there. */
function endOfPlain(text: string, at: number, isOpen: (character: string) => boolean): number {
  for (let end = at; end < text.length; end++) {
    const character = text[end]!;
    if (!isOpen(character)) continue;
    if (',/{}'.includes(character)) return end;
    if (character !== ':') continue;
    if (text[end + 1] !== ':') return end;
    end++;
  }
  return text.length;
}

/** `'a::b'+4` as `a::b+4`. */
export function withoutQuotes(typed: string): string {
  const close = typed.startsWith("'") ? typed.indexOf("'", 1) : -1;
  return close < 0 ? typed : typed.slice(1, close) + typed.slice(close + 1);
}

/** The form in which a name can be typed: in quotes where it would end too early. */
export function typedForm(name: string): string {
  return endOfFunction(`${name},`, 0) === name.length && !name.startsWith("'") ? name : `'${name}'`;
}

/** `malloc+4` apart; `null` where the offset is no number. */
export function splitPlace(place: string): { name: string; offset: number } | null {
  const plus = place.lastIndexOf('+');
  if (plus <= 0) return { name: place, offset: 0 };
  const text = place.slice(plus + 1);
  if (/^(?:\d{1,10}|0x[0-9a-fA-F]{1,8})$/.test(text))
    return { name: place.slice(0, plus), offset: Number(text) };
  return /\boperator\+/.test(place) ? { name: place, offset: 0 } : null;
}

/** A function that a readable name means. */
export interface ReadableFunction {
  /** In the file's symbol table. */
  readonly symbol: string;
  /** With parameters, as far as there are any. */
  readonly readable: string;
  readonly address: number;
}

/**
 * Every function of which this is the readable name, or a wildcard for it: with parameters one,
 * without them all of that name.
 */
export function functionsByReadableName(
  { functions, demangle }: ProbeFile,
  name: string,
): ReadableFunction[] {
  if (demangle === undefined) return [];
  const isWildcard = isGlob(name);
  const wanted = squeezed(name);
  const hasParameters = name.includes('(');
  const found: ReadableFunction[] = [];
  for (const [symbol, address] of functions) {
    const bare = demangle(symbol, false);
    if (bare === symbol) continue;
    const mayFit = isWildcard ? hasParameters || matchesGlob(bare, name) : wanted.includes(squeezed(bare));
    if (!mayFit) continue;
    const readable = demangle(symbol, true);
    const whole = squeezed(readable);
    const fits = isWildcard
      ? !hasParameters || matchesGlob(whole, wanted)
      : wanted === squeezed(bare) || wanted === whole;
    if (fits) found.push({ symbol, readable, address });
  }
  return found;
}

/** Blanks are a matter of taste: `f(int,char)`. */
function squeezed(name: string): string {
  return name.includes(' ') ? name.replaceAll(' ', '') : name;
}

/** Readable names that end like what was typed: `a::work` for `work`. */
export function readableNamesLike({ functions, demangle }: ProbeFile, name: string): string[] {
  if (demangle === undefined) return [];
  const names = new Set<string>();
  for (const symbol of functions.keys()) {
    const bare = demangle(symbol, false);
    if (bare !== symbol && bare.endsWith(`::${name}`)) names.add(bare);
  }
  return [...names].sort().slice(0, 4);
}
