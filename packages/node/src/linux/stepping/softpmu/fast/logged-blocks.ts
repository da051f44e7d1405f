import { BlockTable } from '@counterpoint/trace/intel-pt';
import { type Block, countsFrom, sourceBytes } from '../../code-cache/index.ts';
import type { NextInstruction } from '../next-instruction.ts';
import type { SoftCounts } from '../soft-counts.ts';

/**
 * What a block counts as, in one number that can be added: instructions, and in units of these its branches,
 * conditional jumps and calls. Of a slice, each has room: a block has 64 instructions and one branch at most.
 */
const BRANCHES = 2 ** 17;
const CONDITIONALS = 2 ** 28;
const CALLS = 2 ** 39;
const SLICE = 1024;

/** The blocks of a log, by their numbers in it. */
export class LoggedBlocks {
  readonly table: BlockTable;
  readonly #blocks: Block[];
  #sums: Float64Array;
  /** Made when somebody asks. */
  readonly #steps: NextInstruction[][] = [];

  constructor(from: LoggedBlocks | null = null) {
    this.table = from?.table.copy() ?? new BlockTable();
    this.#blocks = from === null ? [] : [...from.#blocks];
    this.#sums = from === null ? noSums(256) : from.#sums.slice();
  }

  get size(): number {
    return this.table.size;
  }

  add(block: Block): void {
    const id = this.table.add(block.pc, block.pc + sourceBytes(block), block.kinds.at(-1)!);
    this.#blocks.push(block);
    if (id === this.#sums.length) {
      const grown = noSums(2 * id);
      grown.set(this.#sums);
      this.#sums = grown;
    }
    const { instructions, branches, conditional, calls } = countsFrom(block, 0);
    this.#sums[id] = instructions + branches * BRANCHES + conditional * CONDITIONALS + calls * CALLS;
  }

  blockOf(id: number): Block {
    return this.#blocks[id]!;
  }

  /** Its instructions. */
  stepsOf(id: number): readonly NextInstruction[] {
    return (this.#steps[id] ??= stepsOf(this.#blocks[id]!));
  }

  /** Adds up what the first `count` of `ids` have executed. */
  addTo(counts: SoftCounts, ids: Int32Array, count: number): void {
    for (let from = 0; from < count; from += SLICE) {
      const sum = this.#sumOf(ids, from, Math.min(count, from + SLICE));
      if (Number.isNaN(sum))
        throw new Error('the log of blocks has numbers that no block has: the program wrote there');
      counts.instructions += sum % BRANCHES;
      counts.branches += Math.floor(sum / BRANCHES) % (CONDITIONALS / BRANCHES);
      counts.conditional += Math.floor(sum / CONDITIONALS) % (CALLS / CONDITIONALS);
      counts.calls += Math.floor(sum / CALLS);
    }
  }

  /** Four sums, none of which waits for the others. */
  #sumOf(ids: Int32Array, from: number, to: number): number {
    const sums = this.#sums;
    let [one, two, three, four] = [0, 0, 0, 0];
    let at = from;
    for (; at + 3 < to; at += 4) {
      one += sums[ids[at]!]!;
      two += sums[ids[at + 1]!]!;
      three += sums[ids[at + 2]!]!;
      four += sums[ids[at + 3]!]!;
    }
    for (; at < to; at++) one += sums[ids[at]!]!;
    return one + two + (three + four);
  }
}

/** A number that no block has makes every sum NaN. */
function noSums(size: number): Float64Array {
  return new Float64Array(size).fill(Number.NaN);
}

function stepsOf(block: Block): NextInstruction[] {
  let pc = block.pc;
  return [...block.kinds].map((kind, index) => {
    const length = block.lengths[index]!;
    pc += length;
    return {
      pc: pc - length,
      length,
      kind,
      is32Bit: false,
      isRepeated: false,
      isSystemCall: false,
      isOldCall: false,
      isCpuid: false,
      isKnown: true,
    };
  });
}
