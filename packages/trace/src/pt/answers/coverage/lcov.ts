import { printable } from '@counterpoint/core/base';
import type { SourceCoverage } from './coverage.ts';

/**
 * Coverage as a tracefile of lcov (geninfo(1), "TRACEFILE FORMAT"), for genhtml and what else reads it. Of
 * each conditional jump branch 0 is that it went on, branch 1 that it jumped; `-` where it was never come to.
 * Names and paths are the file's: a line end in them would be a record of its own.
 */
export function* writeLcov(sources: Iterable<SourceCoverage>, testName = ''): Generator<string> {
  // The format knows letters, digits and underscores.
  const test = testName.replace(/[^A-Za-z0-9_]/g, '_');
  for (const { path, lines, functions, branches } of sources) {
    const out = [`TN:${test}`, `SF:${printable(path)}`];
    const named = [...functions]
      .map(([name, facts]) => [printable(name), facts] as const)
      .sort(([, a], [, b]) => a.line - b.line);
    for (const [name, { line }] of named) out.push(`FN:${line},${name}`);
    for (const [name, { executed }] of named) out.push(`FNDA:${executed},${name}`);
    out.push(`FNF:${named.length}`, `FNH:${named.filter(([, { executed }]) => executed > 0).length}`);
    let outcomes = 0;
    let hits = 0;
    for (const [line, jumps] of inOrder(branches))
      for (const [block, { executed, taken }] of jumps.entries())
        for (const [branch, count] of [executed - taken, taken].entries()) {
          out.push(`BRDA:${line},${block},${branch},${executed === 0 ? '-' : Math.max(0, count)}`);
          outcomes++;
          if (executed > 0 && count > 0) hits++;
        }
    out.push(`BRF:${outcomes}`, `BRH:${hits}`);
    let covered = 0;
    for (const [line, count] of inOrder(lines)) {
      out.push(`DA:${line},${count}`);
      if (count > 0) covered++;
    }
    out.push(`LF:${lines.size}`, `LH:${covered}`, 'end_of_record', '');
    yield out.join('\n');
  }
}

function inOrder<Value>(byLine: ReadonlyMap<number, Value>): [number, Value][] {
  return [...byLine].sort(([a], [b]) => a - b);
}
