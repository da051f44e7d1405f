import { CounterpointError } from '@counterpoint/core/base';
import type { CodeImage } from '../../../code/image/index.ts';
import { KIND_CONDITIONAL } from '../../../code/instructions/index.ts';
import type { ExactProfile } from '../exact-profile.ts';
import { CodeWalk } from './code-walk.ts';
import { FileCounts } from './file-counts.ts';
import { functionCoverage } from './function-coverage.ts';
import { countLines, type SourceLines } from './line-counts.ts';
import type { ProgramFile } from './program-file.ts';

/** A conditional jump of a line. */
export interface CoveredBranch {
  /** In the file's own terms, as its symbols have it. */
  readonly address: number;
  /** Times that it was come to. */
  readonly executed: number;
  /** Times that it jumped. */
  readonly taken: number;
}

/** What was executed of one source file. */
export interface SourceCoverage {
  /** As the debug information names the file. */
  readonly path: string;
  /** Executions of every line that has code, by line. */
  readonly lines: Map<number, number>;
  /** By name: functions that begin here, and how often. Copies of one function in several places are one. */
  readonly functions: Map<string, { line: number; executed: number }>;
  /** By line. */
  readonly branches: Map<number, CoveredBranch[]>;
}

/**
 * What was executed of the sources of a program, whose `image` has its code. Throws
 * ERR_NO_LINES where it has no line table.
 */
export function sourceCoverage(profile: ExactProfile, image: CodeImage, file: ProgramFile): SourceCoverage[] {
  const { lines } = file;
  if (lines === null)
    throw new CounterpointError(
      'ERR_NO_LINES',
      `${file.name} has no lines of source code: no .debug_line in it, and no debug file that belongs to it was found`,
      'Compile it with -g, or install its debug symbols (Debian, Ubuntu: the -dbgsym package; Fedora: `dnf debuginfo-install`), or set ' +
        'DEBUGINFOD_URLS to a server that has them. Without them there is coverage of functions and instructions: --format functions.',
    );
  const counts = new FileCounts(profile, file);
  const sources = new Map<string, SourceCoverage>();
  const sourceOf = (path: string): SourceCoverage => {
    let source = sources.get(path);
    if (source === undefined) {
      source = { path, lines: new Map(), functions: new Map(), branches: new Map() };
      sources.set(path, source);
    }
    return source;
  };
  for (const source of countLines(counts, lines).values())
    if (source.path !== '') addLines(sourceOf(source.path), source);
  for (const { name, address, executed } of functionCoverage(counts, image)) {
    const found = lines.lookup(address);
    const row = found < 0 ? found : lines.firstAt(found);
    if (row < 0 || lines.line(row) === 0 || lines.filePath(lines.file(row)) === '') continue;
    const { functions } = sourceOf(lines.filePath(lines.file(row)));
    const known = functions.get(name);
    const line = lines.line(row);
    functions.set(
      name,
      known === undefined
        ? { line, executed }
        : { line: Math.min(line, known.line), executed: known.executed + executed },
    );
  }
  addBranches(counts, image, sourceOf);
  return [...sources.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

function addLines({ lines }: SourceCoverage, source: SourceLines): void {
  for (const line of source.counts.keys()) lines.set(line, (lines.get(line) ?? 0) + source.countOf(line));
}

/** Conditional jumps of all code that has lines, executed or not. */
function addBranches(counts: FileCounts, image: CodeImage, sourceOf: (path: string) => SourceCoverage): void {
  const { file } = counts;
  const lines = file.lines!;
  const walk = new CodeWalk(image, file);
  for (let sequence = 0; sequence < lines.sequenceCount; sequence++)
    for (let row = lines.sequenceStart(sequence); !lines.isEnd(row); row++) {
      const from = lines.address(row);
      const to = lines.address(row + 1);
      const line = lines.line(row);
      const path = line === 0 || from === to ? '' : lines.filePath(lines.file(row));
      if (path === '') continue;
      walk.go(from, to, (address, { kind }) => {
        if (kind !== KIND_CONDITIONAL) return;
        const { branches } = sourceOf(path);
        const place = counts.placeOf(address);
        const branch =
          place < 0
            ? { address, executed: 0, taken: 0 }
            : { address, executed: counts.executed[place]!, taken: counts.taken[place]! };
        const known = branches.get(line);
        if (known === undefined) branches.set(line, [branch]);
        else known.push(branch);
      });
    }
}
