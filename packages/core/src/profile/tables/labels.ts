import { toHex } from '../../base/index.ts';
import { NONE, type Profile } from './profile.ts';

/** All code of a map that no line of the map is about: addresses of their own would be noise. */
export const JIT_WITHOUT_NAMES = '[JIT without names]';

/** Name of a frame's function, or its address in hex where it has none. */
export function frameName(profile: Profile, frame: number): string {
  const symbol = profile.frames.symbol.at(frame);
  if (symbol !== NONE) return profile.strings.get(profile.symbols.name.at(symbol));
  const lo = profile.frames.addressLo.at(frame) >>> 0;
  const hi = profile.frames.addressHi.at(frame) >>> 0;
  return `0x${toHex(lo, hi).padStart(16, '0')}`;
}

/**
 * What the runtime or the file calls a frame's code: of a JIT compiler's copies each its
 * own. Null where it has no symbol.
 */
export function recordedName({ frames, jitCode, strings, symbols }: Profile, frame: number): string | null {
  const code = frames.jitCode.at(frame);
  if (code !== NONE) return strings.get(jitCode.recordedName.at(code));
  const symbol = frames.symbol.at(frame);
  return symbol === NONE ? null : strings.get(symbols.name.at(symbol));
}
