import { type Block, type BlockCounts, countsFrom, type Exit, type Position, positionIn } from './block.ts';
import { Emitter, fits32 } from './emitter.ts';
import { emitLookup, type LogPlace } from './routines.ts';
import { LEFT_TO_TRACER } from './system-calls.ts';
import { MOST_BLOCK_BYTES, type Translation, translate } from './translate.ts';
import {
  BUCKET_COUNT,
  BUCKETS,
  CODE,
  COUNTERS,
  MOST_BLOCKS,
  MOST_NODES,
  NODE_BYTES,
  NODES,
  SYSTEM_CALLS,
  TARGET,
  ZONE_BYTES,
} from './zone-layout.ts';

/** Memory of the target. */
export interface TargetMemory {
  /** How many bytes could be read. */
  read(address: number, into: Uint8Array): number;
  write(address: number, bytes: Uint8Array): void;
}

const scratch = new Emitter(64);
const PADDING = new Uint8Array(16).fill(0xcc);
const ROUTINE_BYTES = 256;
const FRESH_BYTES = 1 << 16;
/** Trampolines to other zones. */
const FAR_JUMP_BYTES = 16;

/** Translated code in one zone, and what the tracer knows of it. */
export class CodeZone {
  readonly base: number;
  readonly #memory: TargetMemory;
  #lookup = 0;
  #missed = 0;
  #lookupEnd = 0;
  #codeEnd = 0;
  readonly #blocks: Block[] = [];
  #exits = new Map<number, Exit>();
  #bucketHeads = new Map<number, number>();
  #nodeCount = 0;
  #targets = new Set<number>();
  /** Exits by the address in the program that has no block yet. */
  #waiting = new Map<number, Exit[]>();
  /** What was taken from the counters so far. */
  #taken: number[] = [];
  /** Code that is not in memory yet: the bytes before `#codeEnd`. */
  readonly #fresh = new Uint8Array(FRESH_BYTES);
  #freshSize = 0;

  private constructor(base: number, memory: TargetMemory) {
    this.base = base;
    this.#memory = memory;
  }

  /** `base` is fresh memory of ZONE_BYTES. */
  static create(base: number, memory: TargetMemory): CodeZone {
    const zone = new CodeZone(base, memory);
    const classes = new Uint8Array(512);
    for (const number of LEFT_TO_TRACER) classes[number] = 1;
    memory.write(base + SYSTEM_CALLS, classes);
    const out = new Emitter(ROUTINE_BYTES).begin(base + CODE);
    zone.#lookup = out.address;
    zone.#missed = emitLookup(out, base);
    zone.#lookupEnd = out.address;
    out.align(16);
    zone.#codeEnd = out.address;
    memory.write(base + CODE, out.code);
    return zone;
  }

  /** The same zone in the memory of a forked child: its counters have what the parent's had. */
  copyFor(memory: TargetMemory): CodeZone {
    this.finish();
    const copy = new CodeZone(this.base, memory);
    copy.#lookup = this.#lookup;
    copy.#missed = this.#missed;
    copy.#lookupEnd = this.#lookupEnd;
    copy.#codeEnd = this.#codeEnd;
    copy.#blocks.push(...this.#blocks);
    copy.#exits = new Map(this.#exits);
    copy.#bucketHeads = new Map(this.#bucketHeads);
    copy.#nodeCount = this.#nodeCount;
    copy.#targets = new Set(this.#targets);
    copy.#taken = [...this.#taken];
    for (const [pc, exits] of this.#waiting) copy.#waiting.set(pc, [...exits]);
    return copy;
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get isFull(): boolean {
    return (
      this.#blocks.length >= MOST_BLOCKS ||
      this.#nodeCount >= MOST_NODES ||
      this.#codeEnd + MOST_BLOCK_BYTES + FAR_JUMP_BYTES > this.base + ZONE_BYTES
    );
  }

  has(address: number): boolean {
    return address >= this.base && address < this.base + ZONE_BYTES;
  }

  exitAt(address: number): Exit | undefined {
    return this.#exits.get(address);
  }

  /** The block whose trap for a full log is at `address`; null: there is none. */
  blockBehindTrap(address: number): Block | null {
    const block = this.#blockAt(address + 1);
    return block?.start === address + 1 ? block : null;
  }

  isMissed(address: number): boolean {
    return address === this.#missed;
  }

  /** Where the indirect branch goes that led to a miss. */
  missedTarget(): number {
    const bytes = new Uint8Array(8);
    this.#memory.read(this.base + TARGET, bytes);
    const view = new DataView(bytes.buffer);
    return view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  }

  /**
   * Translates what is at `pc`; `known` are all blocks, by address in the program. All exits that lead to the
   * new block, and those of its own that lead to a known one, are jumps from now on. `null`: the first
   * instruction cannot be translated. With `log`, the block's number is logged instead of counted.
   * Before a thread goes on: `finish`.
   */
  add(
    source: Uint8Array,
    pc: number,
    known: ReadonlyMap<number, Block>,
    log: LogPlace | null = null,
  ): Translation | null {
    const translation = this.#translate(source, pc, log);
    if (translation === null) return null;
    const { block, code, exits } = translation;
    this.#append(code);
    this.#append(PADDING.subarray(0, (16 - (block.end % 16)) % 16));
    this.#blocks.push(block);
    this.#taken.push(0);
    for (const exit of exits) {
      this.#exits.set(exit.address, exit);
      if (exit.kind !== 'direct') continue;
      const target = exit.pc === pc ? block : known.get(exit.pc);
      if (target !== undefined) this.link(exit, target);
      else {
        const others = this.#waiting.get(exit.pc);
        if (others === undefined) this.#waiting.set(exit.pc, [exit]);
        else others.push(exit);
      }
    }
    for (const exit of this.#waiting.get(pc) ?? []) this.link(exit, block);
    this.#waiting.delete(pc);
    return translation;
  }

  #append(code: Uint8Array): void {
    if (this.#freshSize + code.length > FRESH_BYTES) this.finish();
    this.#fresh.set(code, this.#freshSize);
    this.#freshSize += code.length;
    this.#codeEnd += code.length;
  }

  /** All code is in memory. */
  finish(): void {
    if (this.#freshSize === 0) return;
    this.#memory.write(this.#codeEnd - this.#freshSize, this.#fresh.subarray(0, this.#freshSize));
    this.#freshSize = 0;
  }

  #patch(address: number, bytes: Uint8Array): void {
    const at = address - (this.#codeEnd - this.#freshSize);
    if (at >= 0) this.#fresh.set(bytes, at);
    else this.#memory.write(address, bytes);
  }

  #translate(source: Uint8Array, pc: number, log: LogPlace | null): Translation | null {
    return translate(source, pc, {
      zone: this.base,
      start: this.#codeEnd,
      counter: this.base + COUNTERS + 8 * this.#blocks.length,
      lookup: this.#lookup,
      log,
    });
  }

  /** From now on `exit` goes to `block` without a trap. */
  link(exit: Exit, block: Block): void {
    const target = this.#reach(exit.address, block.start);
    const jump = scratch.begin(exit.address);
    jump.bytes(0xe9);
    jump.distance(target);
    this.#patch(exit.address, jump.code);
    if (exit.jumpAt === 0) return;
    const distance = scratch.begin(exit.jumpAt);
    distance.distance(target);
    this.#patch(exit.jumpAt, distance.code);
  }

  /** A place near `from` that leads to `target`. */
  #reach(from: number, target: number): number {
    if (fits32(target - from - 5)) return target;
    const trampoline = scratch.begin(this.#codeEnd);
    // jmp *0(%rip), and the address
    trampoline.bytes(0xff, 0x25, 0, 0, 0, 0);
    trampoline.address64(target);
    trampoline.bytes(0xcc, 0xcc);
    this.#append(trampoline.code);
    return trampoline.base;
  }

  /** From now on indirect branches of this zone to `pc` go to `block` without a trap. */
  addTarget(pc: number, block: Block): void {
    if (this.#targets.has(pc) || this.#nodeCount >= MOST_NODES) return;
    this.#targets.add(pc);
    const bucket = pc % BUCKET_COUNT;
    const head = this.#bucketHeads.get(bucket) ?? 0;
    const address = this.base + NODES + NODE_BYTES * this.#nodeCount++;
    const node = scratch.begin(address);
    node.address64(pc);
    node.address64(block.start);
    node.address64(head);
    node.address64(0);
    this.#memory.write(address, node.code);
    const newHead = scratch.begin(address);
    newHead.address64(address);
    this.#memory.write(this.base + BUCKETS + 8 * bucket, newHead.code);
    this.#bucketHeads.set(bucket, address);
  }

  /** What a thread that stands at `address` in this zone is about to do. */
  positionAt(address: number): Position {
    if (address >= this.base + CODE && address < this.#lookupEnd) {
      const isClean = address === this.#missed;
      const pc = isClean ? this.missedTarget() : 0;
      return { pc, block: null, isCounted: true, done: 0, isClean, owes: 'nothing' };
    }
    const block = this.#blockAt(address);
    if (block === null) return { pc: 0, block, isCounted: true, done: 0, isClean: false, owes: 'nothing' };
    return positionIn(block, address);
  }

  #blockAt(address: number): Block | null {
    let [low, high] = [0, this.#blocks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#blocks[middle]!.start <= address) low = middle + 1;
      else high = middle;
    }
    const block = this.#blocks[low - 1];
    return block !== undefined && address < block.end ? block : null;
  }

  /** What blocks have counted since they were asked last: nothing, when the memory is gone. */
  take(add: (counts: BlockCounts, times: number) => void): void {
    const words = new Uint32Array(2 * this.#blocks.length);
    const size = this.#memory.read(this.base + COUNTERS, new Uint8Array(words.buffer));
    if (size < words.byteLength) return;
    for (let index = 0; index < this.#blocks.length; index++) {
      const count = words[2 * index]! + words[2 * index + 1]! * 2 ** 32;
      const times = count - this.#taken[index]!;
      if (times === 0) continue;
      this.#taken[index] = count;
      add(countsFrom(this.#blocks[index]!, 0), times);
    }
  }

  /** All blocks are gone. What they have counted must have been taken. */
  clear(): void {
    const zero = new Uint8Array(8);
    for (const bucket of this.#bucketHeads.keys()) this.#memory.write(this.base + BUCKETS + 8 * bucket, zero);
    this.#memory.write(this.base + COUNTERS, new Uint8Array(8 * this.#blocks.length));
    this.#bucketHeads.clear();
    this.#exits.clear();
    this.#waiting.clear();
    this.#targets.clear();
    this.#blocks.length = 0;
    this.#taken = [];
    this.#nodeCount = 0;
    this.#freshSize = 0;
    this.#codeEnd = this.#lookupEnd + ((16 - (this.#lookupEnd % 16)) % 16);
  }
}
