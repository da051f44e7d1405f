import { PERF_SAMPLE_CALLCHAIN } from '@counterpoint/core/abi';
import type { LossFacts } from '@counterpoint/core/loss';
import { chainLimit, isChainAtLimit, SampleLayout } from '@counterpoint/core/records';
import type { LongChains } from '@counterpoint/core/ring';
import type { SampledEvent } from '../perf-events/index.ts';
import { kernelSetting } from '../probe/index.ts';

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
  /** What a scan has to hand over. */
  readonly long: LongChains;
  /** Called for such a sample: the name of its event; null where the chain is whole. */
  eventOfCut(view: DataView, offset: number): string | null;
}

/**
 * Null where samples have no call chains, or where these do not stand at one place in all samples: then only
 * who reads the recording counts what was cut.
 */
export function cutChains(events: readonly SampledEvent[]): CutChains | null {
  const sampling = events
    .filter(({ attr }) => attr.samplePeriodOrFreq > 0n)
    .map(({ attr, name }) => ({ layout: new SampleLayout(attr), limit: chainLimit(attr), name }));
  const [first] = sampling;
  if (first === undefined || first.layout.chainFromStart < 0) return null;
  const { chainFromStart, idFromStart } = first.layout;
  const isOneLayout = sampling.every(
    ({ layout, limit }) =>
      layout.chainFromStart === chainFromStart && layout.idFromStart === idFromStart && limit === first.limit,
  );
  if (!isOneLayout) return null;
  const names = new Map(events.flatMap(({ instances, name }) => instances.map(({ id }) => [id, name])));
  return {
    long: { chainFromStart, words: first.limit },
    eventOfCut(view, offset) {
      // Rings are in the byte order of this machine: all that we record on are little-endian.
      const at = offset + chainFromStart;
      const size = view.getUint16(offset + 6, true);
      const count = Math.min(view.getUint32(at, true), Math.floor((size - chainFromStart - 8) / 8));
      if (!isChainAtLimit(view, at + 8, count, first.limit, true)) return null;
      return (
        (idFromStart < 0 ? undefined : names.get(view.getBigUint64(offset + idFromStart, true))) ?? first.name
      );
    },
  };
}
