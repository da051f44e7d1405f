import { CounterpointError, checkArgument, didYouMean, nearestNames } from '@counterpoint/core/base';

/** A figure that is asked for by name (`-M`): the events that it takes, and what becomes of their counts. */
export interface NamedMetric {
  /** The name, as `-M` takes it. */
  name: string;
  /** What it says, in a few words. */
  description: string;
  /**
   * Counted as one group, so that they are of the same time; those of a PMU and of software cannot share one.
   */
  groups: readonly MetricGroup[];
  /** The unit of the value; empty: a ratio. */
  unit: '' | '%' | 'GHz' | '/sec';
  /** From the counts in the order of the events; clocks in ns. */
  value: (counts: readonly number[], elapsedNs: number) => number;
}

const ratio = ([part = 0, whole = 0]: readonly number[]) => part / whole;
const percentage = (counts: readonly number[]) => 100 * ratio(counts);

function missRate(name: string, description: string, misses: string, all: string): NamedMetric {
  return { name, description, groups: [[misses, all]], unit: '%', value: percentage };
}

/** The metrics that `stat -M` knows. */
export const NAMED_METRICS: readonly NamedMetric[] = [
  {
    name: 'ipc',
    description: 'instructions per cycle',
    groups: [['instructions', 'cycles']],
    unit: '',
    value: ratio,
  },
  {
    name: 'cpi',
    description: 'cycles per instruction',
    groups: [['cycles', 'instructions']],
    unit: '',
    value: ratio,
  },
  {
    name: 'frequency',
    description: 'cycles per time on a CPU',
    groups: [['cycles'], ['task-clock']],
    unit: 'GHz',
    value: ratio,
  },
  {
    name: 'cpus-utilized',
    description: 'time on CPUs per time that passed',
    groups: [['task-clock']],
    unit: '',
    value: ([clock = 0], elapsedNs) => clock / elapsedNs,
  },
  missRate('branch-miss-rate', 'share of branches that were mispredicted', 'branch-misses', 'branches'),
  missRate('cache-miss-rate', 'references that missed the last cache', 'cache-misses', 'cache-references'),
  missRate(
    'l1d-miss-rate',
    'loads that missed the first data cache',
    'L1-dcache-load-misses',
    'L1-dcache-loads',
  ),
  missRate(
    'l1i-miss-rate',
    'fetches that missed the first instruction cache',
    'L1-icache-load-misses',
    'L1-icache-loads',
  ),
  missRate('llc-miss-rate', 'loads that missed the last cache', 'LLC-load-misses', 'LLC-loads'),
  missRate('dtlb-miss-rate', 'loads that missed the data TLB', 'dTLB-load-misses', 'dTLB-loads'),
  missRate('itlb-miss-rate', 'fetches that missed the instruction TLB', 'iTLB-load-misses', 'iTLB-loads'),
  missRate('frontend-stalls', 'cycles without new instructions', 'stalled-cycles-frontend', 'cycles'),
  missRate('backend-stalls', 'cycles without free resources', 'stalled-cycles-backend', 'cycles'),
  {
    name: 'page-fault-rate',
    description: 'page faults per second on a CPU',
    groups: [['page-faults', 'task-clock']],
    unit: '/sec',
    value: ([count = 0, clock = 0]) => (1e9 * count) / clock,
  },
  {
    name: 'context-switch-rate',
    description: 'context switches per second on a CPU',
    groups: [['context-switches', 'task-clock']],
    unit: '/sec',
    value: ([count = 0, clock = 0]) => (1e9 * count) / clock,
  },
];

/** A metric by its name. Throws ERR_NO_METRIC if there is none. */
export function findMetric(name: string): NamedMetric {
  checkArgument(typeof name === 'string', 'findMetric()', 'the name', name, 'the name of a metric');
  const wanted = name.toLowerCase();
  const metric = NAMED_METRICS.find((one) => one.name === wanted);
  if (metric !== undefined) return metric;
  const names = NAMED_METRICS.map((one) => one.name);
  throw new CounterpointError(
    'ERR_NO_METRIC',
    `there is no metric ${name}${didYouMean(nearestNames(wanted, names))}`,
    `Metrics: ${names.join(', ')}.`,
  );
}

/** Events that are counted at the same time. */
export type MetricGroup = readonly string[];

/**
 * Which group is counted for each of the groups of some metrics: itself, or a larger one that has all of its
 * events, so that what several metrics take is counted and shown once.
 */
export function sharedGroups(metrics: readonly NamedMetric[]): Map<MetricGroup, MetricGroup> {
  const groups = metrics.flatMap((metric) => metric.groups);
  const largestFirst = [...groups].sort((a, b) => b.length - a.length);
  return new Map(
    groups.map((group) => [
      group,
      largestFirst.find((other) => group.every((name) => other.includes(name)))!,
    ]),
  );
}

/** A group in the event grammar: `{instructions,cycles}`. */
export function groupText(names: MetricGroup): string {
  return names.length === 1 ? names[0]! : `{${names.join(',')}}`;
}
