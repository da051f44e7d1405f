import type { Damage } from '@counterpoint/core/base';
import { LOSS_KINDS, type LossEntry, type LossKind } from '@counterpoint/core/loss';
import { damageLine } from './damage-text.ts';
import { formatCount, formatDuration } from './human.ts';

/** What each kind of loss means, for a person. */
const WORDS: Record<LossKind, string> = {
  'ring-full':
    'records (samples, mappings, forks and exits) lost because a ring buffer was full (give a larger -m or a lower -F)',
  'lost-samples': 'samples the kernel dropped',
  throttled: 'of time in which an event was throttled',
  'format-map-full':
    'samples lost because a map was full (give the format room for more by its options, which counterpoint list formats NAME shows)',
  'format-ring-full':
    'samples lost because a buffer was full (give the format a larger buffer by its options, which counterpoint list formats NAME shows)',
  'format-stack-collision':
    'call stacks lost because their table was full: their samples are there, without callers (give the format room for more stacks by its options, which counterpoint list formats NAME shows)',
  'format-skipped': 'overflows without a run of the format: the kernel skipped it',
  'format-map-read':
    "of time in which a format's maps were read: the kernel runs no format on that CPU meanwhile, and does not count what it leaves out",
  'format-recursion': 'runs of a program left out because another program was running on that CPU',
  'format-not-attached':
    'samples without a run of the format: of programs that began while it was being attached',
  'format-suspended': 'of time in which a format had its counters suspended',
  'format-while-suspended': 'overflows that came while a format was suspended',
  multiplexed:
    'of time in which an event had no counter because others had their turn (record fewer events at a time)',
  'call-chain-cut':
    'samples with call chains cut at the depth limit of the kernel: their outermost callers are missing (raise kernel.perf_event_max_stack)',
  'user-stack-not-unwound':
    'samples with a copy of the user stack that could not be followed to its end: outer callers in user code are missing (code without frame information, or a signal handler on a stack of its own: who it interrupted is on another)',
  'user-stack-cut':
    'samples with a copy of the user stack that is too small: outer callers are missing (record with a larger SIZE: --call-graph dwarf,SIZE)',
  'history-overwritten':
    'the ring was too small for the time to keep: give more memory, or sample less often',
  'history-paused': 'records that came while the history was read for an earlier file',
  'aux-truncated': 'stretches of trace data cut short because the buffer for them was full',
  'aux-partial': 'stretches of trace data with gaps (Intel PT leaves out the guests of KVM)',
  'aux-collision':
    'stretches of trace data in which samples were dropped because they came too close (sample less often)',
  'aux-full': 'times the buffer for trace data was full, and tracing may have stood still',
  'trace-overflow': 'overflows in which the processor lost trace packets',
  'trace-error': 'places where the trace could not be followed: what ran there is missing',
  'profile-full': 'instructions at addresses for which the profile had no room: only its totals have them',
  'aux-overwritten': 'stretches of trace data overwritten',
  'file-missing': 'files of the recording missing, with everything that a CPU or thread recorded',
  'file-truncated':
    'bytes at the end missing, or not a whole record: the file was cut off, or its recording was not finished',
  'record-damaged': 'samples damaged in the history that this recording was made of',
  'recorder-stopped': 'samples that were not written because the output accepted no more',
  'events-taken':
    'of the processes began a program with more rights: the kernel took their events away, and the rest of their samples is missing',
};

/**
 * One line per kind of loss, and one per kind of damage; none where nothing is missing. `own`: other
 * words, for callers that know more.
 */
export function lossLines(
  loss: readonly LossEntry[],
  damage: readonly Damage[],
  own: Partial<Record<LossKind, string>> = {},
): string[] {
  const totals = new Map<LossKind, { count: bigint; cpus: Set<number | null>; exact: boolean }>();
  for (const entry of loss) {
    const total = totals.get(entry.kind) ?? { count: 0n, cpus: new Set<number | null>(), exact: true };
    total.count += BigInt(entry.count);
    total.cpus.add(entry.cpu);
    total.exact &&= entry.exact;
    totals.set(entry.kind, total);
  }
  const lines = [...totals].map(([kind, { count, cpus, exact }]) => {
    const isTime = LOSS_KINDS[kind] === 'nanoseconds';
    const isUnknown = !exact && count === 0n;
    const known = `${exact ? '' : 'at least '}${isTime ? formatDuration(Number(count)) : formatCount(count)}`;
    const amount = isUnknown ? `an unknown ${isTime ? 'length' : 'number of'}` : known;
    const all = own[kind] ?? WORDS[kind];
    const words = exact && count === 1n ? all.replace(/^(\w+)s\b/, '$1') : all;
    return `${amount} ${words}${cpus.size > 1 && !cpus.has(null) ? `, on ${cpus.size} CPUs` : ''}`;
  });
  return [...lines, ...damage.map(damageLine)];
}
