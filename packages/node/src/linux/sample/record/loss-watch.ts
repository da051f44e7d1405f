import {
  PERF_RECORD_AUX,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
} from '@counterpoint/core/abi';
import { auxLosses, LossLedger } from '@counterpoint/core/loss';
import type {
  AuxRecord,
  LostRecord,
  LostSamplesRecord,
  PerfRecord,
  ThrottleRecord,
  UnthrottleRecord,
} from '@counterpoint/core/records';

/** Types of records that speak of loss. */
export const LOSS_TYPES: readonly number[] = [
  PERF_RECORD_AUX,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
];

interface Throttled {
  event: string | null;
  cpu: number | null;
  fromNs: bigint;
}

/** Fills the loss ledger from the records that pass by while recording. */
export class LossWatch {
  readonly ledger = new LossLedger();
  /** Records that rings had no room for. */
  lostRecords = 0n;
  readonly #eventName: (id: bigint) => string | null;
  readonly #throttled = new Map<bigint, Throttled>();

  /** Samples of each event whose call chain was cut at the kernel's limit. */
  readonly #cutChains = new Map<string, number>();

  constructor(eventName: (id: bigint) => string | null) {
    this.#eventName = eventName;
  }

  add(record: PerfRecord, cpu: number | null): void {
    const time = record.sampleId?.time ?? null;
    switch (record.type) {
      case PERF_RECORD_LOST: {
        const { id, lost } = record as LostRecord;
        this.lostRecords += lost;
        this.ledger.add({ kind: 'ring-full', event: this.#eventName(id), cpu, toNs: time, count: lost });
        break;
      }
      case PERF_RECORD_AUX: {
        const { flags, sampleId } = record as AuxRecord;
        const event = this.#eventName(sampleId?.id ?? 0n);
        for (const kind of auxLosses(flags)) this.ledger.add({ kind, event, cpu, toNs: time, count: 1 });
        break;
      }
      case PERF_RECORD_LOST_SAMPLES:
        this.ledger.add({ kind: 'lost-samples', cpu, toNs: time, count: (record as LostSamplesRecord).lost });
        break;
      case PERF_RECORD_THROTTLE: {
        const { id, streamId, time: fromNs } = record as ThrottleRecord;
        this.#throttled.set(streamId, { event: this.#eventName(id), cpu, fromNs });
        break;
      }
      case PERF_RECORD_UNTHROTTLE: {
        const { streamId, time: toNs } = record as UnthrottleRecord;
        const began = this.#throttled.get(streamId);
        this.#throttled.delete(streamId);
        if (began !== undefined)
          this.ledger.add({ kind: 'throttled', ...began, toNs, count: toNs - began.fromNs });
        break;
      }
    }
  }

  /** A sample with as many addresses as the kernel puts into a call chain. */
  cutChain(event: string): void {
    this.#cutChains.set(event, (this.#cutChains.get(event) ?? 0) + 1);
  }

  /** Events that were never let go again, and losses that only the events' own counts tell of. */
  finish(counts: readonly { name: string; lostSamples: bigint | null }[]): void {
    for (const began of this.#throttled.values())
      this.ledger.add({ kind: 'throttled', ...began, count: 0n, exact: false });
    this.#throttled.clear();
    for (const [event, count] of this.#cutChains) this.ledger.add({ kind: 'call-chain-cut', event, count });
    this.#cutChains.clear();
    const lossy = counts.filter(({ lostSamples }) => lostSamples !== null && lostSamples > 0n);
    this.ledger.addUntold(
      this.lostRecords,
      lossy.reduce((sum, { lostSamples }) => sum + lostSamples!, 0n),
      lossy.map(({ name }) => name),
    );
  }
}
