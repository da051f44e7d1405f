import { closeSync, openSync } from 'node:fs';
import { readTargetMemory, writeTargetMemory } from '../../../kernel/sys/index.ts';
import {
  type Block,
  CODE,
  CodeZone,
  countsFrom,
  type Exit,
  LOGGED_BYTES,
  MOST_SOURCE_BYTES,
  type Position,
  returnSite,
  SAVED_RAX,
  sourceBytes,
  type TargetMemory,
  ZONE_BYTES,
} from '../../code-cache/index.ts';
import { BlockLog, LOG_BYTES, type LogReader } from './block-log.ts';
import type { FastCounts } from './fast-counts.ts';
import { findLowPlace, findZonePlace, type MappedRange, readMemoryMap } from './memory-map.ts';
import type { TargetRegisters } from './target-registers.ts';

/** A system call in the target: its number and arguments; `null` on errors. */
export type CallInTarget = (instruction: number, number: number, args: readonly number[]) => number | null;

const CALL_MMAP = 9;
const CALL_MPROTECT = 10;
const CALL_MUNMAP = 11;
const PROT_READ = 1;
const PROT_WRITE = 2;
const PROT_EXEC = 4;
/** MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE, MAP_FIXED_NOREPLACE (asm-generic/mman.h). */
const MAP_FLAGS = 0x02 | 0x20 | 0x4000 | 0x10_0000;
/** A zone serves code so near that its data is in reach, too. */
const ZONE_REACH = 1.25 * 2 ** 30;
const PAGE = 4096;
/** How many addresses are looked at when a block is missing. */
const MOST_AHEAD = 24;

function openMemory(tid: number): { fd: number; memory: TargetMemory } {
  const fd = openSync(`/proc/${tid}/mem`, 'r+');
  return {
    fd,
    memory: {
      read: (address, into) => readTargetMemory(fd, address, into),
      write(address, bytes) {
        writeTargetMemory(fd, address, bytes);
      },
    },
  };
}

/** The translated code of one thread. */
export class TranslatedSpace {
  /** Nothing can be translated. */
  isStepOnly = false;
  /** Memory has other code than was translated. */
  isStale = false;
  #tid: number;
  readonly #fd: number;
  readonly #memory: TargetMemory;
  readonly #zones: CodeZone[] = [];
  #blocks = new Map<number, Block>();
  #pages = new Set<number>();
  #ranges: MappedRange[] | null = null;
  #systemCallAt = 0;
  /** Grows when all blocks are forgotten. */
  generation = 0;
  readonly #counts: FastCounts;
  /** Which blocks are executed is logged; else they are only counted. */
  readonly #isLogged: boolean;
  #log: BlockLog | null = null;
  readonly #returnSites: number[] = [];
  /** Code of the program that was read at one time: it may change until the next. */
  readonly #window = new Uint8Array(4 * PAGE);
  #windowStart = 0;
  #windowSize = 0;

  constructor(tid: number, counts: FastCounts, isLogged: boolean) {
    this.#tid = tid;
    this.#counts = counts;
    this.#isLogged = isLogged;
    ({ fd: this.#fd, memory: this.#memory } = openMemory(tid));
  }

  /** For a forked child: it has all that this one has, also the counts, which must have been taken. */
  copyFor(tid: number): TranslatedSpace {
    const copy = new TranslatedSpace(tid, this.#counts, this.#isLogged);
    if (this.#log !== null) copy.#log = copy.#newLog(this.#log.base, this.#log);
    copy.#zones.push(...this.#zones.map((zone) => zone.copyFor(copy.#memory)));
    copy.#blocks = new Map(this.#blocks);
    copy.#pages = new Set(this.#pages);
    copy.#systemCallAt = this.#systemCallAt;
    return copy;
  }

  /** For another thread with the same memory. */
  handTo(tid: number): void {
    this.#tid = tid;
    this.#ranges = null;
  }

  close(): void {
    closeSync(this.#fd);
  }

  zoneOf(address: number): CodeZone | null {
    return this.#zones.find((zone) => zone.has(address)) ?? null;
  }

  /** Where a thread at `address` is; `null` outside of translated code. */
  positionAt(address: number): Position | null {
    return this.zoneOf(address)?.positionAt(address) ?? null;
  }

  /** The program's rax, where it is put aside. */
  savedRax(address: number): Uint32Array {
    const words = new Uint32Array(2);
    const zone = this.zoneOf(address);
    if (zone !== null) this.#memory.read(zone.base + SAVED_RAX, new Uint8Array(words.buffer));
    return words;
  }

  /** The block of `pc`, made if need be; `null`: a single step must execute it. */
  blockAt(pc: number, callInTarget: CallInTarget): Block | null {
    const known = this.#blocks.get(pc);
    if (known !== undefined) return known;
    if (this.isStepOnly) return null;
    const range = this.#fixedCodeAt(pc);
    if (range === null) return null;
    const zone = this.#zoneFor(pc, callInTarget);
    if (zone === null) {
      this.isStepOnly = true;
      return null;
    }
    if (zone.isFull) this.forget();
    this.#translateFrom(zone, range, pc);
    zone.finish();
    return this.#blocks.get(pc) ?? null;
  }

  /** What is at `pc`, and some of what it leads to: each that is missing would cost a trap later. */
  #translateFrom(zone: CodeZone, range: MappedRange, pc: number): void {
    const wanted = [pc];
    this.#windowSize = 0;
    for (let index = 0; index < wanted.length && index < MOST_AHEAD && !zone.isFull; index++) {
      const next = wanted[index]!;
      const isInReach = next >= range.start && next < range.end && Math.abs(zone.base - next) < ZONE_REACH;
      if (!isInReach || this.#blocks.has(next)) continue;
      const log = this.#log?.next ?? null;
      const made = zone.add(this.#sourceAt(next, range.end), next, this.#blocks, log);
      if (made === null) continue;
      const { block, exits } = made;
      this.#log?.add(block);
      this.#blocks.set(next, block);
      const last = next + sourceBytes(block) - 1;
      for (let page = Math.floor(next / PAGE); page <= Math.floor(last / PAGE); page++) this.#pages.add(page);
      for (const exit of exits) wanted.push(exit.pc);
      const back = returnSite(block);
      if (back === 0) continue;
      wanted.push(back);
      this.#returnSites.push(back);
    }
    for (const site of this.#returnSites.splice(0)) {
      const block = this.#blocks.get(site);
      if (block !== undefined && zone.has(block.start)) zone.addTarget(site, block);
    }
  }

  /** The program's bytes at `pc`, as many as a block may take. */
  #sourceAt(pc: number, end: number): Uint8Array {
    const at = pc - this.#windowStart;
    if (at < 0 || pc + MOST_SOURCE_BYTES > this.#windowStart + this.#windowSize) {
      this.#windowStart = pc - (pc % PAGE);
      const wanted = this.#window.subarray(0, Math.min(this.#window.length, end - this.#windowStart));
      this.#windowSize = this.#memory.read(this.#windowStart, wanted);
    }
    const start = pc - this.#windowStart;
    return this.#window.subarray(start, Math.min(start + MOST_SOURCE_BYTES, this.#windowSize));
  }

  #fixedCodeAt(pc: number): MappedRange | null {
    this.#ranges ??= readMemoryMap(this.#tid);
    const range = this.#ranges.find(({ start, end }) => pc >= start && pc < end);
    return range?.isFixedCode === true ? range : null;
  }

  #zoneFor(pc: number, callInTarget: CallInTarget): CodeZone | null {
    const near = this.#zones.find(({ base }) => Math.abs(base - pc) < ZONE_REACH);
    if (near !== undefined) return near;
    // Other threads may have got zones since.
    this.#ranges = readMemoryMap(this.#tid);
    const place = findZonePlace(this.#ranges, pc);
    if (place === null) return null;
    if (this.#systemCallAt === 0) this.#systemCallAt = this.#findSystemCall();
    const instruction = this.#systemCallAt;
    if (instruction === 0) return null;
    const rights = PROT_READ | PROT_EXEC;
    const base = callInTarget(instruction, CALL_MMAP, [place, ZONE_BYTES, rights, MAP_FLAGS, -1, 0]);
    if (base === null) return null;
    const isWritable =
      base === place &&
      callInTarget(instruction, CALL_MPROTECT, [base, CODE, PROT_READ | PROT_WRITE]) !== null;
    if (!isWritable) {
      callInTarget(instruction, CALL_MUNMAP, [base, ZONE_BYTES]);
      return null;
    }
    if (this.#isLogged && this.#log === null && !this.#makeLog(callInTarget)) {
      callInTarget(instruction, CALL_MUNMAP, [base, ZONE_BYTES]);
      return null;
    }
    const zone = CodeZone.create(base, this.#memory);
    this.#zones.push(zone);
    this.#ranges = null;
    return zone;
  }

  #makeLog(callInTarget: CallInTarget): boolean {
    const place = findLowPlace(readMemoryMap(this.#tid), LOG_BYTES);
    if (place === null) return false;
    const rights = PROT_READ | PROT_WRITE;
    const args = [place, LOG_BYTES, rights, MAP_FLAGS, -1, 0];
    const base = callInTarget(this.#systemCallAt, CALL_MMAP, args);
    if (base !== null && base !== place) callInTarget(this.#systemCallAt, CALL_MUNMAP, [base, LOG_BYTES]);
    if (base !== place) return false;
    this.#log = this.#newLog(base, null);
    return true;
  }

  #newLog(base: number, parent: BlockLog | null): BlockLog {
    // Its thread may be another one later.
    const reader: LogReader = {
      blocksDone: (blocks, ids, count) => this.#counts.blocksDone(this.#tid, blocks, ids, count),
      blockLeft: (blocks, id, done, pc) => this.#counts.blockLeft(this.#tid, blocks, id, done, pc),
    };
    return new BlockLog(base, this.#memory, reader, parent);
  }

  /**
   * The thread has left the translated code, and goes on at `pc`. Of `block`, which it has counted, only
   * `done` instructions were executed; null: it was between two.
   */
  settle(block: Block | null, done: number, pc: number): void {
    if (this.#isLogged) this.#log?.settle(block, done, pc);
    else if (block !== null) this.#counts.add(countsFrom(block, done), -1);
  }

  /** At the trap of a full log it is emptied, and the thread is led behind it. False: it stands elsewhere. */
  emptyLog(address: number, registers: TargetRegisters): boolean {
    const block = this.#log === null ? null : (this.zoneOf(address)?.blockBehindTrap(address) ?? null);
    if (block === null) return false;
    this.#log!.drain();
    registers.setPc(block.countedFrom + LOGGED_BYTES);
    return registers.write(this.#tid);
  }

  /** What was in the log that was emptied last. Its thread may go on before. */
  tellLog(): void {
    this.#log?.tell();
  }

  /** A `syscall` instruction that is there anyway: the vdso has some. */
  #findSystemCall(): number {
    this.#ranges ??= readMemoryMap(this.#tid);
    const code = this.#ranges.filter((range) => range.isFixedCode);
    code.sort((a, b) => Number(b.name === '[vdso]') - Number(a.name === '[vdso]'));
    for (const { start, end } of code) {
      const bytes = Buffer.alloc(end - start);
      const size = this.#memory.read(start, bytes);
      const at = bytes.subarray(0, size).indexOf(Buffer.from([0x0f, 0x05]));
      if (at >= 0) return start + at;
    }
    return 0;
  }

  /**
   * Memory from `start` on was mapped, unmapped or got other rights: whether
   * something was translated from there.
   */
  hasChanged(start: number, size: number): boolean {
    this.#ranges = null;
    const [first, last] = [Math.floor(start / PAGE), Math.floor((start + size - 1) / PAGE)];
    return last - first > this.#pages.size
      ? [...this.#pages].some((page) => page >= first && page <= last)
      : pagesOf(first, last).some((page) => this.#pages.has(page));
  }

  exitAt(address: number): Exit | undefined {
    return this.zoneOf(address)?.exitAt(address);
  }

  /** Add what was counted since the last time. */
  take(): void {
    this.#log?.take();
    if (this.#isLogged) return;
    for (const zone of this.#zones) zone.take((counts, times) => this.#counts.add(counts, times));
  }

  /** No thread may be in translated code. */
  forget(): void {
    this.take();
    this.#log?.drain();
    this.#log?.forget();
    this.isStale = false;
    this.generation++;
    this.#blocks.clear();
    this.#pages.clear();
    this.#ranges = null;
    for (const zone of this.#zones) zone.clear();
  }

  /** Give the memory back. No thread may be in translated code. */
  unmap(callInTarget: CallInTarget): void {
    this.take();
    for (const zone of this.#zones) callInTarget(this.#systemCallAt, CALL_MUNMAP, [zone.base, ZONE_BYTES]);
    if (this.#log !== null) callInTarget(this.#systemCallAt, CALL_MUNMAP, [this.#log.base, LOG_BYTES]);
    this.#log = null;
    this.#zones.length = 0;
    this.#blocks.clear();
    this.isStepOnly = true;
  }
}

function pagesOf(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}
