import { toHex } from '../base/index.ts';
import { NONE, type Profile } from './profile.ts';

/** Name of a frame's function, or its address in hex where it has none. */
export function frameName(profile: Profile, frame: number): string {
  const symbol = profile.frames.symbol.at(frame);
  if (symbol !== NONE) return profile.strings.get(profile.symbols.name.at(symbol));
  const lo = profile.frames.addressLo.at(frame) >>> 0;
  const hi = profile.frames.addressHi.at(frame) >>> 0;
  return `0x${toHex(lo, hi).padStart(16, '0')}`;
}
