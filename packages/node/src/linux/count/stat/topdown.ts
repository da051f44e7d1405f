import { CounterpointError } from '@counterpoint/core/base';
import type { EventLookup } from '@counterpoint/core/events';
import type { MetricGroup, NamedMetric } from './named-metrics.ts';

/**
 * Intel's top-down method, first level: of all slots in which the pipeline could have taken an operation, how
 * many did useful work, and what stood in the way of the others (SDM vol. 3, "Topdown Metrics"). The four
 * events share one counter with fractions, which `slots` has to lead.
 */
const GROUP: MetricGroup = [
  'slots',
  'topdown-retiring',
  'topdown-bad-spec',
  'topdown-fe-bound',
  'topdown-be-bound',
];

const DESCRIPTIONS = [
  'slots whose operation retired',
  'slots whose operation was on a wrong path',
  'slots that the front end left empty',
  'slots that had to wait for the back end',
];

export const TOPDOWN_METRICS: readonly NamedMetric[] = DESCRIPTIONS.map((description, at) => ({
  name: GROUP[at + 1]!,
  description,
  groups: [GROUP],
  unit: '%',
  value: ([, ...parts]) => (100 * parts[at]!) / parts.reduce((sum, part) => sum + part, 0),
}));

const CORE_PMUS = ['cpu', 'cpu_core'] as const;

/** Throws where no PMU of this machine has the events. */
export function topdownMetrics({ pmu }: Pick<EventLookup, 'pmu'>): NamedMetric[] {
  const pmus = CORE_PMUS.flatMap((name) => pmu(name) ?? []);
  if (pmus.some(({ events }) => GROUP.every((name) => events.has(name)))) return [...TOPDOWN_METRICS];
  const why =
    pmus.length === 0
      ? 'the kernel has no PMU of a CPU here'
      : `the PMU ${pmus[0]!.name} lacks ${GROUP.filter((name) => !pmus[0]!.events.has(name)).join(', ')}`;
  throw new CounterpointError(
    'ERR_NO_TOPDOWN',
    `--topdown cannot be counted: ${why}`,
    'It needs an Intel core since Ice Lake; a virtual machine needs a host that passes its counters on. counterpoint doctor shows what there is.',
  );
}
