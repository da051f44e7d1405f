/** What is counted where nothing is named, in perf's order (builtin-stat.c, `add_default_attributes`). */

const LEVELS: readonly (readonly string[])[] = [
  [
    'context-switches',
    'cpu-migrations',
    'page-faults',
    'cycles',
    'instructions',
    'branches',
    'branch-misses',
  ],
  ['L1-dcache-loads', 'L1-dcache-load-misses', 'LLC-loads', 'LLC-load-misses'],
  [
    'L1-icache-loads',
    'L1-icache-load-misses',
    'dTLB-loads',
    'dTLB-load-misses',
    'iTLB-loads',
    'iTLB-load-misses',
  ],
  ['L1-dcache-prefetches', 'L1-dcache-prefetch-misses'],
];

const STALLS = ['stalled-cycles-frontend', 'stalled-cycles-backend'] as const;

export interface DefaultsContext {
  /** Times `-d` was given. */
  detail: number;
  /** Whole CPUs, which have no task clock. */
  wholeCpus: boolean;
  /** The PMU of the CPU has an event of this name in sysfs. */
  hasPmuEvent: (name: string) => boolean;
}

export function defaultEvents({ detail, wholeCpus, hasPmuEvent }: DefaultsContext): string[] {
  const [basic] = LEVELS;
  const first = basic!.flatMap((name) =>
    name === 'instructions' ? [...STALLS.filter(hasPmuEvent), name] : [name],
  );
  return [wholeCpus ? 'cpu-clock' : 'task-clock', ...first, ...detailEvents(detail)];
}

/** What `-d` adds, also to events that were named. */
export function detailEvents(detail: number): string[] {
  const [, ...more] = LEVELS;
  return more.slice(0, detail).flat();
}
