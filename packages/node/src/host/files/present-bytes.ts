import type { Stats } from 'node:fs';

/** Of the unit in which stat(2) counts what a file takes. */
const BLOCK_BYTES = 512;
/** File systems that compress make programs, their symbols and maps three to ten times smaller. */
const MOST_COMPRESSED = 16;
const FREE_BYTES = 1 << 20;
/** Some network file systems count no blocks. A file that is all holes has none, either. */
const UNCOUNTED_BYTES = 64 << 20;

/**
 * How much of a file can be more than holes, by the room that it takes: a file of 16 KB may say that it has
 * terabytes, and reading them would cost as much memory.
 */
export function presentBytes({ size, blocks }: Pick<Stats, 'size' | 'blocks'>): number {
  const most = blocks === 0 ? UNCOUNTED_BYTES : FREE_BYTES + blocks * BLOCK_BYTES * MOST_COMPRESSED;
  return Math.min(size, most);
}
