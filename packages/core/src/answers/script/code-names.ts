import { hiOf, loOf } from '../../base/index.ts';
import type { SampleWalker, WalkedSample } from '../../profile/ingest/index.ts';
import { NONE, type Profile, recordedName } from '../../profile/tables/index.ts';

/** A function and the distance from its beginning (`%pS`), or the function alone (`%ps`). */
export type CodeForm = 'function' | 'offset';

const LETTERS: Readonly<Record<CodeForm, string>> = { function: 's', offset: 'S' };
const WAITING = /\0([sS])(\d{1,10}),([0-9a-f]{1,16})\0/g;

/**
 * Names of the kernel's code whose addresses tracepoints recorded. Symbols are looked up for many samples at
 * once, so a name may come after the text that it stands in. Until then the text has a mark in its place:
 *
 *     call_site=\0S17,ffffffff8123abcd\0 ptr=…  ──named()──>  call_site=copy_process+0x1d ptr=…
 */
export class CodeNames {
  readonly #profile: Profile;
  readonly #walker: Pick<SampleWalker, 'stackAt'>;
  /** By address: rows of the profile's frames. */
  readonly #frames = new Map<bigint, number>();

  constructor(profile: Profile, walker: Pick<SampleWalker, 'stackAt'>) {
    this.#profile = profile;
    this.#walker = walker;
  }

  /** The name, or what stands for it until symbols are known. */
  textOf(sample: WalkedSample, address: bigint, form: CodeForm): string {
    // Code of the kernel is in the upper half.
    if (address >> 63n === 0n) return hex(address);
    let frame = this.#frames.get(address);
    if (frame === undefined) {
      const stack = this.#walker.stackAt(sample, loOf(address), hiOf(address));
      frame = stack === NONE ? NONE : this.#profile.stacks.frame.at(stack);
      this.#frames.set(address, frame);
    }
    if (frame === NONE) return hex(address);
    return this.#name(frame, form) ?? `\0${LETTERS[form]}${frame},${address.toString(16)}\0`;
  }

  /** A text with the names that it waited for; addresses that have none stay. */
  named(text: string): string {
    if (!waitsForNames(text)) return text;
    return text.replace(
      WAITING,
      (_, letter: string, frame: string, address: string) =>
        this.#name(Number(frame), letter === LETTERS.offset ? 'offset' : 'function') ?? `0x${address}`,
    );
  }

  #name(frame: number, form: CodeForm): string | null {
    const { frames } = this.#profile;
    if (frame >= frames.length || frames.symbol.at(frame) === NONE) return null;
    const name = recordedName(this.#profile, frame);
    if (name === null) return null;
    return form === 'function' ? name : `${name}+${hex(BigInt(frames.symbolOffset.at(frame)))}`;
  }
}

export function waitsForNames(text: string): boolean {
  return text.includes('\0');
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}
