import { parseScriptName, TIER_NAMES } from '../../code/jit/index.ts';
import {
  frameName,
  JIT_WITHOUT_NAMES,
  MODE_LETTERS,
  NONE,
  type Profile,
} from '../../profile/tables/index.ts';

/** Where a function of JavaScript begins, as V8 says it; WebAssembly has its index in place of a file. */
export interface FunctionPlace {
  name: string;
  file: string | null;
  line: number | null;
  column: number | null;
}

/**
 * A function as reports tell functions apart: a symbol where there is one, else the single address; addresses
 * of JIT code that no line of its map is about are one function. Ids: symbol rows first, then frames without
 * a symbol, then binaries of JIT code.
 */
export class Functions {
  readonly #profile: Profile;
  readonly #symbolCount: number;
  readonly #frameCount: number;

  constructor(profile: Profile) {
    this.#profile = profile;
    this.#symbolCount = profile.symbols.length;
    this.#frameCount = profile.frames.length;
  }

  ofFrame(frame: number): number {
    const { frames, binaries } = this.#profile;
    const symbol = frames.symbol.data[frame]!;
    if (symbol !== NONE) return symbol;
    const binary = frames.binary.data[frame]!;
    return this.#symbolCount + (binaries[binary]!.kind === 'jit' ? this.#frameCount + binary : frame);
  }

  name(id: number): string {
    const profile = this.#profile;
    const symbolCount = this.#symbolCount;
    const frameCount = this.#frameCount;
    if (id < symbolCount) return profile.strings.get(profile.symbols.name.at(id));
    return id < symbolCount + frameCount ? frameName(profile, id - symbolCount) : JIT_WITHOUT_NAMES;
  }

  binary(id: number): number {
    const profile = this.#profile;
    const symbolCount = this.#symbolCount;
    const frameCount = this.#frameCount;
    if (id < symbolCount) return profile.symbols.binary.at(id);
    return id < symbolCount + frameCount
      ? profile.frames.binary.at(id - symbolCount)
      : id - symbolCount - frameCount;
  }

  isJit(id: number): boolean {
    return this.#profile.binaries[this.binary(id)]!.kind === 'jit';
  }

  /** The parts of a JavaScript or WebAssembly function's name; null for all others. */
  place(id: number): FunctionPlace | null {
    if (id >= this.#symbolCount || !this.isJit(id)) return null;
    const script = parseScriptName(this.name(id));
    if (script === null) return null;
    const { name, file, line, column } = script;
    return { name, file: file === '' ? null : file, line, column };
  }
}

/**
 * perf's letter for where code runs: `.` user, `k` kernel, `H` hypervisor, `g` guest kernel, `u` guest user.
 */
export function modeLetter(mode: number): string {
  return MODE_LETTERS[mode] ?? '?';
}

/** The compiler that made a frame's code, as its runtime calls it; empty where that is not known. */
export function tierOf({ frames, jitCode, strings }: Profile, frame: number): string {
  const code = frames.jitCode.at(frame);
  if (code === NONE) return '';
  const tier = strings.get(jitCode.tier.at(code));
  return TIER_NAMES[tier] ?? tier;
}

/** Where a frame's copy of its function begins, `0x7f41d2c04a20`; empty where it is no JIT code. */
export function copyOf({ frames, jitCode }: Profile, frame: number): string {
  const code = frames.jitCode.at(frame);
  return code === NONE ? '' : `0x${BigInt.asUintN(64, BigInt(jitCode.start.at(code))).toString(16)}`;
}
