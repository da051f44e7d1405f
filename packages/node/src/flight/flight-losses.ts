import type { LossLedger } from '@counterpoint/core/loss';
import type { SampledEvent, SampledEvents } from '../perf-events/index.ts';

interface Pause {
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
  #pauses: Pause[] = [];

  constructor(sampled: SampledEvents) {
    this.#sampled = sampled;
  }

  /** A history has been read: what the kernel counted as lost is of that time. */
  countPause(fromNs: number, lengthNs: number): void {
    const toNs = fromNs + lengthNs;
    for (const { event, cpu, count } of this.#news(({ isSideband }) => !isSideband))
      this.#pauses.push({ fromNs, toNs, event: event.name, cpu, count });
  }

  /**
   * The losses of a history from `fromNs` to `atNs`, and of the ring of processes and maps since the last.
   */
  addTo(ledger: LossLedger, { fromNs, atNs }: { fromNs: number; atNs: number }): void {
    this.#pauses = this.#pauses.filter(({ toNs }) => toNs >= fromNs);
    for (const { event, cpu, count, ...pause } of this.#pauses) {
      const times = { fromNs: BigInt(Math.round(pause.fromNs)), toNs: BigInt(Math.round(pause.toNs)) };
      ledger.add({ kind: 'history-paused', event, cpu, count, ...times });
    }
    for (const { event, cpu, count } of this.#news(({ isSideband }) => isSideband))
      ledger.add({ kind: 'ring-full', event: event.name, cpu, count, toNs: BigInt(Math.round(atNs)) });
  }

  /** What was counted since the last look, by event and CPU. */
  *#news(
    isWanted: (event: SampledEvent) => boolean,
  ): Generator<{ event: SampledEvent; cpu: number; count: bigint }> {
    for (const { event, byInstance } of this.#sampled.readLost()) {
      if (!isWanted(event)) continue;
      for (const { instance, lostSamples } of byInstance) {
        const count = lostSamples - (this.#counted.get(instance.id) ?? 0n);
        this.#counted.set(instance.id, lostSamples);
        if (count > 0n) yield { event, cpu: instance.cpu, count };
      }
    }
  }
}
