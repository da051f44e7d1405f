import {
  PERF_RECORD_AUX,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_FORK,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from '@counterpoint/core/abi';
import { type AuxRecord, decodeRecord, type PerfRecord, SampleLayout } from '@counterpoint/core/records';
import { RecordScan, TimeRange } from '@counterpoint/core/ring';
import {
  type SampledEvent,
  TAKEN_TYPES,
  TakenEvents,
  type TakenProcess,
} from '../../kernel/perf-events/index.ts';
import { TASK_TYPES } from './kept-tasks.ts';
import { layoutFinder } from './layout-finder.ts';
import { type CutChains, cutChains } from './long-chains.ts';
import { LOSS_TYPES, LossWatch } from './loss-watch.ts';

/** Types of the kernel's records that come after the last sample, too, of which only the time matters. */
const TIMED_TYPES: readonly number[] = [
  PERF_RECORD_MMAP,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
];

/** Who hears of what passes. */
export interface RecordListener {
  addMap(record: PerfRecord): void;
  /** Records of `TASK_TYPES`; absent where nobody keeps them. */
  addTask?: ((record: PerfRecord) => void) | undefined;
  /** What was traced into the area of the ring that is being emptied. */
  addAux(record: AuxRecord): void;
  /** The kernel has taken the events off a process. */
  tellTaken(taken: TakenProcess): void;
  /** The CPU of the ring that is being emptied, where that is known. */
  currentCpu(): number | null;
}

/** The records as they go from the rings to the output: samples are counted, maps and losses looked at. */
export class PassingRecords {
  readonly scan: RecordScan;
  readonly loss: LossWatch;
  /** Null where events are on CPUs: nobody takes those. */
  readonly taken: TakenEvents | null;
  readonly takenProcesses: TakenProcess[] = [];
  readonly #events: readonly SampledEvent[];
  /** Null where no sample has a call chain. */
  readonly #cut: CutChains | null;
  readonly #listener: RecordListener;
  /** Of the kernel's records that are no samples. */
  readonly #sidebandTimes = new TimeRange();

  constructor(events: readonly SampledEvent[], wholeCpus: boolean, listener: RecordListener) {
    this.#events = events;
    this.#listener = listener;
    this.loss = new LossWatch((id) => this.#eventName(id));
    this.taken = wholeCpus ? null : new TakenEvents((one) => this.#tellTaken(one));
    this.#cut = cutChains(events);
    this.scan = this.#makeScan();
  }

  /**
   * Of the newest record: what is written last is not before anything that a reader has already handed out.
   */
  lastTimeNs(): bigint {
    const lastSampleNs = this.scan.sampleTimes.get()?.last ?? 0n;
    const lastSidebandNs = this.#sidebandTimes.get()?.last ?? 0n;
    return lastSampleNs > lastSidebandNs ? lastSampleNs : lastSidebandNs;
  }

  #tellTaken(taken: TakenProcess): void {
    this.takenProcesses.push(taken);
    this.#listener.tellTaken(taken);
  }

  #makeScan(): RecordScan {
    const first = new SampleLayout(this.#events[0]!.attr);
    const layoutAt = layoutFinder(this.#events);
    const cut = this.#cut;
    const looked = new Set([
      PERF_RECORD_MMAP2,
      ...(this.#listener.addTask === undefined ? [] : TASK_TYPES),
      ...(cut !== null && cut.long === null ? [PERF_RECORD_SAMPLE] : []),
      ...(this.taken === null ? [] : [...TAKEN_TYPES, PERF_RECORD_FINISHED_ROUND]),
      ...LOSS_TYPES,
    ]);
    return new RecordScan(
      [...looked, ...TIMED_TYPES],
      (type, view, offset, size) => {
        if (type === PERF_RECORD_SAMPLE) {
          const event = cut?.eventOfCut(view, offset) ?? null;
          if (event !== null) this.loss.cutChain(event);
          return;
        }
        if (type === PERF_RECORD_FINISHED_ROUND) {
          this.taken?.beginPass();
          return;
        }
        const layout = layoutAt(view, offset + size);
        const timeAt = offset + size - layout.timeFromEnd;
        if (layout.timeFromEnd > 0)
          this.#sidebandTimes.add(view.getUint32(timeAt, true), view.getUint32(timeAt + 4, true));
        if (!looked.has(type)) return;
        const record = decodeRecord(view, offset, size, layout);
        if (type === PERF_RECORD_MMAP2) this.#listener.addMap(record);
        if (TASK_TYPES.includes(type)) this.#listener.addTask?.(record);
        this.taken?.add(record);
        const cpu = this.#cpuOf(record);
        if (type === PERF_RECORD_AUX) this.#listener.addAux(record as AuxRecord);
        this.loss.add(record, cpu);
      },
      first.timeFromStart,
      cut?.long ?? null,
    );
  }

  /** Samples that formats made, as whole records. */
  addMade(bytes: Uint8Array<ArrayBuffer>): void {
    const cut = this.#cut;
    if (cut === null) return;
    const made = new RecordScan([PERF_RECORD_SAMPLE], (_, view, offset) => {
      const event = cut.eventOfCut(view, offset);
      if (event !== null) this.loss.cutChain(event);
    });
    made.scanPiece(bytes, bytes.length);
  }

  #eventName(id: bigint): string | null {
    const event = this.#events.find(({ instances }) => instances.some((one) => one.id === id));
    return event?.name ?? null;
  }

  /**
   * The CPU whose ring a record of loss stood in; else by the event that it names: events are bound to CPUs.
   */
  #cpuOf(record: PerfRecord): number | null {
    const current = this.#listener.currentCpu();
    if (current !== null) return current;
    const { sampleId } = record;
    const named = 'id' in record && typeof record.id === 'bigint' ? record.id : sampleId?.id;
    for (const { instances } of this.#events) {
      const instance = instances.find(({ id }) => id === named);
      if (instance !== undefined) return instance.cpu;
    }
    return sampleId?.cpu ?? null;
  }
}
