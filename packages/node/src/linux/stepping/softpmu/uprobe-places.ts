import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { PERF_SAMPLE_IP, PERF_SAMPLE_REGS_USER } from '@counterpoint/core/abi';
import { encodeAttrShortest, makeAttr } from '@counterpoint/core/records';
import { LONGEST_INSTRUCTION } from '@counterpoint/trace/instructions';
import { type Fd, type Mapping, pinText, realSys } from '../../kernel/sys/index.ts';
import { codeOf, entryOf, placeInFile } from './mapped-code.ts';
import { InstructionCache } from './next-instruction.ts';
import { processOf } from './process-of.ts';
import type { Registers } from './registers.ts';
import type { Arrival, StopPlaces } from './stop-places.ts';

/** `si_code` of a SIGTRAP that an event with `sigtrap` sends (asm-generic/siginfo.h). */
const TRAP_PERF = 6;
/** PERF_REG_X86_SP of asm/perf_regs.h. */
const STACK_POINTER = 1n << 7n;
/**
 * A sample: header, address, ABI of the registers, the stack pointer. A page holds a whole number of them.
 */
const SAMPLE_WORDS = 4;
const SAMPLE_BYTES = 8 * SAMPLE_WORDS;
/** data_head and data_tail of struct perf_event_mmap_page, in words of 64 bits. */
const DATA_HEAD = 1024 / 8;
const DATA_TAIL = 1032 / 8;
const RING_PAGES = 2;

interface Place {
  readonly address: number;
  readonly fd: Fd;
  readonly ring: Mapping;
  isEnabled: boolean;
}

/**
 * By a uprobe, for each thread an event of its own with `sigtrap` (Linux 5.13): the kernel puts a breakpoint
 * into the process's copy of the code, and takes it away when the descriptor is closed, also when the tracer
 * is killed. The thread stops behind the instruction, which the kernel has executed elsewhere; the sample in
 * the event's ring has the stack pointer before it.
 *
 * While the thread is stepped, the event is disabled, and the breakpoint stays: memory shows it, and a step
 * over it ends with a SIGTRAP that nobody seems to have sent.
 */
export class UprobePlaces implements StopPlaces {
  readonly way = 'uprobe';
  readonly #type: number;
  readonly #pageBytes = realSys.pageSizeBytes();
  readonly #places = new Map<number, Place>();
  /** What breakpoints hide, by process and address. */
  readonly #hidden = new Map<number, Map<number, number>>();
  readonly #processes = new Map<number, number>();

  private constructor(type: number) {
    this.#type = type;
  }

  /** Null where the kernel gives none, or not to this user. */
  static open(): UprobePlaces | null {
    try {
      const type = Number(readFileSync('/sys/bus/event_source/devices/uprobe/type', 'latin1'));
      const places = new UprobePlaces(type);
      // Of this very process, at an instruction that is never executed again: its entry.
      const entry = placeInFile(process.pid, entryOf(process.pid) ?? 0);
      if (entry === null) return null;
      places.#open(0, entry.path, entry.offset).close();
      return places;
    } catch {
      return null;
    }
  }

  set(tid: number, address: number): boolean {
    const known = this.#places.get(tid);
    if (known !== undefined && (address === 0 || known.address === address)) {
      const isEnabled = address !== 0;
      if (isEnabled !== known.isEnabled) realSys[isEnabled ? 'enable' : 'disable'](known.fd);
      known.isEnabled = isEnabled;
      return true;
    }
    this.#close(tid);
    if (address === 0) return true;
    const code = placeInFile(tid, address);
    if (code === null) return isGone(tid);
    const path = `/proc/${tid}/root${code.path}`;
    try {
      const bytes = beginningOf(path, code.offset);
      // The kernel refuses some (with a lock prefix), and a system call that it executes elsewhere ends the
      // program by SIGSEGV (seen with Linux 6.18).
      const { isKnown, isSystemCall } = new InstructionCache().at(address, bytes, false);
      if (!isKnown || isSystemCall) return false;
      this.#hide(tid, address, bytes[0]!);
      const fd = this.#open(tid, path, code.offset);
      this.#places.set(tid, { address, fd, ring: this.#ringOf(fd), isEnabled: true });
      return true;
    } catch {
      return isGone(tid);
    }
  }

  arrived(tid: number, _registers: Registers): Arrival | null {
    const place = this.#places.get(tid);
    if (place === undefined) return null;
    const words = new BigUint64Array(place.ring.buffer);
    const head = words[DATA_HEAD]!;
    if (head === words[DATA_TAIL]!) return null;
    const at = Number(head - BigInt(SAMPLE_BYTES)) % this.#pageBytes;
    const stackPointer = Number(words[(this.#pageBytes + at + SAMPLE_BYTES - 8) / 8]!);
    words[DATA_TAIL] = head;
    return { pc: place.address, stackPointer, isBehind: true };
  }

  isOurs(code: number | null): boolean {
    return code === TRAP_PERF;
  }

  hiddenByte(tid: number, address: number): number | null {
    return this.#hidden.get(this.#processOf(tid))?.get(address) ?? null;
  }

  forget(tid: number): void {
    this.#close(tid);
    this.#processes.delete(tid);
    this.#hidden.delete(tid);
  }

  #open(tid: number, path: string, offset: number): Fd {
    const text = pinText(path);
    const attr = makeAttr({
      type: this.#type,
      config1: text.address,
      config2: BigInt(offset),
      samplePeriodOrFreq: 1n,
      sampleType: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER),
      sampleRegsUser: STACK_POINTER,
      flags: { sigtrap: 1, removeOnExec: 1, excludeKernel: 1, excludeHv: 1 },
    });
    return realSys.perfEventOpen(encodeAttrShortest(attr), tid, -1, null);
  }

  #ringOf(fd: Fd): Mapping {
    try {
      return realSys.mmap(fd, RING_PAGES * this.#pageBytes);
    } catch (error) {
      fd.close();
      throw error;
    }
  }

  #close(tid: number): void {
    const place = this.#places.get(tid);
    if (place === undefined) return;
    this.#places.delete(tid);
    place.ring.close();
    place.fd.close();
  }

  #hide(tid: number, address: number, byte: number): void {
    const pid = this.#processOf(tid);
    const bytes = this.#hidden.get(pid) ?? new Map<number, number>();
    this.#hidden.set(pid, bytes);
    bytes.set(address, byte);
  }

  #processOf(tid: number): number {
    const known = this.#processes.get(tid) ?? processOf(tid);
    this.#processes.set(tid, known);
    return known;
  }
}

/** As many bytes as an instruction may have. */
function beginningOf(path: string, offset: number): Uint8Array {
  const fd = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(LONGEST_INSTRUCTION);
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, offset));
  } finally {
    closeSync(fd);
  }
}

/** A thread that is gone has no memory, and nothing to say. */
function isGone(tid: number): boolean {
  return codeOf(tid).length === 0;
}
