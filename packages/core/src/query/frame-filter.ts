import { NONE, type Profile } from '../profile/index.ts';
import type { Functions } from './functions.ts';

/** Which functions count. Absent: all. Both: a function must satisfy both. */
export interface FrameFilter {
  /** Names of binaries, as reports print them. */
  dsos?: ReadonlySet<string>;
  symbols?: ReadonlySet<string>;
}

/** What a sample without an address has in place of a binary and a function. */
export const NO_DSO = '[unknown]';
export const NO_SYMBOL = '[no address]';

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
  const accepts = (dso: string, symbol: () => string) =>
    (dsos === undefined || dsos.has(dso)) && (symbols === undefined || symbols.has(symbol()));
  const wanted = Uint8Array.from({ length: profile.frames.length }, (_, frame) => {
    const { name } = profile.binaries[profile.frames.binary.at(frame)]!;
    return accepts(name, () => functions.name(functions.ofFrame(frame))) ? 1 : 0;
  });
  const withoutAddress = accepts(NO_DSO, () => NO_SYMBOL);
  return (frame) => (frame === NONE ? withoutAddress : wanted[frame] === 1);
}
