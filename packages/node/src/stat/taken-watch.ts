import {
  PERF_COUNT_SW_DUMMY,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { decodeRecord, encodeAttrShortest, makeAttr, SampleLayout } from '@counterpoint/core/records';
import { ForwardRing, mappedRing, RecordScan } from '@counterpoint/core/ring';
import { TAKEN_TYPES, TakenEvents, type TakenProcess } from '../perf-events/index.ts';
import type { Fd, Mapping, Sys } from '../sys/index.ts';

/** 32 KiB hold the execs and the libraries of a few hundred programs. */
const RING_PAGES = 8;

const ATTR = makeAttr({
  type: PERF_TYPE_SOFTWARE,
  config: BigInt(PERF_COUNT_SW_DUMMY),
  samplePeriodOrFreq: 1n,
  sampleType: BigInt(PERF_SAMPLE_TID | PERF_SAMPLE_TIME),
  flags: { excludeKernel: 1, excludeHv: 1, sampleIdAll: 1, comm: 1, commExec: 1, task: 1, mmap: 1, mmap2: 1 },
});

/**
 * Whether the kernel took the events of one process at an exec: counters say nothing of that, they stand
 * still. An event that counts nothing lies beside them, with a ring for its records. Children are not
 * watched: that would be a ring for each CPU, and work at every fork that is counted.
 */
export class TakenWatch implements Disposable {
  readonly #fd: Fd;
  readonly #mapping: Mapping;
  readonly #ring: ForwardRing;

  private constructor(sys: Sys, pid: number) {
    const page = sys.pageSizeBytes();
    this.#fd = sys.perfEventOpen(encodeAttrShortest(ATTR), pid, -1, null);
    try {
      this.#mapping = sys.mmap(this.#fd, page * (RING_PAGES + 1));
    } catch (error) {
      this.#fd.close();
      throw error;
    }
    this.#ring = new ForwardRing(mappedRing(this.#mapping.buffer, page));
  }

  /** Null where it is not possible: there is nothing to count then, or no memory to lock. */
  static open(sys: Sys, pid: number): TakenWatch | null {
    try {
      return new TakenWatch(sys, pid);
    } catch {
      return null;
    }
  }

  /** What happened, when all is over. */
  taken(): TakenProcess[] {
    const taken: TakenProcess[] = [];
    const events = new TakenEvents((one) => taken.push(one));
    const layout = new SampleLayout(ATTR);
    const scan = new RecordScan(TAKEN_TYPES, (_, view, offset, size) =>
      events.add(decodeRecord(view, offset, size, layout)),
    );
    if (this.#ring.take() > 0) scan.scan(this.#ring.memory.data, this.#ring.tail, this.#ring.head);
    this.#ring.commit();
    events.finish();
    return taken;
  }

  [Symbol.dispose](): void {
    this.#mapping.close();
    this.#fd.close();
  }
}
