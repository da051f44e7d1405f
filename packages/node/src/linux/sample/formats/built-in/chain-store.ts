/**
 * Call chains, each kept once, in memory that is mapped into this process: two halves for each CPU, which
 * come and go with those of the counts (`count-table.ts`).
 *
 *   chains   [ 0 ][ length, mark, address, caller, caller ][ length, mark, address, caller ] ...     each as long as it is
 *   index    [ hash, place ] ...                                     found by the hash, or within a few places after it
 *   state    words used, chains
 *
 * A count has the hash in its key, so that only the first overflow under a key looks the place up.
 *
 * The kernel's own tables of stacks have a place of full length for each, lose a stack whose place
 * another has, are read by a system call a stack, and cannot be emptied while programs run. A chain
 * is compared by its hash of 63 bits: for 100,000 chains the chance that some two are taken for one
 * is one in two thousand million.
 */
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  type MemoryOperand,
  r0,
  r1,
  r2,
  r3,
  r9,
  type StackSlot,
  u64,
} from '../../../kernel/bpf/index.ts';
import type { Mapping } from '../../../kernel/sys/index.ts';
import type { FormatMaps, ProgramContext } from '../format.ts';
import { mappedArray } from '../mapped-array.ts';
import { type ChainParts, HEAD_WORDS, writeChain } from './call-chain.ts';
import { halfCount, wantSwap } from './halves.ts';

const Entry = bpfStruct({ hash: 'u64', place: 'u64' });
/** A cache line, so that no half waits for another's. */
const State = bpfStruct({ words: 'u64', chains: 'u64', unused: 48 });

/** Places that are looked at before the index counts as full. */
const PROBES = 32;
/**
 * The halves are swapped when so much of one is used; the rest is for the time until the other is drained.
 */
const SWAP_SHARE = 7 / 8;
/** Place 0 is none; a chain has its length in front. */
const FIRST_WORDS = 2;
/** Above every place: what is marked is used. */
const MARKED = 1n << 32n;

export interface ChainStoreShape {
  /** The halves are swapped when one has this many chains. */
  readonly swapAt: number;
  /** Places of its index, a power of 2: half full, hardly any chain looks at more than a few. */
  readonly maxChains: number;
  /** For all chains of a half, in words of 64 bits. */
  readonly maxWords: number;
  /** Of a chain, its marks among them; the outer ones are cut off. */
  readonly depth: number;
}

/** Of a chain, where nobody knows. */
const TYPICAL_WORDS = 32;
/** For the chains of all CPUs, and of one half of one: many CPUs have less each. */
const MEMORY_BYTES = 128 << 20;
const MOST_HALF_BYTES = 8 << 20;
const LEAST_HALF_BYTES = 1 << 20;

/** How many different chains on each CPU; 0: as many as there is memory for. */
export function chainStoreShape(maxStacks: number, depth: number): ChainStoreShape {
  const fairBytes = Math.min(MOST_HALF_BYTES, Math.max(LEAST_HALF_BYTES, MEMORY_BYTES / halfCount()));
  const wanted = maxStacks > 0 ? maxStacks : fairBytes / (8 * TYPICAL_WORDS);
  const swapAt = 2 ** Math.ceil(Math.log2(wanted));
  return { swapAt, maxChains: 2 * swapAt, depth, maxWords: Math.max(swapAt * TYPICAL_WORDS, 8 * depth) };
}

export function chainStoreMaps(shape: ChainStoreShape): BpfMapDefinition[] {
  return [chainMap(shape), indexMap(shape), stateMap()];
}

/**
 * A value is a half; behind what may be used there is room for the two parts of one chain
 * more, and for looking beyond.
 */
function chainMap({ maxWords, depth }: ChainStoreShape): BpfMapDefinition {
  return mappedArray('chains', 8 * (FIRST_WORDS + maxWords + 2 * depth + HEAD_WORDS), halfCount());
}

function indexMap({ maxChains }: ChainStoreShape): BpfMapDefinition {
  return mappedArray('chain_index', Entry.sizeBytes, halfCount() * maxChains);
}

function stateMap(): BpfMapDefinition {
  return mappedArray('chain_state', State.sizeBytes, halfCount());
}

/**
 * The call chain of an overflow, while its handler is assembled. r7 is the control of
 * the half that counts throughout.
 */
export class ChainStore {
  readonly #asm: BpfAssembler;
  readonly #shape: ChainStoreShape;
  readonly #parts: ChainParts;
  readonly #context: ProgramContext;
  /** Its hash; 0 where there is no room for any. */
  readonly #hash: MemoryOperand;
  readonly #state: StackSlot;
  /** Where it was written, behind all others; it stays there if it is new. */
  readonly #chain: StackSlot;
  readonly #place: StackSlot;
  readonly #half: StackSlot;

  constructor(
    asm: BpfAssembler,
    shape: ChainStoreShape,
    parts: ChainParts,
    hash: MemoryOperand,
    context: ProgramContext,
  ) {
    this.#asm = asm;
    this.#shape = shape;
    this.#parts = parts;
    this.#hash = hash;
    this.#context = context;
    this.#state = asm.stack('state of chains', 8);
    this.#chain = asm.stack('chain', 8);
    this.#place = asm.stack('place of the chain', 8);
    this.#half = asm.stack('half of the chain', 8);
  }

  /** Writes its hash. The number of the half is in memory. Calls: loses r0 to r5 and r9. */
  hash(half: MemoryOperand): void {
    const asm = this.#asm;
    const { maxWords, depth } = this.#shape;
    asm.mapLookup(stateMap(), half);
    asm.ifNull(r0, () => asm.dropRecord());
    asm.store(this.#state, r0);
    asm.load({ ...r1, bits: 32 }, half);
    asm.store(this.#half, r1);
    asm.load(r9, State.at(r0).words);
    const noRoom = () => {
      wantSwap(asm);
      asm.store(this.#hash, 0);
    };
    asm.if(r9, '>', maxWords - depth - 1, noRoom, () => {
      asm.mapLookup(chainMap(this.#shape), half);
      asm.ifNull(r0, () => asm.dropRecord());
      asm.add(r9, 1);
      asm.store(this.#place, r9);
      asm.shiftLeft(r9, 3);
      asm.add(r9, r0);
      asm.store(this.#chain, r9);
      writeChain(asm, { chain: this.#chain, half, depth, parts: this.#parts });
      asm.store(this.#hash, r1);
    });
  }

  /**
   * For a new row of counts: r1 is the place of the chain, 0 if there is none, and one bit
   * above it. Loses r0 to r5 and r9.
   */
  mark(): void {
    const asm = this.#asm;
    const { swapAt, maxChains, maxWords } = this.#shape;
    const index = asm.stack('index of a chain', 4);
    asm.load(r1, this.#hash);
    asm.if(
      r1,
      '==',
      0,
      () => this.#withoutChain(),
      () => {
        asm.repeat(r9, PROBES, (loop) => {
          asm.load(r1, this.#hash);
          asm.shiftRight(r1, 32);
          asm.add(r1, r9);
          asm.and(r1, maxChains - 1);
          asm.load(r2, this.#half);
          asm.multiply(r2, maxChains);
          asm.add(r1, r2);
          asm.store(index, { ...r1, bits: 32 });
          asm.mapLookup(indexMap(this.#shape), index);
          asm.ifNull(r0, () => asm.dropRecord());
          const entry = Entry.at(r0);
          asm.load(r1, this.#hash);
          asm.load(r2, entry.hash);
          asm.if(r1, '==', r2, () => {
            asm.load(r1, entry.place);
            asm.store(this.#place, r1);
            loop.break();
          });
          asm.if(r2, '!=', 0, () => loop.continue());
          asm.store(entry.hash, r1);
          asm.load(r1, this.#place);
          asm.store(entry.place, r1);
          asm.load(r2, this.#chain);
          asm.load(r2, u64(r2, 0));
          asm.add(r1, r2);
          asm.load(r3, this.#state);
          asm.store(State.at(r3).words, r1);
          asm.load(r2, State.at(r3).chains);
          asm.add(r2, 1);
          asm.store(State.at(r3).chains, r2);
          asm.if(r1, '>', Math.floor(maxWords * SWAP_SHARE), () => wantSwap(asm));
          asm.if(r2, '>', swapAt, () => wantSwap(asm));
          loop.break();
        });
        // Every place was another's.
        asm.if(r9, '==', PROBES, () => this.#withoutChain());
      },
    );
    asm.load(r1, this.#place);
    asm.move(r2, MARKED);
    asm.or(r1, r2);
  }

  #withoutChain(): void {
    this.#asm.store(this.#place, 0);
    this.#countMissing();
  }

  #countMissing(): void {
    wantSwap(this.#asm);
    this.#context.countLoss('stack-collision');
  }

  /** For a row that was there, whose mark is in r1. Loses r1 and r2. */
  again(): void {
    this.#asm.if({ ...r1, bits: 32 }, '==', 0, () => this.#countMissing());
  }
}

/** Our side. */
export class ChainReader implements Disposable {
  readonly #shape: ChainStoreShape;
  readonly #maps: readonly BpfMap[];
  readonly #mappings: Mapping[] = [];

  constructor(maps: FormatMaps, shape: ChainStoreShape) {
    this.#shape = shape;
    this.#maps = chainStoreMaps(shape).map(({ name }) => maps.get(name)!);
    try {
      for (const map of this.#maps) this.#mappings.push(map.mapValues('write'));
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** All chains of a half, in words of 32 bits. *Borrowed*: until it is emptied. */
  take(half: number): Uint32Array {
    const [chains, , state] = this.#mappings as [Mapping, Mapping, Mapping];
    const used = 1 + Number(new BigUint64Array(state.buffer, half * State.sizeBytes, 1)[0]);
    this.#maps[0]!.bytesRead += 8 * used;
    const halfBytes = chainMap(this.#shape).valueSizeBytes;
    return new Uint32Array(chains.buffer, half * halfBytes, 2 * used);
  }

  /** Before it is given back. */
  empty(half: number): void {
    const [, index, state] = this.#mappings as [Mapping, Mapping, Mapping];
    const indexBytes = this.#shape.maxChains * Entry.sizeBytes;
    new Uint8Array(index.buffer, half * indexBytes, indexBytes).fill(0);
    new Uint8Array(state.buffer, half * State.sizeBytes, State.sizeBytes).fill(0);
  }

  [Symbol.dispose](): void {
    for (const mapping of this.#mappings) mapping.close();
  }
}
