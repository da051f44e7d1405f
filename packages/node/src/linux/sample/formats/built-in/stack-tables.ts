/**
 * Call stacks by number: the kernel keeps each once, in a table by the hash of its addresses.
 *
 * By the hash's low bits a stack has one place in the table, and what finds it taken gets a place in the
 * second table: with k stacks in n places about k/2n of them collide in the first, (k/n)²/6 in both.
 */
import { PERF_CONTEXT_KERNEL, PERF_CONTEXT_MAX, PERF_CONTEXT_USER } from '@counterpoint/core/abi';
import {
  type BpfAssembler,
  type BpfMap,
  type BpfMapDefinition,
  indexKey,
  type MemoryOperand,
  r0,
} from '../../../kernel/bpf/index.ts';
import type { FormatMaps } from '../format.ts';

/** Instead of a number: there is no such stack. A kernel thread has none of user space. */
export const NO_STACK = -14;

const NAMES = ['stacks', 'more_stacks'] as const;
/** Added to numbers of the second table. */
const SECOND = 1 << 28;

/** The row of an option table for `StackTableSize.maxStacks`. */
export const MAX_STACKS_OPTION = {
  type: 'count',
  default: 16_384,
  min: 1,
  max: 1 << 24,
  help: 'room for N different stacks, twice; a stack takes 8 bytes for each frame of its depth',
} as const;

export interface StackTableSize {
  /** Different stacks that there is room for, in each of the tables. */
  readonly maxStacks: number;
  /** Frames of a stack; the outer ones are cut off. */
  readonly depth: number;
}

export function stackTables({ maxStacks, depth }: StackTableSize): [BpfMapDefinition, BpfMapDefinition] {
  const table = (name: string): BpfMapDefinition => ({
    name,
    type: 'stack-trace',
    keySizeBytes: 4,
    valueSizeBytes: depth * 8,
    maxEntries: 2 ** Math.ceil(Math.log2(maxStacks)),
  });
  return [table(NAMES[0]), table(NAMES[1])];
}

/**
 * The number of a stack of what runs, into memory; negative if there is none (`NO_STACK`) or where both
 * its places are taken, which `onRefused` counts. Calls: loses r0 to r5.
 */
export function findStack(
  asm: BpfAssembler,
  size: StackTableSize,
  to: MemoryOperand,
  flags: number,
  onRefused: () => void,
): void {
  const [first, second] = stackTables(size);
  const context = asm.context;
  asm.call('get_stackid', context, first, flags);
  asm.store(to, r0);
  asm.if(r0, 's<', 0, () =>
    asm.if(r0, '!=', NO_STACK, () => {
      asm.call('get_stackid', context, second, flags);
      const found = () => {
        asm.add(r0, SECOND);
        asm.store(to, r0);
      };
      asm.if(r0, 's>=', 0, found, onRefused);
    }),
  );
}

/** Stacks by number become frames. Each is read once. */
export class StackReader {
  readonly #tables: readonly BpfMap[];
  readonly #known = new Map<number, readonly bigint[]>();

  constructor(maps: FormatMaps) {
    this.#tables = NAMES.map((name) => maps.get(name)!);
  }

  /** Innermost first; none where there is no such stack. */
  frames(stack: number): readonly bigint[] {
    if (stack < 0) return [];
    const known = this.#known.get(stack);
    if (known !== undefined) return known;
    const value = this.#tables[stack < SECOND ? 0 : 1]!.lookup(indexKey(stack % SECOND));
    const words = value === null ? [] : [...new BigUint64Array(value.buffer)];
    const end = words.indexOf(0n);
    const frames = withoutMarks(end < 0 ? words : words.slice(0, end));
    this.#known.set(stack, frames);
    return frames;
  }
}

const FIRST_MARK = BigInt.asUintN(64, BigInt(PERF_CONTEXT_MAX));

/**
 * Addresses alone: for events with PERF_SAMPLE_CALLCHAIN the helpers give parts of a chain
 * that is there, marks and all.
 */
export function withoutMarks(words: readonly bigint[]): bigint[] {
  return words.filter((word) => word < FIRST_MARK);
}

/** A chain as the kernel writes it: each part after its mark. */
export function callchainOf(kernel: readonly bigint[], user: readonly bigint[]): bigint[] {
  const part = (mark: number, frames: readonly bigint[]) =>
    frames.length === 0 ? [] : [BigInt.asUintN(64, BigInt(mark)), ...frames];
  return [...part(PERF_CONTEXT_KERNEL, kernel), ...part(PERF_CONTEXT_USER, user)];
}
