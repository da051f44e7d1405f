/** What counts were added up over when they were recorded: `enum aggr_mode` of perf's util/stat.h. */
export type CountsBy = 'cpu' | 'all' | 'socket' | 'die' | 'core' | 'thread' | 'node';

/**
 * The numbers have moved with each kind that came to be, and the file says only which perf wrote it: [first
 * version, names]. What we have no rows for (caches, clusters) is null.
 */
const NUMBERS: readonly (readonly [number, readonly (CountsBy | null)[]])[] = [
  [6.009, ['cpu', 'all', 'socket', 'die', null, null, 'core', 'thread', null, 'node']],
  [6.005, ['cpu', 'all', 'socket', 'die', null, 'core', 'thread', null, 'node']],
  [5.002, ['cpu', 'all', 'socket', 'die', 'core', 'thread', null, 'node']],
  [0, ['cpu', 'all', 'socket', 'core', 'thread']],
];
/** Those that are written, and taken where it is not known who wrote: of perf 5.2 to 6.4. */
const WRITTEN = NUMBERS[2]![1];

/** `version` as the header has it: `6.1.192`. Unknown numbers are all in one. */
export function countsByOf(number: bigint, version: string | undefined): CountsBy {
  const match = /^(\d+)\.(\d+)/.exec(version ?? '');
  const asNumber = match === null ? null : Number(match[1]) + Math.min(999, Number(match[2])) / 1000;
  const names = asNumber === null ? WRITTEN : NUMBERS.find(([first]) => asNumber >= first)![1];
  return (number < BigInt(names.length) ? names[Number(number)] : null) ?? 'all';
}

export function numberOfCountsBy(by: CountsBy): bigint {
  return BigInt(WRITTEN.indexOf(by));
}
