import {
  PERF_COUNT_SW_DUMMY,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { decodeRecord, encodeAttrShortest, makeAttr, SampleLayout } from '@counterpoint/core/records';
import { ForwardRing, mappedRing, RecordScan } from '@counterpoint/core/ring';
import { TAKEN_TYPES, TakenEvents, type TakenProcess } from '../../kernel/perf-events/index.ts';
import type { Fd, Mapping, Sys } from '../../kernel/sys/index.ts';
import { onlineCpus } from '../../kernel/target/index.ts';

const ANY_CPU = -1;

/** Of the process alone: 32 KiB hold its execs, and the libraries of a few hundred programs. */
const RING_PAGES = 8;
/** With its children, for each CPU: what some hundred programs begin until it is read again. */
const RING_PAGES_WITH_CHILDREN = 32;
const READ_EVERY_MS = 50;
/**
 * On more CPUs children are not watched: each event makes each of their forks longer (measured: 8 us of 500).
 * To root few programs give anything that it does not have.
 */
export const MOST_CPUS = process.geteuid?.() === 0 ? 4 : 16;

const ATTR = makeAttr({
  type: PERF_TYPE_SOFTWARE,
  config: BigInt(PERF_COUNT_SW_DUMMY),
  samplePeriodOrFreq: 1n,
  sampleType: BigInt(PERF_SAMPLE_TID | PERF_SAMPLE_TIME),
  flags: { excludeKernel: 1, excludeHv: 1, sampleIdAll: 1, comm: 1, commExec: 1, task: 1, mmap: 1, mmap2: 1 },
});
const ATTR_WITH_CHILDREN = makeAttr({ ...ATTR, flags: { ...ATTR.flags, inherit: 1 } });
const LAYOUT = new SampleLayout(ATTR);

interface WatchRing {
  fd: Fd;
  mapping: Mapping;
  ring: ForwardRing;
}

/**
 * Whether the kernel took the events of a process, or of a child of it, at an exec: counters say nothing of
 * that, they stand still. An event that counts nothing lies beside them, with a ring for its records; with
 * children there is one on each CPU, as the kernel asks for.
 */
export class TakenWatch implements Disposable {
  readonly #rings: WatchRing[] = [];
  readonly #found: TakenProcess[] = [];
  readonly #events = new TakenEvents((one) => this.#found.push(one));
  readonly #scan = new RecordScan(TAKEN_TYPES, (_, view, offset, size) =>
    this.#events.add(decodeRecord(view, offset, size, LAYOUT)),
  );
  readonly #timer: NodeJS.Timeout | undefined;

  private constructor(sys: Sys, pid: number, cpus: readonly number[]) {
    const hasChildren = cpus[0] !== ANY_CPU;
    const attr = encodeAttrShortest(hasChildren ? ATTR_WITH_CHILDREN : ATTR);
    const page = sys.pageSizeBytes();
    const size = page * ((hasChildren ? RING_PAGES_WITH_CHILDREN : RING_PAGES) + 1);
    try {
      for (const cpu of cpus) {
        const fd = sys.perfEventOpen(attr, pid, cpu, null);
        this.#rings.push({ fd, ...ringOf(sys, fd, size, page) });
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
    if (hasChildren) this.#timer = setInterval(() => this.#read(), READ_EVERY_MS).unref();
  }

  /**
   * Null where it is not possible: there is nothing to count then, or no memory to lock. `withChildren`: of
   * what the process starts, too, as far as this machine's CPUs and locked memory allow.
   */
  static open(sys: Sys, pid: number, { withChildren }: { withChildren: boolean }): TakenWatch | null {
    const cpus = withChildren ? onlineCpus() : [];
    for (const places of cpus.length > 0 && cpus.length <= MOST_CPUS ? [cpus, [ANY_CPU]] : [[ANY_CPU]])
      try {
        return new TakenWatch(sys, pid, places);
      } catch {}
    return null;
  }

  #read(): void {
    this.#events.beginPass();
    for (const { ring } of this.#rings) {
      if (ring.take() > 0) this.#scan.scan(ring.memory.data, ring.tail, ring.head);
      ring.commit();
    }
  }

  /** What happened, when all is over. */
  taken(): TakenProcess[] {
    this.#read();
    this.#events.finish();
    return this.#found;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const { mapping, fd } of this.#rings.splice(0)) {
      mapping.close();
      fd.close();
    }
  }
}

function ringOf(sys: Sys, fd: Fd, size: number, page: number): Omit<WatchRing, 'fd'> {
  try {
    const mapping = sys.mmap(fd, size);
    return { mapping, ring: new ForwardRing(mappedRing(mapping.buffer, page)) };
  } catch (error) {
    fd.close();
    throw error;
  }
}
