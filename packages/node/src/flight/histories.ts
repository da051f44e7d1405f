import { PERF_COUNT_SW_DUMMY, PERF_TYPE_SOFTWARE } from '@counterpoint/core/abi';
import { encodeAttr, makeAttr } from '@counterpoint/core/records';
import { HistoryRing, mappedHistory, type RecordTimes, type StoppedHistory } from '@counterpoint/core/ring';
import { explainMmapError, type SampledEvents } from '../perf-events/index.ts';
import { type Fd, type Mapping, type Sys, SysError } from '../sys/index.ts';

/** A ring that overwrites, and the event that has it. */
interface History {
  readonly cpu: number;
  readonly owner: Fd;
  readonly mapping: Mapping;
  readonly ring: HistoryRing;
}

export interface HistoriesRequest {
  cpus: readonly number[];
  clockId: number;
  /** Data pages of each: a power of two. */
  pages: number;
}

/** The events of this process itself: whoever may record anything may have those. */
const OWN_TASK = 0;

/**
 * A ring per CPU for the newest records. Each belongs to an event that counts nothing, so that the events
 * which write to it can be given another one while they run:
 *
 *   event A, CPU 0 ──┐
 *   event B, CPU 0 ──┴─> dummy, CPU 0: ring
 */
export class Histories implements Disposable {
  readonly #sys: Sys;
  readonly #all: readonly History[];

  constructor(sys: Sys, all: readonly History[]) {
    this.#sys = sys;
    this.#all = all;
  }

  /** Rings of this size, or as large as the user may lock. */
  static open(sys: Sys, { cpus, clockId, pages: wanted }: HistoriesRequest): Histories {
    for (let pages = wanted; ; pages /= 2) {
      const all: History[] = [];
      try {
        for (const cpu of cpus) all.push(openHistory(sys, cpu, clockId, pages));
        return new Histories(sys, all);
      } catch (error) {
        for (const one of all) close(one);
        if (!(error instanceof SysError)) throw error;
        const isMemory = error.code === 'EPERM' || error.code === 'ENOMEM';
        if (!isMemory || pages <= 1) throw explainMmapError(error, 'the history', 'watch fewer CPUs with -C');
      }
    }
  }

  /** Of each ring. */
  get sizeBytes(): number {
    return this.#all[0]?.ring.memory.data.length ?? 0;
  }

  get rings(): readonly { readonly cpu: number; readonly ring: HistoryRing }[] {
    return this.#all;
  }

  /** Events that were opened without a ring write to these, each to that of its CPU. */
  take({ events }: Pick<SampledEvents, 'events'>): void {
    const owners = new Map(this.#all.map(({ cpu, owner }) => [cpu, owner]));
    for (const { instances, isSideband } of events) {
      if (isSideband) continue;
      for (const { fd, cpu } of instances) this.#sys.setOutput(fd, owners.get(cpu)!);
    }
  }

  /**
   * Read the rings while the kernel writes nothing into them; what it would have written meanwhile it counts
   * as lost. `use` may look at their memory until it returns.
   */
  stopped<Result>(
    times: RecordTimes,
    fromNs: number,
    use: (histories: readonly StoppedHistory[]) => Result,
  ): Result {
    for (const { owner } of this.#all) this.#sys.pauseOutput(owner, true);
    try {
      return use(
        this.#all.map(({ ring }) => ({ memory: ring.memory, records: ring.records(times, fromNs) })),
      );
    } finally {
      for (const { owner } of this.#all) this.#sys.pauseOutput(owner, false);
    }
  }

  [Symbol.dispose](): void {
    for (const one of this.#all) close(one);
  }
}

function openHistory(sys: Sys, cpu: number, clockId: number, pages: number): History {
  const attr = makeAttr({
    type: PERF_TYPE_SOFTWARE,
    config: BigInt(PERF_COUNT_SW_DUMMY),
    samplePeriodOrFreq: 1n,
    clockId,
    flags: { writeBackward: 1, useClockId: 1, excludeKernel: 1, excludeHv: 1, disabled: 1 },
  });
  const owner = sys.perfEventOpen(encodeAttr(attr), OWN_TASK, cpu, null);
  try {
    const page = sys.pageSizeBytes();
    // Without the right to write: so the kernel overwrites what nobody has read.
    const mapping = sys.mapRange(owner, 0, page * (pages + 1), 'read');
    return { cpu, owner, mapping, ring: new HistoryRing(mappedHistory(mapping.buffer, page)) };
  } catch (error) {
    owner.close();
    throw error;
  }
}

function close({ mapping, owner }: History): void {
  mapping.close();
  owner.close();
}
