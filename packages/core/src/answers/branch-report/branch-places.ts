import { toHex } from '../../base/index.ts';
import { NONE, type Profile } from '../../profile/tables/index.ts';
import { Functions, modeLetter } from '../query/functions.ts';
import { SourceLines } from '../query/source-lines.ts';
import type { BranchFunction, BranchPlace } from './branch-answers.ts';

/** Frames as functions and places. */
export class PlaceNames {
  readonly functions: Functions;
  readonly #profile: Profile;
  readonly #lines: SourceLines;

  constructor(profile: Profile, shortPaths: boolean) {
    this.#profile = profile;
    this.functions = new Functions(profile);
    this.#lines = new SourceLines(profile, this.functions, shortPaths);
  }

  functionOf(frame: number): BranchFunction {
    const id = this.functions.ofFrame(frame);
    return {
      symbol: this.functions.name(id),
      dso: this.#profile.binaries[this.functions.binary(id)]!.name,
      mode: modeLetter(this.#profile.frames.mode.at(frame)),
    };
  }

  placeOf(frame: number): BranchPlace {
    const { frames } = this.#profile;
    const line = this.#lines.ofFrame(frame);
    return {
      ...this.functionOf(frame),
      offset: frames.symbol.at(frame) === NONE ? null : frames.symbolOffset.at(frame),
      address: `0x${toHex(frames.addressLo.at(frame) >>> 0, frames.addressHi.at(frame) >>> 0)}`,
      srcline: line === NONE ? null : this.#lines.text(line),
    };
  }
}
