import { PERF_COUNT_SW_DUMMY, PERF_TYPE_SOFTWARE } from '@counterpoint/core/abi';
import { encodeAttr, makeAttr } from '@counterpoint/core/records';
import { HistoryRing, mappedHistory, type RecordTimes, type StoppedHistory } from '@counterpoint/core/ring';
import { explainMmapError, type SampledEvents } from '../../kernel/perf-events/index.ts';
import { type Fd, type Mapping, type Sys, SysError } from '../../kernel/sys/index.ts';
import { FrameHistory } from './frame-history.ts';

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

/** Rings of one size, one for each CPU, and when events wrote to them. */
interface Generation {
  readonly rings: readonly History[];
  readonly fromNs: number;
  toNs: number;
}

/** A ring, and the time in which it was written. */
export interface WrittenRing {
  readonly cpu: number;
  readonly ring: HistoryRing;
  readonly fromNs: number;
  readonly toNs: number;
}

/**
 * A ring per CPU for the newest records. Each belongs to an event that counts nothing, so that the events
 * which write to it can be given a larger one while they run:
 *
 *   event A, CPU 0 ──┐
 *   event B, CPU 0 ──┴─> dummy, CPU 0: ring        later: ──> another dummy, CPU 0: larger ring
 *
 * The smaller rings are kept for as long as what is in them is wanted.
 */
export class Histories implements Disposable {
  readonly #sys: Sys;
  readonly #request: HistoriesRequest;
  /** Oldest first; events write to the rings of the last. */
  #generations: Generation[] = [];
  #taken: Pick<SampledEvents, 'events'> | null = null;
  /** The user may not lock more. */
  #cannotGrow = false;

  constructor(sys: Sys, request: HistoriesRequest) {
    this.#sys = sys;
    this.#request = request;
  }

  /** Rings of this size, or as large as the user may lock. */
  static open(sys: Sys, request: HistoriesRequest): Histories {
    const histories = new Histories(sys, request);
    for (let { pages } = request; ; pages /= 2) {
      try {
        histories.#add(pages, Number(sys.clockNs(request.clockId)));
        return histories;
      } catch (error) {
        if (!isMemoryError(error) || pages <= 1) throw explained(error);
      }
    }
  }

  #add(pages: number, fromNs: number): void {
    const rings: History[] = [];
    try {
      for (const cpu of this.#request.cpus)
        rings.push(openHistory(this.#sys, cpu, this.#request.clockId, pages));
    } catch (error) {
      for (const one of rings) close(one);
      throw error;
    }
    this.#generations.push({ rings, fromNs, toNs: Number.POSITIVE_INFINITY });
  }

  /** Of each ring that is written now. */
  get ringBytes(): number {
    return this.#generations.at(-1)!.rings[0]?.ring.memory.data.length ?? 0;
  }

  /** Of all rings. */
  get totalBytes(): number {
    return this.rings.reduce((sum, { ring }) => sum + ring.memory.data.length, 0);
  }

  /** Those that are written now. */
  get current(): readonly HistoryRing[] {
    return this.#generations.at(-1)!.rings.map(({ ring }) => ring);
  }

  get rings(): WrittenRing[] {
    return this.#generations.flatMap(({ rings, fromNs, toNs }) =>
      rings.map(({ cpu, ring }) => ({ cpu, ring, fromNs, toNs })),
    );
  }

  /**
   * Events that were opened without a ring write to these, each to that of its CPU. Those with stacks write
   * to the rings of processes and maps, which are read all the time.
   */
  take(sampled: Pick<SampledEvents, 'events'>): void {
    this.#taken = sampled;
    const owners = new Map(this.#generations.at(-1)!.rings.map(({ cpu, owner }) => [cpu, owner]));
    const told = sampled.events.find(({ isSideband }) => isSideband);
    const read = new Map(told?.instances.map(({ cpu, fd }) => [cpu, fd]));
    for (const event of sampled.events) {
      if (event.isSideband || event.isMuted === true) continue;
      const outputs = FrameHistory.has(event) ? read : owners;
      for (const { fd, cpu } of event.instances) this.#sys.setOutput(fd, outputs.get(cpu)!);
    }
  }

  /**
   * Larger rings from now on, while all together take no more than `mostBytes`. What is in the others stays.
   * False where they have to do.
   */
  grow(wantedBytes: number, mostBytes: number, nowNs: number): boolean {
    const page = this.#sys.pageSizeBytes();
    let pages = 2 ** Math.ceil(Math.log2(Math.max(1, wantedBytes / page)));
    while (pages * page * this.#request.cpus.length + this.totalBytes > mostBytes) pages /= 2;
    if (this.#cannotGrow || pages * page <= this.ringBytes) return false;
    try {
      this.#add(pages, nowNs);
    } catch (error) {
      if (!isMemoryError(error)) throw error;
      this.#cannotGrow = true;
      return false;
    }
    this.take(this.#taken!);
    this.#generations.at(-2)!.toNs = nowNs;
    return true;
  }

  /** What was written before this is not wanted any more. */
  forget(beforeNs: number): void {
    const isOld = ({ toNs }: Generation) => toNs < beforeNs;
    for (const { rings } of this.#generations.filter(isOld)) for (const one of rings) close(one);
    this.#generations = this.#generations.filter((one) => !isOld(one));
  }

  /**
   * Read the rings while the kernel writes nothing into them; what it would have written meanwhile it counts
   * as lost. `use` may look at their memory until it returns. In the order of `rings`.
   */
  stopped<Result>(
    times: RecordTimes,
    fromNs: number,
    use: (histories: readonly StoppedHistory[]) => Result,
  ): Result {
    const owners = this.#generations.at(-1)!.rings.map(({ owner }) => owner);
    for (const owner of owners) this.#sys.pauseOutput(owner, true);
    try {
      return use(
        this.rings.map(({ ring }) => ({ memory: ring.memory, records: ring.records(times, fromNs) })),
      );
    } finally {
      for (const owner of owners) this.#sys.pauseOutput(owner, false);
    }
  }

  [Symbol.dispose](): void {
    for (const { rings } of this.#generations) for (const one of rings) close(one);
  }
}

function isMemoryError(error: unknown): boolean {
  return error instanceof SysError && (error.code === 'EPERM' || error.code === 'ENOMEM');
}

function explained(error: unknown): unknown {
  return error instanceof SysError
    ? explainMmapError(error, 'the history', 'watch fewer CPUs with -C')
    : error;
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
