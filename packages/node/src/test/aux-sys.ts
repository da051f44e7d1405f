import { constants } from 'node:os';
import { MMAP_PAGE_DATA_OFFSET, MMAP_PAGE_DATA_SIZE } from '@counterpoint/core/abi';
import { type FakeEvent, FakeSys } from '../linux/kernel/sys/fake-sys.ts';
import { type Fd, Mapping, SysError } from '../linux/kernel/sys/index.ts';
import { CONTROL_WORDS, ENDED, OFF, ON, STATE, WANTED_OFF } from './aux-kernel.ts';

/** A CPU with a hardware trace: what the recorder has mapped, and what else both sides share. */
export interface SharedCpu {
  event: FakeEvent;
  /** Memory of both threads, which the recorder takes for an ordinary mapping. */
  ring: ArrayBuffer;
  area: ArrayBuffer | null;
  isReadOnly: boolean;
  control: Int32Array;
}

/** More than any CPU needs to see a word. */
const ANSWER_MS = 20_000;

/** A fake kernel whose rings and AUX areas are shared memory, for `AuxKernel` on the other side. */
export class AuxSys extends FakeSys {
  /** Those whose events own a ring, in the order of their opening. */
  readonly cpus: SharedCpu[] = [];
  /** AUX areas that are larger are refused. */
  lockableBytes = Number.POSITIVE_INFINITY;
  /** Where the CPUs are played by this thread: lets one of them run a step. */
  stepCpu: ((cpu: SharedCpu) => void) | null = null;

  override mmap(fd: Fd, sizeBytes: number): Mapping {
    const ring = sharedMemory(sizeBytes);
    const page = new DataView(ring);
    const pageBytes = this.pageSizeBytes();
    page.setBigUint64(MMAP_PAGE_DATA_OFFSET, BigInt(pageBytes), true);
    page.setBigUint64(MMAP_PAGE_DATA_SIZE, BigInt(sizeBytes - pageBytes), true);
    const control = new Int32Array(sharedMemory(4 * CONTROL_WORDS));
    this.cpus.push({ event: this.event(fd.number), ring, area: null, isReadOnly: false, control });
    return new Mapping(ring, () => {});
  }

  override mapRange(fd: Fd, _: number, sizeBytes: number, access: 'read' | 'write' = 'write'): Mapping {
    if (sizeBytes > this.lockableBytes) throw new SysError('mmap', constants.errno.EPERM, { sizeBytes });
    const cpu = this.#cpuOf(fd)!;
    cpu.area = sharedMemory(sizeBytes);
    cpu.isReadOnly = access === 'read';
    return new Mapping(cpu.area, () => {});
  }

  override enable(fd: Fd): void {
    super.enable(fd);
    const cpu = this.#cpuOf(fd);
    if (cpu !== undefined) Atomics.compareExchange(cpu.control, STATE, OFF, ON);
  }

  /** As in the kernel: when this returns, the event stands still. */
  override disable(fd: Fd): void {
    super.disable(fd);
    const cpu = this.#cpuOf(fd);
    if (cpu === undefined || Atomics.load(cpu.control, ENDED) === 1) return;
    Atomics.store(cpu.control, WANTED_OFF, 1);
    const end = Date.now() + ANSWER_MS;
    while (Atomics.load(cpu.control, WANTED_OFF) === 1 && Atomics.load(cpu.control, ENDED) === 0) {
      if (this.stepCpu !== null) this.stepCpu(cpu);
      else if (Date.now() > end) throw new Error('the simulated CPU does not stop');
      else Atomics.wait(cpu.control, WANTED_OFF, 1, 5);
    }
  }

  /** What the event's own count says in the end. */
  countLost({ event }: SharedCpu, lost: number): void {
    this.readings.set(event.fd, [0n, event.id, BigInt(lost)]);
  }

  #cpuOf(fd: Fd): SharedCpu | undefined {
    return this.cpus.find(({ event }) => event.fd === fd.number);
  }
}

/** Node's types tell both kinds of memory apart; what is here does the same with both. */
function sharedMemory(sizeBytes: number): ArrayBuffer {
  return new SharedArrayBuffer(sizeBytes) as unknown as ArrayBuffer;
}
