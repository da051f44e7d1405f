/** The text profile of AutoFDO. */
import { KIND_CALL, KIND_CONDITIONAL, KIND_RETURN } from '../../../code/instructions/index.ts';
import type { ExactProfile } from '../exact-profile.ts';
import { FileCounts } from './file-counts.ts';
import { fileOffsetOf, type ProgramFile } from './program-file.ts';

export interface ExecutedRange {
  /** Addresses of the first and the last instruction. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

const CHUNK_LINES = 4096;

/**
 * The text profile of AutoFDO, piece by piece, for `create_llvm_prof --profiler=text` and `create_gcov`.
 * Three lists, each with its number of entries before it, addresses in hexadecimal as offsets in the file.
 *
 *     from-to:count      ranges that were executed from the first instruction to the last, both named
 *     address:count      executions of one instruction
 *     from->to:count     branches that were taken
 *
 * Ranges are what a record of all branches would show: each begins where a branch went to and ends with one
 * that was taken.
 */
export function* writeAutofdo(profile: ExactProfile, file: ProgramFile): Generator<string> {
  const counts = new FileCounts(profile, file);
  const hex = (address: number): string => fileOffsetOf(file, address).toString(16);
  const isInFile = (address: number): boolean => !Number.isNaN(fileOffsetOf(file, address));
  yield* list(
    executedRanges(counts)
      .filter(({ first, last }) => isInFile(first) && isInFile(last))
      .map(({ first, last, count }) => `${hex(first)}-${hex(last)}:${count}`),
  );
  const instructions: string[] = [];
  counts.address.forEach((address, place) => {
    if (counts.executed[place]! > 0 && isInFile(address))
      instructions.push(`${hex(address)}:${counts.executed[place]}`);
  });
  yield* list(instructions);
  yield* list(
    counts.branches
      .filter(({ from, to, count }) => to >= 0 && count > 0 && counts.kind[from] !== KIND_RETURN)
      .filter(({ from, toAddress }) => isInFile(counts.address[from]!) && isInFile(toAddress))
      .sort((a, b) => a.from - b.from || a.to - b.to)
      .map(({ from, toAddress, count }) => `${hex(counts.address[from]!)}->${hex(toAddress)}:${count}`),
  );
}

/**
 * From counts back to ranges: what comes to an instruction besides the one before it opens ranges there, what
 * leaves behind it closes as many, the last ones first (inner loops are then ranges of their own).
 *
 *     executed        1    11   11    10   1
 *                     a    b    jne   c    d        with jne taken once and c going back to b
 *     ranges          [ 1       ]                   each column adds up
 *                          [ 10       ]
 */
export function executedRanges(counts: FileCounts): ExecutedRange[] {
  const ranges = new Map<string, ExecutedRange & { count: number }>();
  const open: { first: number; count: number }[] = [];
  let openCount = 0;
  const close = (last: number, wanted: number): void => {
    openCount -= wanted;
    for (let left = wanted; left > 0; ) {
      const top = open[open.length - 1]!;
      const count = Math.min(left, top.count);
      const key = `${top.first} ${last}`;
      const known = ranges.get(key);
      if (known === undefined) ranges.set(key, { first: top.first, last, count });
      else known.count += count;
      top.count -= count;
      left -= count;
      if (top.count === 0) open.pop();
    }
  };
  let previous = -1;
  for (let place = 0; place < counts.length; place++) {
    const executed = counts.executed[place]!;
    if (executed === 0) continue;
    const address = counts.address[place]!;
    if (previous >= 0) {
      const last = counts.address[previous]!;
      const isNext = last + counts.size[previous]! === address;
      close(last, openCount - (isNext ? Math.min(openCount, straightOn(counts, previous), executed) : 0));
    }
    if (executed > openCount) {
      open.push({ first: address, count: executed - openCount });
      openCount = executed;
    }
    previous = place;
  }
  if (previous >= 0) close(counts.address[previous]!, openCount);
  return [...ranges.values()].sort((a, b) => a.first - b.first || a.last - b.last);
}

/** Calls leave, though they come back. */
function straightOn(counts: FileCounts, place: number): number {
  const kind = counts.kind[place]!;
  if (kind < KIND_CALL) return counts.executed[place]!;
  return kind === KIND_CONDITIONAL ? Math.max(0, counts.executed[place]! - counts.taken[place]!) : 0;
}

function* list(lines: readonly string[]): Generator<string> {
  yield `${lines.length}\n`;
  for (let at = 0; at < lines.length; at += CHUNK_LINES)
    yield `${lines.slice(at, at + CHUNK_LINES).join('\n')}\n`;
}
