import { PERF_SAMPLE_CALLCHAIN } from '@counterpoint/core/abi';
import type { LossFacts } from '@counterpoint/core/loss';
import { chainLimit, isChainAtLimit, SampleLayout } from '@counterpoint/core/records';
import type { LongChains } from '@counterpoint/core/ring';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import { kernelSetting } from '../../kernel/probe/index.ts';

/** Parts of a call chain that a sample can have: kernel and user. */
export const CHAIN_PARTS = 2;

/**
 * Losses of call chains that no sample shows, by settings of the kernel: chains without their
 * user part, or without anything.
 */
export function hiddenCuts(
  events: readonly Pick<SampledEvent, 'attr' | 'name'>[],
  setting: (name: string) => number | null = kernelSetting,
): LossFacts[] {
  const parts = setting('perf_event_max_contexts_per_stack') ?? CHAIN_PARTS;
  const most = setting('perf_event_max_stack') ?? 1;
  if (parts >= CHAIN_PARTS && most > 0) return [];
  return events
    .filter(({ attr }) => (attr.sampleType & BigInt(PERF_SAMPLE_CALLCHAIN)) !== 0n)
    .map(({ name }) => ({ kind: 'call-chain-cut', event: name, count: 0, exact: false }));
}

/** Finds the samples of a recording whose call chain was cut at the kernel's limit. */
export interface CutChains {
  /** What a scan has to hand over; null: every sample, because the chains stand at different places. */
  readonly long: LongChains | null;
  /** Called for such a sample: the name of its event; null where the chain is whole. */
  eventOfCut(view: DataView, offset: number): string | null;
}

/** Null where samples have no call chains, or these cannot be found in all samples. */
export function cutChains(events: readonly SampledEvent[]): CutChains | null {
  const all = events.map(({ attr, name, instances }) => ({
    layout: new SampleLayout(attr),
    limit: chainLimit(attr),
    name,
    instances,
  }));
  const [first] = all;
  const withChains = all.filter(({ layout }) => layout.chainFromStart >= 0);
  if (first === undefined || withChains.length === 0) return null;
  const { idFromStart } = first.layout;
  if (events.length > 1 && all.some(({ layout }) => layout.idFromStart !== idFromStart)) return null;
  const byId = new Map(all.flatMap((event) => event.instances.map(({ id }) => [id, event])));
  const [sample] = withChains as [(typeof all)[number]];
  const isAlike = withChains.every(
    ({ layout, limit }) => layout.chainFromStart === sample.layout.chainFromStart && limit === sample.limit,
  );
  return {
    long: isAlike ? { chainFromStart: sample.layout.chainFromStart, words: sample.limit } : null,
    eventOfCut(view, offset) {
      const named = idFromStart < 0 ? undefined : byId.get(view.getBigUint64(offset + idFromStart, true));
      const { layout, limit, name } = named ?? first;
      if (layout.chainFromStart < 0) return null;
      // Rings are in the byte order of this machine: all that we record on are little-endian.
      const at = offset + layout.chainFromStart;
      const size = view.getUint16(offset + 6, true);
      const count = Math.min(view.getUint32(at, true), Math.floor((size - layout.chainFromStart - 8) / 8));
      return isChainAtLimit(view, at + 8, count, limit, true) ? name : null;
    },
  };
}
