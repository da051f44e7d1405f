import { CounterpointError, checkText } from '../../base/index.ts';

/**
 * What rows can be told apart by; names as perf's `--sort`, but for `pid`, the process: perf's word for
 * `thread`, a thread with its name. Ours: `role` is whether a thread is its process's first, `tier` and
 * `copy` are of code that a JIT compiler made. `srcline` is the line of source code, `srcfile` its file.
 * `parent` is the function of the stack that `TopOptions.parent` chooses.
 */
export const SORT_KEYS = [
  'comm',
  'dso',
  'symbol',
  'srcline',
  'srcfile',
  'pid',
  'thread',
  'tid',
  'cpu',
  'role',
  'tier',
  'copy',
  'parent',
] as const;
/** A sort key that is one word. */
export type PlainSortKey = (typeof SORT_KEYS)[number];
/**
 * What a tracepoint recorded, as the kernel prints it, or one field of it: `sched:sched_switch.next_comm`,
 * with `/raw` the number itself.
 */
export type TraceSortKey = 'trace' | `${string}.${string}`;
/** What rows are told apart by. */
export type SortKey = PlainSortKey | TraceSortKey;

/** Keys that a profile has texts for only where they were asked for when it was made (`traceKeys`). */
export function isTraceKey(key: SortKey): key is TraceSortKey {
  return key === 'trace' || key.includes('.');
}

/** perf's short forms. Its `pid` is the thread and its name, so ours has another word: `process`. */
const SORT_ALIASES: Readonly<Record<string, PlainSortKey>> = {
  sym: 'symbol',
  command: 'comm',
  pid: 'thread',
  process: 'pid',
};

/**
 * Parse `comm,dso,sym`. Throws with the known keys where one is not known, or none is named. `fieldKeys` has
 * the fields of tracepoints that a word stands for: perf's `next_comm`, `sched_switch.*`, `trace_fields`.
 */
export function parseSortKeys(
  text: string,
  fieldKeys: (word: string) => readonly TraceSortKey[] = () => [],
): SortKey[] {
  checkText('parseSortKeys()', 'the list of sort keys', text);
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0) throw sortKeyError('no sort key is named');
  const keys = words.flatMap((word): readonly SortKey[] => {
    if (word === 'trace') return [word];
    // `EVENT.FIELD`, as in perf.
    if (/^[\w:-]+\.\w+(?:\/raw)?$/.test(word)) return [word as TraceSortKey];
    const key = SORT_ALIASES[word] ?? SORT_KEYS.find((known) => known === word);
    if (key !== undefined) return [key];
    const fields = fieldKeys(word);
    if (fields.length === 0) throw sortKeyError(`unknown sort key "${word}"`);
    return fields;
  });
  return [...new Set(keys)];
}

function sortKeyError(message: string): CounterpointError {
  return new CounterpointError(
    'ERR_SORT_KEY',
    message,
    `Sort keys: ${SORT_KEYS.filter((key) => key !== 'thread').join(', ')}, process, sym; of tracepoints trace, and a field as EVENT.FIELD`,
  );
}
