/** What a recording says of its AUX areas at the end. */
import type { LossFacts } from '@counterpoint/core/loss';
import type { SampledEvents } from '../../kernel/perf-events/index.ts';

/** Areas that were full without a record that tells of it: the source may have stood still. */
export function fullAreas({ rings, events }: SampledEvents): LossFacts[] {
  const event = events.find(({ aux }) => aux !== undefined)?.name ?? null;
  return rings.flatMap(({ aux, cpu }) => {
    aux?.finish();
    const count = aux?.fullWithoutWord ?? 0;
    return count === 0 ? [] : [{ kind: 'aux-full', event, cpu, count, exact: false } as const];
  });
}

/** Bytes of trace that were taken. */
export function takenTraceBytes({ rings }: SampledEvents): number {
  return rings.reduce((sum, { aux }) => sum + (aux?.drain.traceBytes ?? 0), 0);
}
