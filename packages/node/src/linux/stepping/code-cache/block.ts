import { KIND_CALL, KIND_CALL_INDIRECT, KIND_CONDITIONAL } from '@counterpoint/trace/instructions';

/** What the instructions of a block count as. */
export interface BlockCounts {
  instructions: number;
  branches: number;
  conditional: number;
  calls: number;
}

/** A place in the code behind a block's copied instructions at which the registers are the program's own. */
export interface Mark {
  readonly address: number;
  /** The place in the program that it stands for. */
  readonly pc: number;
  /** How many instructions of the block are done. */
  readonly done: number;
  readonly owes: Owed;
}

/**
 * What the program's registers lack there. 'rcx': the kernel has just left its return address in it, which
 * must be the program's. 'rax': it is put aside.
 */
export type Owed = 'nothing' | 'rcx' | 'rax';

export interface Block {
  readonly pc: number;
  /** Its first byte in the zone, at which nothing is counted yet. */
  readonly start: number;
  /** From here on it is counted. */
  readonly countedFrom: number;
  /** The copied instructions, at the same distances as in the program. */
  readonly body: number;
  readonly bodyEnd: number;
  readonly end: number;
  readonly marks: readonly Mark[];
  readonly kinds: Uint8Array;
  readonly lengths: Uint8Array;
  readonly counter: number;
}

/** A place in the zone at which the tracer is asked. */
export interface Exit {
  readonly address: number;
  readonly kind: 'direct' | 'system call';
  readonly block: Block;
  /** Where the program goes on. */
  readonly pc: number;
  /** Offset of a conditional jump's distance to this exit, 0 without. */
  readonly jumpAt: number;
}

/** Where a program would stand without us. */
export interface Position {
  readonly pc: number;
  readonly block: Block | null;
  readonly isCounted: boolean;
  readonly done: number;
  /** The registers are the program's: at other places it has to go on a little first. */
  readonly isClean: boolean;
  readonly owes: Owed;
}

/** `address` is inside of `block`. */
export function positionIn(block: Block, address: number): Position {
  const at = (pc: number, done: number, isClean: boolean, owes: Owed = 'nothing'): Position => ({
    pc,
    block,
    isCounted: address >= block.countedFrom,
    done,
    isClean,
    owes,
  });
  if (address < block.body) return at(block.pc, 0, address === block.start);
  if (address < block.bodyEnd) {
    let done = 0;
    let pc = block.pc;
    for (const pcNow = block.pc + (address - block.body); pc < pcNow; done++) pc += block.lengths[done]!;
    return at(pc, done, true);
  }
  const mark = block.marks.find((candidate) => candidate.address === address);
  if (mark !== undefined) return at(mark.pc, mark.done, true, mark.owes);
  return at(block.pc, block.kinds.length, false);
}

/** The instructions from number `from` on. */
export function countsFrom(block: Block, from: number): BlockCounts {
  const counts = { instructions: block.kinds.length - from, branches: 0, conditional: 0, calls: 0 };
  for (let index = from; index < block.kinds.length; index++) {
    const kind = block.kinds[index]!;
    if (kind < KIND_CALL || kind > KIND_CONDITIONAL) continue;
    counts.branches++;
    if (kind === KIND_CONDITIONAL) counts.conditional++;
    if (kind === KIND_CALL || kind === KIND_CALL_INDIRECT) counts.calls++;
  }
  return counts;
}

/** Where its call comes back to; 0 when it ends with something else. */
export function returnSite(block: Block): number {
  const kind = block.kinds.at(-1);
  if (kind !== KIND_CALL && kind !== KIND_CALL_INDIRECT) return 0;
  return block.pc + sourceBytes(block);
}

/** How many bytes of the program it was made of. */
export function sourceBytes({ lengths }: Block): number {
  let sum = 0;
  for (const length of lengths) sum += length;
  return sum;
}
