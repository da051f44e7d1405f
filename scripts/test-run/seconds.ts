/** How long each test file takes: measured by the runs themselves. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Seconds by the path of the test file, relative to the repository. */
export type SecondsTable = ReadonlyMap<string, number>;

/** Checked in: what a fresh clone knows. */
export const SAVED_SECONDS = 'scripts/test-run/seconds.tsv';
/** What this machine measured; left out of the repository. */
export const LOCAL_SECONDS = 'dist/test-seconds.tsv';

const HEADING = '# Seconds of each test file, written by `npm test -- --save-seconds`.';

/** The table of a file; empty where there is none. */
export function readSeconds(path: string): SecondsTable {
  if (!existsSync(path)) return new Map();
  return parseSeconds(readFileSync(path, 'utf8'));
}

/** Lines that do not have a number and a path are left out: the file is only a hint. */
export function parseSeconds(text: string): SecondsTable {
  const rows = text.matchAll(/^([\d.]+)\t(\S+)$/gm);
  return new Map([...rows].map(([, seconds, path]) => [path!, Number(seconds)]));
}

export function formatSeconds(table: SecondsTable): string {
  const rows = [...table].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${[HEADING, ...rows.map(([path, seconds]) => `${seconds.toFixed(1)}\t${path}`)].join('\n')}\n`;
}

/** What this machine measured counts; of other files what is checked in. */
export function knownSeconds(): SecondsTable {
  return new Map([...readSeconds(SAVED_SECONDS), ...readSeconds(LOCAL_SECONDS)]);
}

/** What was known of files that still exist, with what a run measured. */
export function mergeSeconds(
  known: SecondsTable,
  measured: SecondsTable,
  exists: (path: string) => boolean = existsSync,
): SecondsTable {
  return new Map([...[...known].filter(([path]) => exists(path)), ...measured]);
}

export function writeSeconds(path: string, table: SecondsTable): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, formatSeconds(table));
}

export function totalSeconds(table: SecondsTable): number {
  return [...table.values()].reduce((sum, seconds) => sum + seconds, 0);
}
