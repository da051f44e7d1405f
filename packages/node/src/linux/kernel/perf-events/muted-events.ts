/**
 * Events whose samples a program makes from what the kernel does not put into its records (call chains that a
 * handler finds). The kernel's own records of them would not be readable. It writes some nevertheless: a
 * child that is forked before the program is attached inherits the event without it, and the scheduler may
 * give that child's events to its parent. So they write into a ring that is paused, where the kernel counts:
 *
 *   sample with the program     ──> the program's maps
 *   sample without              ──> paused ring of the CPU ──> lost count of the event (PERF_FORMAT_LOST)
 */
import { PERF_COUNT_SW_DUMMY, PERF_SAMPLE_CALLCHAIN, PERF_TYPE_SOFTWARE } from '@counterpoint/core/abi';
import { encodeAttr, makeAttr, type PerfEventAttr } from '@counterpoint/core/records';
import { type Fd, type Mapping, type Sys, SysError } from '../sys/index.ts';
import { openedSampleType } from './open-event.ts';
import type { PlannedEvent } from './planned-event.ts';

/** Known once the event is open: what the kernel takes decides who finds call chains. */
export function isMuted(event: Pick<PlannedEvent, 'attr' | 'sampleBitsOfOthers'>): boolean {
  return (event.attr.sampleType & ~openedSampleType(event) & BigInt(PERF_SAMPLE_CALLCHAIN)) !== 0n;
}

/** This process: whoever may record anything may have a ring of its own. */
const OWN_TASK = 0;

/** A ring per CPU that takes nothing. */
export class PausedRings implements Disposable {
  readonly #sys: Sys;
  readonly #rings = new Map<string, { fd: Fd; mapping: Mapping } | null>();

  constructor(sys: Sys) {
    this.#sys = sys;
  }

  /** Without memory for a ring its records go nowhere, too, and nobody counts them. */
  take(fd: Fd, cpu: number, attr: PerfEventAttr): void {
    const { useClockId, writeBackward } = attr.flags;
    const key = `${cpu} ${useClockId} ${attr.clockId} ${writeBackward}`;
    const ring = this.#rings.get(key) ?? (this.#rings.has(key) ? null : this.#open(cpu, attr));
    this.#rings.set(key, ring);
    if (ring !== null) this.#sys.setOutput(fd, ring.fd);
  }

  /** Events share rings only where clock and direction are the same. */
  #open(cpu: number, { clockId, flags: { useClockId, writeBackward } }: PerfEventAttr) {
    const attr = makeAttr({
      type: PERF_TYPE_SOFTWARE,
      config: BigInt(PERF_COUNT_SW_DUMMY),
      samplePeriodOrFreq: 1n,
      clockId,
      flags: { useClockId, writeBackward, excludeKernel: 1, excludeHv: 1, disabled: 1 },
    });
    let fd: Fd | null = null;
    try {
      fd = this.#sys.perfEventOpen(encodeAttr(attr), OWN_TASK, cpu, null);
      const mapping = this.#sys.mmap(fd, 2 * this.#sys.pageSizeBytes());
      this.#sys.pauseOutput(fd, true);
      return { fd, mapping };
    } catch (error) {
      fd?.close();
      if (!(error instanceof SysError)) throw error;
      return null;
    }
  }

  [Symbol.dispose](): void {
    for (const ring of this.#rings.values()) {
      ring?.mapping.close();
      ring?.fd.close();
    }
    this.#rings.clear();
  }
}
