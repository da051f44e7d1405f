import { hiOf, loOf, toSignedFloat } from '../../base/index.ts';
import type { BinaryCode, CodeFile, SampleWalker, WalkedSample } from '../../profile/ingest/index.ts';
import { NONE, type Profile } from '../../profile/tables/index.ts';
import { type StackEntry, stackEntries } from './branch-entries.ts';

/**
 * Tells instructions apart: a decoder is handed in, core has none.
 *
 * @internal
 */
export interface InstructionReader {
  /** Bytes of the instruction at `offset`; 0 where it is none, or goes beyond `end`. */
  lengthAt(bytes: Uint8Array, offset: number, end: number, is64Bit: boolean): number;
  /** Whether the instruction that was measured last is a branch of any kind. */
  readonly isBranch: boolean;
}

/** A longer block is taken for a hole in the records: 16 KiB less the longest instruction, as perf. */
const MOST_BLOCK_BYTES = 16_369n;
const LONGEST_INSTRUCTION = 15;
/** So far perf looks for a branch that the stack lacks. */
const SEARCHED_BYTES = 128n;
const KERNEL_BIT = 0x8000_0000_0000_0000n;

/** One instruction of a block, or a remark in its place. */
export type BlockLine =
  | { kind: 'place'; frame: number }
  | { kind: 'instruction'; ip: bigint; frame: number; bytes: Uint8Array; length: number }
  | {
      kind: 'jump';
      ip: bigint;
      frame: number;
      bytes: Uint8Array;
      length: number;
      entry: StackEntry;
      instructions: number;
    }
  | { kind: 'remark'; text: string };

interface PendingBlocks {
  ip: bigint;
  entries: StackEntry[];
  /** By entry: frames of where the branch was and where it went; and that of the sample. */
  from: number[];
  to: number[];
  ipFrame: number;
  lines: BlockLine[];
}

/** Code of a part of the address space, from `start` on. */
interface Block {
  start: bigint;
  frame: number;
  /** Place of `start` in the file. */
  offset: number;
  bytes: Uint8Array;
  is64Bit: boolean;
}

/**
 * The instructions between the branches of a stack, from its oldest branch to the sample, as perf walks
 * them. Code is read and instructions get their frames in `load`, symbols are looked up after that.
 */
export class BranchBlocks {
  readonly #walker: SampleWalker;
  readonly #profile: Profile;
  readonly #code: BinaryCode;
  readonly #reader: InstructionReader;
  readonly #littleEndian: boolean;
  #pending: PendingBlocks[] = [];

  constructor(
    walker: SampleWalker,
    profile: Profile,
    code: BinaryCode,
    reader: InstructionReader,
    littleEndian: boolean,
  ) {
    this.#walker = walker;
    this.#profile = profile;
    this.#code = code;
    this.#reader = reader;
    this.#littleEndian = littleEndian;
  }

  /** The lines of a sample: filled by `load`. */
  linesOf(sample: WalkedSample): BlockLine[] {
    const entries = stackEntries(sample, this.#littleEndian);
    const frameAt = (lo: number, hi: number) =>
      this.#profile.stacks.frame.at(this.#walker.stackAt(sample, lo, hi));
    const { ipLo, ipHi } = sample.fields;
    const lines: BlockLine[] = [];
    if (entries.length === 0) return lines;
    this.#pending.push({
      ip: (BigInt(ipHi) << 32n) | BigInt(ipLo),
      entries,
      from: entries.map(({ from }) => frameAt(loOf(from), hiOf(from))),
      to: entries.map(({ to }) => frameAt(loOf(to), hiOf(to))),
      ipFrame: frameAt(ipLo, ipHi),
      lines,
    });
    return lines;
  }

  async load(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    for (const one of pending) await this.#walk(one);
  }

  async #walk({ ip, entries, from, to, ipFrame, lines }: PendingBlocks): Promise<void> {
    const oldest = entries.length - 1;
    const first = await this.#block(entries[oldest]!.from, entries[oldest]!.from, from[oldest]!);
    // Where it was come to is not known.
    if (first !== null) this.#jump(lines, first, first.start, entries[oldest]!, 0);
    for (let place = oldest - 1; place >= 0; place--) {
      const start = entries[place + 1]!.to;
      const frame = to[place + 1]!;
      let end = entries[place]!.from;
      // Filters leave out where the kernel was entered: the branch after it tells where it was left.
      if (start !== 0n && end !== 0n && isKernel(start) !== isKernel(end) && place > 0)
        end = entries[--place]!.from;
      const block = await this.#block(start, end, frame);
      if (block !== null) this.#straight(lines, block, end, entries[place]!);
    }
    if (entries[0]!.from === ip || entries[0]!.flags.isAbort) return;
    await this.#toSample(lines, entries[0]!.to, to[0]!, ip, ipFrame);
  }

  /** From where a branch went to the next one. */
  #straight(lines: BlockLine[], block: Block, end: bigint, entry: StackEntry): void {
    let instructions = 0;
    let at = 0;
    const wanted = Number(end - block.start);
    while (at < block.bytes.length) {
      const ip = block.start + BigInt(at);
      if (ip === end) {
        this.#jump(lines, block, ip, entry, ++instructions);
        break;
      }
      const length = this.#instruction(lines, block, at);
      if (length === 0) break;
      at += length;
      instructions++;
    }
    if (at !== wanted) lines.push({ kind: 'remark', text: '\tmismatch of LBR data and executable' });
  }

  /** From where the newest branch went to the sample: a branch or two may be missing there. */
  async #toSample(
    lines: BlockLine[],
    start: bigint,
    frame: number,
    ip: bigint,
    ipFrame: number,
  ): Promise<void> {
    const end = ip < start ? start + SEARCHED_BYTES : ip;
    lines.push({ kind: 'place', frame });
    const block = await this.#block(start, end, frame);
    if (block === null) {
      const last = await this.#block(ip, ip, ipFrame);
      if (last !== null) this.#instruction(lines, last, 0, false);
      return;
    }
    for (let at = 0; at <= Number(end - start); ) {
      const length = this.#instruction(lines, block, at, false);
      if (length === 0) break;
      if (this.#reader.isBranch && start + BigInt(at) !== ip) {
        lines.push({ kind: 'remark', text: '\t... not reaching sample ...' });
        break;
      }
      at += length;
    }
  }

  /** Adds a line for the instruction, and gives its length: 0 where it is none. */
  #instruction(lines: BlockLine[], block: Block, at: number, hasPlace = true): number {
    const { bytes, start, is64Bit } = block;
    const length = this.#reader.lengthAt(bytes, at, bytes.length, is64Bit);
    const frame = hasPlace ? this.#frameAt(block, at) : NONE;
    const own = bytes.slice(at, at + length);
    lines.push({ kind: 'instruction', ip: start + BigInt(at), frame, bytes: own, length });
    return length;
  }

  #jump(lines: BlockLine[], block: Block, ip: bigint, entry: StackEntry, instructions: number): void {
    const { bytes, is64Bit } = block;
    const at = Number(ip - block.start);
    const length = this.#reader.lengthAt(bytes, at, bytes.length, is64Bit);
    const own = bytes.slice(at, at + length);
    const frame = this.#frameAt(block, at);
    lines.push({ kind: 'jump', ip, frame, bytes: own, length, entry, instructions });
  }

  #frameAt({ frame, offset }: Block, at: number): number {
    const place = BigInt(offset + at);
    return at === 0 ? frame : this.#walker.frameBeside(frame, loOf(place), hiOf(place));
  }

  /** null where there is no code, or no way from one to the other. */
  async #block(start: bigint, end: bigint, frame: number): Promise<Block | null> {
    if (start === 0n || end === 0n || isKernel(start) !== isKernel(end)) return null;
    const size = BigInt.asUintN(64, end - start);
    if (size > MOST_BLOCK_BYTES) return null;
    const { frames } = this.#profile;
    const file: CodeFile | null = await this.#code.of(frames.binary.at(frame));
    if (file === null) return null;
    const offset = toSignedFloat(frames.addressLo.at(frame) >>> 0, frames.addressHi.at(frame));
    const bytes = await file.read(offset, Number(size) + LONGEST_INSTRUCTION);
    return bytes.length === 0 ? null : { start, frame, offset, bytes, is64Bit: file.is64Bit };
  }
}

function isKernel(address: bigint): boolean {
  return (address & KERNEL_BIT) !== 0n;
}
