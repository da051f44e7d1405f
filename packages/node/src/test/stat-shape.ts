import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

/** What `perf stat` prints. */
export function perfStat(...words: string[]): string {
  const { stderr, status } = spawnSync('perf', ['stat', ...words], { encoding: 'utf8' });
  assert.notEqual(status, 129, stderr);
  return stderr;
}

/** Digits masked, and with them what depends on their number; our remarks below the table are not perf's. */
export function shape(text: string): string[] {
  return text
    .replace(/\n(?: {2}(?:not supported|not counted|counted otherwise): .*\n)+/g, '')
    .split('\n')
    .map((line) => `${line.trimEnd() === line ? '' : `${line.length}: `}${masked(line)}`);
}

export function masked(line: string): string {
  return line
    .replace(/[KMG]?\/sec\s*/g, '/sec')
    .replace(/\s*\(\s*\+-[^)]*\)/g, ' (spread)')
    .replace(/\s*-?\d[\d.]*/g, ' N')
    .trimEnd();
}
