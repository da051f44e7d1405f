/**
 * How often each source line was executed: how often it was come to from another
 * line, or gone back to within it.
 *
 *     4   for (i = 0; ...)     mov        <- from line 3                            1
 *                              jmp ─┐                       on the same line, forward: not again
 *     5      sum += i;         add ◄┼─┐
 *     4                        inc  │ │   <- from line 5                          + 10
 *                              cmp ◄┘ │
 *                              jl ────┘
 *
 * Only where a statement of the line begins, as the compiler marked it: the rest of a
 * statement may be mixed with others'.
 */
import type { LineTable } from '@counterpoint/core/elf';
import { KIND_CONDITIONAL, KIND_JUMP, KIND_JUMP_INDIRECT } from '../../../code/instructions/index.ts';
import type { FileCounts } from './file-counts.ts';

/** Lines of one source file. */
export class SourceLines {
  readonly path: string;
  /** Executions by line: every line that has code, with 0 where none of it was executed. */
  readonly counts = new Map<number, number>();
  /** The most executed instruction of each line. */
  readonly largest = new Map<number, number>();

  constructor(path: string) {
    this.path = path;
  }

  /** The line has code. */
  addLine(line: number): void {
    if (!this.counts.has(line)) this.counts.set(line, 0);
  }

  addCount(line: number, count: number): void {
    this.counts.set(line, (this.counts.get(line) ?? 0) + count);
  }

  addInstruction(line: number, executed: number): void {
    if (executed > (this.largest.get(line) ?? 0)) this.largest.set(line, executed);
  }

  /** Lines of which statements only go on count as often as their most executed instruction. */
  countOf(line: number): number {
    return this.counts.get(line) || (this.largest.get(line) ?? 0);
  }
}

/** Counts by the number of a source file in the line table. */
export function countLines(counts: FileCounts, lines: LineTable): Map<number, SourceLines> {
  const sources = new Map<number, SourceLines>();
  const sourceOf = (file: number): SourceLines => {
    let source = sources.get(file);
    if (source === undefined) {
      source = new SourceLines(lines.filePath(file));
      sources.set(file, source);
    }
    return source;
  };
  const owner = Int32Array.from(counts.address, (address) => lines.lookup(address));
  const jumps = forwardJumps(counts);
  for (let place = 0; place < counts.length; place++) {
    const row = owner[place]!;
    if (row < 0 || lines.line(row) === 0 || counts.executed[place] === 0) continue;
    sourceOf(lines.file(row)).addInstruction(lines.line(row), counts.executed[place]!);
  }
  for (let sequence = 0; sequence < lines.sequenceCount; sequence++) {
    let lastAddress = Number.NaN;
    let seen = new Set<string>();
    for (let row = lines.sequenceStart(sequence); !lines.isEnd(row); row++) {
      const line = lines.line(row);
      if (line === 0) continue;
      const file = lines.file(row);
      const source = sourceOf(file);
      source.addLine(line);
      if (!lines.isStatement(row)) continue;
      const address = lines.address(row);
      if (address !== lastAddress) seen = new Set();
      lastAddress = address;
      // Several statements of one line may begin at one instruction.
      const key = `${file} ${line}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const place = counts.placeOf(address);
      if (place < 0) continue;
      const isSame = (other: number): boolean => {
        const from = owner[other]!;
        return from >= 0 && lines.line(from) === line && lines.file(from) === file;
      };
      let again = 0;
      if (place > 0 && counts.isNextAdjacent(place - 1) && isSame(place - 1))
        again = counts.goesOn(place - 1);
      for (const { from, count } of jumps.get(place) ?? []) if (isSame(from)) again += count;
      source.addCount(line, Math.max(0, counts.executed[place]! - again));
    }
  }
  return sources;
}

/** Jumps to each place from before it. Calls are none: the line that they come to begins. */
function forwardJumps(counts: FileCounts): Map<number, { from: number; count: number }[]> {
  const jumps = new Map<number, { from: number; count: number }[]>();
  for (const { from, to, count } of counts.branches) {
    if (to <= from) continue;
    const kind = counts.kind[from];
    if (kind !== KIND_JUMP && kind !== KIND_JUMP_INDIRECT && kind !== KIND_CONDITIONAL) continue;
    const known = jumps.get(to);
    if (known === undefined) jumps.set(to, [{ from, count }]);
    else known.push({ from, count });
  }
  return jumps;
}
