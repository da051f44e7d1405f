import { jitCodeName } from '../../code/jit/index.ts';
import { NONE, type Profile } from '../../profile/tables/index.ts';
import type { Functions } from './functions.ts';

/** Which functions count. Absent: all. Both: a function must satisfy both. */
export interface FrameFilter {
  /** Names of binaries, as reports print them; `[JIT]` is the compiled code of all processes. */
  dsos?: ReadonlySet<string>;
  /**
   * Names of functions, as reports print them. Of JavaScript also the name alone (`multiply`) or with its
   * place (`multiply /app/calc.js:1:18`); a mark of V8's tiers, as in perf's names, is no part of it.
   */
  symbols?: ReadonlySet<string>;
}

/** What a sample without an address has in place of a binary and a function. */
export const NO_DSO = '[unknown]';
export const NO_SYMBOL = '[no address]';
/** Compiled code has a name with its process in it, `[JIT] tid 12`; this is that of all. */
const ALL_JIT = '[JIT]';

export function hasFrameFilter({ dsos, symbols }: FrameFilter): boolean {
  return dsos !== undefined || symbols !== undefined;
}

/** Whether a frame (`NONE`: no address) is in a wanted function; names are compared once per frame. */
export function frameTest(
  profile: Profile,
  functions: Functions,
  filter: FrameFilter,
): (frame: number) => boolean {
  if (!hasFrameFilter(filter)) return () => true;
  const { dsos, symbols } = filter;
  const isWantedSymbol = symbols === undefined ? () => true : symbolTest(functions, symbols);
  const isWantedDso = (dso: string, kind = '') =>
    dsos === undefined || dsos.has(dso) || (kind === 'jit' && dsos.has(ALL_JIT));
  const wanted = Uint8Array.from({ length: profile.frames.length }, (_, frame) => {
    const { name, kind } = profile.binaries[profile.frames.binary.at(frame)]!;
    return isWantedDso(name, kind) && isWantedSymbol(functions.ofFrame(frame)) ? 1 : 0;
  });
  const withoutAddress = isWantedDso(NO_DSO) && (symbols === undefined || symbols.has(NO_SYMBOL));
  return (frame) => (frame === NONE ? withoutAddress : wanted[frame] === 1);
}

/** Whether a function is one of some names, in any form that reports print it in. */
export function symbolTest(functions: Functions, symbols: ReadonlySet<string>): (id: number) => boolean {
  // Names of copies, as perf prints them: their functions.
  const names = new Set([...symbols, ...[...symbols].map((symbol) => jitCodeName(symbol).name)]);
  return (id) => {
    const name = functions.name(id);
    if (symbols.has(name) || symbols.has(withoutInlinedMark(name))) return true;
    if (!functions.isJit(id)) return false;
    if (names.has(name)) return true;
    const place = functions.place(id);
    if (place === null) return false;
    // `multiply`, `JS:multiply` as the row begins, and `multiply /app/calc.js:1:18`.
    const kindEnd = name.indexOf(':') + 1;
    const forms = [place.name, name.slice(0, kindEnd) + place.name, name.slice(kindEnd)];
    return forms.some((form) => symbols.has(form));
  };
}

/** Of functions of programs that the compiler inlined: the name alone, as in perf. */
function withoutInlinedMark(name: string): string {
  return name.replace(/ \(inlined\)$/, '');
}
