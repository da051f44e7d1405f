import { frameName, MODE_LETTERS, NONE, type Profile } from '../profile/index.ts';

/**
 * A function as reports tell functions apart: a symbol where there is one, else the single address.
 * Ids: symbol rows first, then frames without a symbol.
 */
export class Functions {
  private readonly profile: Profile;
  private readonly symbolCount: number;

  constructor(profile: Profile) {
    this.profile = profile;
    this.symbolCount = profile.symbols.length;
  }

  get size(): number {
    return this.symbolCount + this.profile.frames.length;
  }

  ofFrame(frame: number): number {
    const symbol = this.profile.frames.symbol.data[frame]!;
    return symbol === NONE ? this.symbolCount + frame : symbol;
  }

  name(id: number): string {
    const { profile, symbolCount } = this;
    if (id < symbolCount) return profile.strings.get(profile.symbols.name.at(id));
    return frameName(profile, id - symbolCount);
  }

  binary(id: number): number {
    const { profile, symbolCount } = this;
    return id < symbolCount ? profile.symbols.binary.at(id) : profile.frames.binary.at(id - symbolCount);
  }
}

/** perf's letter for where code runs: `.` user, `k` kernel, `H` hypervisor, `g` guest kernel, `u` guest user. */
export function modeLetter(mode: number): string {
  return MODE_LETTERS[mode] ?? '?';
}
