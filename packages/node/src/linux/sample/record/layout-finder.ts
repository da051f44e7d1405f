import { SampleLayout } from '@counterpoint/core/records';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';

/** Which layout a side-band record has that ends at `end`: that of its event, by the id in its last words. */
export function layoutFinder(
  events: readonly SampledEvent[],
): (view: DataView<ArrayBuffer>, end: number) => SampleLayout {
  const layouts = new Map<bigint, SampleLayout>();
  for (const { attr, instances } of events) {
    const layout = new SampleLayout(attr);
    for (const { id } of instances) layouts.set(id, layout);
  }
  const first = new SampleLayout(events[0]!.attr);
  return (view, end) =>
    first.idFromEnd < 0 ? first : (layouts.get(view.getBigUint64(end - first.idFromEnd, true)) ?? first);
}
