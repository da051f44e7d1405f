/**
 * Suspended until resumed, perfmon2's way: what notifies stops the counting, and what came of it can be
 * looked at with nothing running.
 *
 *   handler, at the end of a run that notified     gate: 0 -> number of its counter; the verdict `keep`: the kernel takes one off
 *                                                  PERF_EVENT_IOC_REFRESH's 1, and has disabled the counter when this run is over
 *   all other programs of the format, on all CPUs  end at once while the gate is shut
 *   we, woken                                      disable the other counters; collect; onRestart; open the gate; enable all
 *
 * A record is kept that way, which no ring takes: the counters of such a format have
 * none (`PlannedEvent.hasNoRing`).
 */
import { BPF_F_MMAPABLE, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { LossFacts } from '@counterpoint/core/loss';
import {
  type BpfMap,
  type BpfMapDefinition,
  bpfStruct,
  r0,
  r1,
  r2,
  r7,
  r8,
  r9,
} from '../../kernel/bpf/index.ts';
import type { PlannedEvent, SampledEvent } from '../../kernel/perf-events/index.ts';
import type { Fd, Mapping, Sys } from '../../kernel/sys/index.ts';
import type { FormatPlan, SamplingFormat, SuspendedBy } from './format.ts';
import type { FormatAssembler } from './format-assembler.ts';

const Gate = bpfStruct({
  /** 0: open. The number of a counter from 1; or one of the two below. */
  shutBy: 'u64',
  sinceNs: 'u64',
});
const SHUT_BY_PROGRAM = 0x7fff_ffff;
const SHUT_BY_US = 0x7fff_fffe;

export const SUSPENSION_GATE: BpfMapDefinition = {
  name: 'suspension',
  type: 'array',
  keySizeBytes: 4,
  valueSizeBytes: Gate.sizeBytes,
  maxEntries: 1,
  flags: BPF_F_MMAPABLE,
};

/** Throws where a format suspends, and the kernel cannot stop one of these events at its overflow. */
export function requireSuspension(
  { name: format, onOverflow, ownEvents }: SamplingFormat,
  { suspend = false }: FormatPlan,
  events: readonly Pick<PlannedEvent, 'name' | 'attr' | 'probe'>[],
): void {
  if (!suspend) return;
  const refused = (why: string, remedy: string) =>
    new CounterpointError('ERR_FORMAT_SUSPEND', `the format ${format} suspends its counters: ${why}`, remedy);
  if (onOverflow === undefined || ownEvents !== undefined)
    throw refused(
      'it has no handler that could stop a counter',
      'Give it onOverflow and no events of its own, or leave out suspend from its plan.',
    );
  for (const { name, attr, probe = null } of events) {
    if (attr.type === PERF_TYPE_TRACEPOINT || probe !== null)
      throw refused(
        `the kernel cannot stop ${name} at a hit, because its handler is on the ${probe === null ? 'tracepoint' : 'probe'}, not on the counter`,
        'Use it with a clock, a counter, a software event or a breakpoint.',
      );
    if (attr.flags.inherit === 1)
      throw refused(
        `the kernel cannot stop ${name} at its overflow if it follows new threads and children`,
        'Record without following them (-i, --no-inherit), or record whole CPUs (-a, -C).',
      );
  }
}

/** The kernel's side, in one program: at its beginning, where it notifies, and where its runs end. */
export class SuspensionWriter {
  readonly #asm: FormatAssembler;
  readonly #isHandler: boolean;
  readonly #wanted;

  /** Writes the very beginning of a program: what is before the recording is nothing, and no loss. */
  constructor(asm: FormatAssembler, isHandler: boolean) {
    this.#asm = asm;
    this.#isHandler = isHandler;
    this.#wanted = asm.stack('suspension is wanted', 8);
    asm.store(this.#wanted, 0);
    this.#loadShutBy();
    asm.if(r1, '==', SHUT_BY_US, () => this.#leave());
  }

  /** Ends here while the gate is shut. The run is counted already. */
  writeGate(countSuspended: () => void): void {
    this.#loadShutBy();
    this.#asm.if(r1, '!=', 0, () => {
      if (this.#isHandler) countSuspended();
      this.#leave();
    });
  }

  #loadShutBy(): void {
    this.#asm.loadMapValue(r1, SUSPENSION_GATE);
    this.#asm.load(r1, Gate.at(r1).shutBy);
  }

  #leave(): void {
    this.#asm.exitAtOnce(this.#isHandler ? 0 : 1);
  }

  /** In place of a notification: that comes when the run is over, and all is in the maps. */
  want(): void {
    this.#asm.store(this.#wanted, 1);
  }

  /** r9 becomes the verdict. Where two CPUs are at this place, the second one's overflow stops nothing. */
  writeEnd(notify: () => void): void {
    const asm = this.#asm;
    if (this.#isHandler) asm.move(r9, 0);
    asm.load(r1, this.#wanted);
    asm.if(r1, '!=', 0, () => {
      if (this.#isHandler) {
        asm.call('get_attach_cookie', asm.context);
        asm.move(r7, r0);
      } else asm.move(r7, SHUT_BY_PROGRAM);
      asm.call('ktime_get_ns');
      asm.move(r8, r0);
      asm.loadMapValue(r1, SUSPENSION_GATE);
      asm.move(r0, 0);
      asm.move(r2, r7);
      asm.atomicCompareExchange(Gate.at(r1).shutBy, r2);
      asm.if(r0, '==', 0, () => {
        asm.store(Gate.at(r1).sinceNs, r8);
        if (this.#isHandler) asm.move(r9, 1);
        notify();
      });
    });
  }
}

interface Counter {
  readonly fd: Fd;
  readonly event: number;
  readonly cpu: number;
  readonly isLeader: boolean;
}

/** Every counter of a format, in the order of their numbers; the first is 1. */
function countersOf(events: readonly SampledEvent[]): Counter[] {
  return events.flatMap(({ instances, leader }, event) =>
    instances.map(({ fd, cpu }) => ({ fd, event, cpu, isLeader: leader === null })),
  );
}

/** What the helper get_attach_cookie tells a handler. */
export function suspensionCookies(events: readonly SampledEvent[]): ReadonlyMap<Fd, bigint> {
  return new Map(countersOf(events).map(({ fd }, index) => [fd, BigInt(index + 1)]));
}

/** Our side: shut from the start until `arm`. */
export class Suspension implements Disposable {
  readonly #sys: Sys;
  readonly #counters: readonly Counter[];
  readonly #mapping: Mapping;
  readonly #words: BigUint64Array;
  #isStopped = false;
  #times = 0;
  #totalNs = 0n;
  #fromNs: bigint | null = null;
  #toNs: bigint | null = null;
  /** The counters are stopped for good. */
  #hasEnded = false;

  constructor(sys: Sys, gate: BpfMap, events: readonly SampledEvent[]) {
    this.#sys = sys;
    this.#counters = countersOf(events);
    this.#mapping = gate.mapValues('write');
    this.#words = new BigUint64Array(this.#mapping.buffer, 0, Gate.sizeBytes / 8);
    this.#shutBy = BigInt(SHUT_BY_US);
  }

  /**
   * The programs are attached. Every counter has one overflow that stops it, and waits to
   * be enabled as if it had not.
   */
  arm(): void {
    // REFRESH enables, too; what comes now finds the gate shut, and is not to be in the counts. A member of a
    // group waits for its leader.
    for (const { fd } of this.#counters) this.#sys.refresh(fd, 1);
    this.#disableAll();
    for (const { fd } of this.#counters) this.#sys.reset(fd);
    this.#shutBy = 0n;
  }

  /**
   * Somebody notified: nothing of the format counts when this returns. False where there is nothing to stop.
   */
  stop(): boolean {
    if (this.#hasEnded || this.#isStopped || this.#shutBy === 0n) return false;
    this.#isStopped = true;
    this.#disableAll();
    return true;
  }

  /** Null: it is not suspended. */
  get suspendedBy(): SuspendedBy | null {
    if (!this.#isStopped) return null;
    const { event = null, cpu = null } = this.#stoppedCounter ?? {};
    return { event, cpu, sinceNs: this.#sinceNs };
  }

  /** Count on. */
  resume(nowNs: bigint): void {
    const spent = this.#stoppedCounter;
    this.#add(nowNs);
    this.#isStopped = false;
    this.#shutBy = 0n;
    for (const counter of this.#counters) {
      // REFRESH adds to the overflows that are left. Whoever was stopped by us has its one still.
      if (counter === spent) this.#sys.refresh(counter.fd, 1);
      else if (counter.isLeader) this.#sys.enable(counter.fd);
    }
  }

  /** The recording is over. */
  end(nowNs: bigint): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.#shutBy !== 0n) this.#add(nowNs);
  }

  totals(): { times: number; ns: bigint } {
    return { times: this.#times, ns: this.#totalNs };
  }

  /** The time that nobody saw. */
  losses(event: string | null): LossFacts[] {
    if (this.#times === 0) return [];
    const count = this.#totalNs;
    return [{ kind: 'format-suspended', event, count, fromNs: this.#fromNs, toNs: this.#toNs }];
  }

  [Symbol.dispose](): void {
    this.#mapping.close();
  }

  #disableAll(): void {
    for (const { fd, isLeader } of this.#counters) if (isLeader) this.#sys.disable(fd);
  }

  #add(nowNs: bigint): void {
    this.#times++;
    this.#fromNs ??= this.#sinceNs;
    this.#toNs = nowNs;
    this.#totalNs += nowNs - this.#sinceNs;
  }

  get #stoppedCounter(): Counter | undefined {
    return this.#counters[Number(this.#shutBy) - 1];
  }

  get #shutBy(): bigint {
    return Atomics.load(this.#words, 0);
  }

  set #shutBy(value: bigint) {
    Atomics.store(this.#words, 0, value);
  }

  get #sinceNs(): bigint {
    return Atomics.load(this.#words, 1);
  }
}
