import { hiOf, loOf, printable, toHex } from '../../base/index.ts';
import type { SampleWalker, WalkedSample } from '../../profile/ingest/index.ts';
import { NONE, type Profile, recordedName } from '../../profile/tables/index.ts';
import { flagsTail, hexText, type StackEntry, stackEntries } from './branch-entries.ts';
import type { ScriptField } from './fields.ts';

/** The branches of a sample whose text waits for the names of its places. */
interface PlacedEntry {
  entry: StackEntry;
  /** Rows of the stack table. */
  fromStack: number;
  toStack: number;
}

/**
 * Branch stacks in perf's three forms, of which a line has one:
 *
 *     brstack      ` 0xFROM/0xTO/P/-/-/CYCLES/TYPE `
 *     brstacksym   `work+0x12/inner+0x0/P/-/-/CYCLES/TYPE `
 *     brstackoff   as brstack, with offsets in the binaries' files (of the kernel: in its image)
 *
 * With `dso`, the binary stands behind each place.
 */
export class BranchPlaces {
  readonly #walker: SampleWalker;
  readonly #profile: Profile;
  readonly #littleEndian: boolean;

  constructor(walker: SampleWalker, profile: Profile, littleEndian: boolean) {
    this.#walker = walker;
    this.#profile = profile;
    this.#littleEndian = littleEndian;
  }

  /** The text of a sample's branches, to be made once symbols are known. */
  textOf(sample: WalkedSample, fields: ReadonlySet<ScriptField>): () => string {
    const entries = stackEntries(sample, this.#littleEndian);
    const form = fields.has('brstack') ? 'brstack' : fields.has('brstacksym') ? 'brstacksym' : 'brstackoff';
    const hasDso = fields.has('dso');
    if (form === 'brstack' && !hasDso) {
      const text = entries
        .map(({ from, to, flags }) => ` 0x${hexText(from)}/0x${hexText(to)}${flagsTail(flags)}`)
        .join('');
      return () => text;
    }
    const stackAt = (address: bigint) => this.#walker.stackAt(sample, loOf(address), hiOf(address));
    const placed = entries.map(
      (entry): PlacedEntry => ({ entry, fromStack: stackAt(entry.from), toStack: stackAt(entry.to) }),
    );
    return () =>
      placed
        .map(({ entry, fromStack, toStack }) => {
          const from = this.#place(form, entry.from, fromStack, hasDso);
          const to = this.#place(form, entry.to, toStack, hasDso);
          return `${form === 'brstacksym' ? '' : ' '}${from}/${to}${flagsTail(entry.flags)}`;
        })
        .join('');
  }

  #place(form: ScriptField, address: bigint, stack: number, hasDso: boolean): string {
    const frame = this.#profile.stacks.frame.at(stack);
    const text =
      form === 'brstacksym'
        ? this.#name(frame)
        : `0x${form === 'brstack' ? hexText(address) : this.#offset(frame)}`;
    return hasDso ? `${text}(${printable(this.#binaryOf(frame).path)})` : text;
  }

  #binaryOf(frame: number): Profile['binaries'][number] {
    return this.#profile.binaries[this.#profile.frames.binary.at(frame)]!;
  }

  #name(frame: number): string {
    const { frames } = this.#profile;
    if (frames.symbol.at(frame) === NONE) return '[unknown]';
    const name = printable(recordedName(this.#profile, frame) ?? '[unknown]');
    return `${name}+0x${frames.symbolOffset.at(frame).toString(16)}`;
  }

  /** Frames of programs and libraries have their place in the file; those of the kernel, where it was. */
  #offset(frame: number): string {
    const { frames } = this.#profile;
    const lo = frames.addressLo.at(frame) >>> 0;
    const hi = frames.addressHi.at(frame) >>> 0;
    const start = this.#walker.binaries.known[frames.binary.at(frame)]!.start;
    if (this.#binaryOf(frame).kind !== 'kernel') return toHex(lo, hi);
    const address = (BigInt(hi) << 32n) | BigInt(lo);
    return hexText(address - BigInt.asUintN(64, BigInt(start)));
  }
}
