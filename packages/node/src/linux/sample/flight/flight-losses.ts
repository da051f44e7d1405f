import type { LossLedger } from '@counterpoint/core/loss';
import type { SampledEvent, SampledEvents } from '../../kernel/perf-events/index.ts';
import { FrameHistory } from './frame-history.ts';

interface Loss {
  fromNs: number;
  toNs: number;
  event: string;
  cpu: number;
  count: bigint;
}

/**
 * What is missing from histories, by the kernel's own counts: a ring that overwrites is never full, so an
 * event loses records only while its ring is read. Those are missing from the histories after.
 */
export class FlightLosses {
  readonly #sampled: SampledEvents;
  readonly #counted = new Map<bigint, bigint>();
  #pauses: Loss[] = [];
  /** Records of processes and maps, and samples with stacks, that found no room. */
  #names: Loss[] = [];
  #lookedNs: number;

  constructor(sampled: SampledEvents, startedNs: number) {
    this.#sampled = sampled;
    this.#lookedNs = startedNs;
  }

  /** A history has been read: what the kernel counted as lost is of that time. */
  countPause(fromNs: number, lengthNs: number): void {
    const toNs = fromNs + lengthNs;
    for (const { event, cpu, count } of this.#news(false))
      this.#pauses.push({ fromNs, toNs, event: event.name, cpu, count });
  }

  /**
   * Whether the ring of processes and maps had no room since the last time. All files that go back to then
   * have that loss: what ran then may have other names.
   */
  lookAtNames(nowNs: number): boolean {
    // Kernels before 6.0 do not count them: then there may be some.
    let isNew = this.#sampled.readLost().length === 0;
    for (const { event, cpu, count } of this.#news(true)) {
      isNew = true;
      this.#names.push({ fromNs: this.#lookedNs, toNs: nowNs, event: event.name, cpu, count });
    }
    this.#lookedNs = nowNs;
    return isNew;
  }

  /** The losses of a history from `fromNs` on. */
  addTo(ledger: LossLedger, fromNs: number): void {
    this.#pauses = this.#pauses.filter(({ toNs }) => toNs >= fromNs);
    this.#names = this.#names.filter(({ toNs }) => toNs >= fromNs);
    for (const pause of this.#pauses) ledger.add({ ...pause, kind: 'history-paused', ...timesOf(pause) });
    for (const loss of this.#names) ledger.add({ ...loss, kind: 'ring-full', ...timesOf(loss) });
  }

  /** What was counted since the last look, by event and CPU. */
  *#news(ofNames: boolean): Generator<{ event: SampledEvent; cpu: number; count: bigint }> {
    const events = this.#sampled.events.filter(
      (event) => (event.isSideband || FrameHistory.has(event)) === ofNames,
    );
    for (const { event, byInstance } of this.#sampled.readLost(events)) {
      for (const { instance, lostSamples } of byInstance) {
        const count = lostSamples - (this.#counted.get(instance.id) ?? 0n);
        this.#counted.set(instance.id, lostSamples);
        if (count > 0n) yield { event, cpu: instance.cpu, count };
      }
    }
  }
}

function timesOf({ fromNs, toNs }: Loss): { fromNs: bigint; toNs: bigint } {
  return { fromNs: BigInt(Math.round(fromNs)), toNs: BigInt(Math.round(toNs)) };
}
