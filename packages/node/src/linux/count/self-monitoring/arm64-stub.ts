import {
  MMAP_CAP_USER_RDPMC,
  MMAP_CAP_USER_TIME,
  MMAP_CAP_USER_TIME_SHORT,
  MMAP_CAP_USER_TIME_ZERO,
  MMAP_PAGE_CAPABILITIES,
  MMAP_PAGE_INDEX,
  MMAP_PAGE_LOCK,
  MMAP_PAGE_OFFSET,
  MMAP_PAGE_PMC_WIDTH,
  MMAP_PAGE_TIME_CYCLES,
  MMAP_PAGE_TIME_ENABLED,
  MMAP_PAGE_TIME_MASK,
  MMAP_PAGE_TIME_MULT,
  MMAP_PAGE_TIME_OFFSET,
  MMAP_PAGE_TIME_RUNNING,
  MMAP_PAGE_TIME_SHIFT,
  MMAP_PAGE_TIME_ZERO,
} from '@counterpoint/core/abi';
import { Arm64Assembler, type MachineCode } from '../../kernel/machine-code/index.ts';
import {
  CLOCK_MONOTONIC,
  NS_PER_SECOND,
  resultOffsets,
  STUB_ATTEMPTS,
  STUB_BUSY,
  STUB_NEEDS_READ,
  STUB_NO_CLOCK,
  STUB_TIMES_STALE,
  type StubRequest,
} from './stub-request.ts';

/**
 * What `index - 1` means on arm64 (drivers/perf/arm_pmuv3.c): 0 to 30 are PMEVCNTRn_EL0, 31 is PMCCNTR_EL0.
 * The number stands in the instruction, so each has its own, and a jump picks it. (The selecting register
 * PMSELR_EL0 would be shorter, but Linux does not keep it for each thread.)
 */
const EVENT_COUNTERS = 31;

// Registers. x0 to x7 and x17 are scratch; no register that a function must keep is used.
const PAGE = 8;
const LOCK = 9;
const CYC = 10;
const ATTEMPTS = 11;
const FIRST_LOCK = 12;
const RESULTS = 13;
const FLAGS = 14;
const WAY_BACK = 15;
const ADDRESS = 16;

const bitOf = (mask: number) => Math.log2(mask);

/**
 * int stub(void), AAPCS64. The same loop as on x86 (`x86-stub.ts`), with the order of loads asked for: LDAR
 * before, and a load barrier after what the lock protects. The clock may have less than 64 bits:
 * `time_cycles` and `time_mask` extend it.
 */
export function arm64Stub(request: StubRequest): MachineCode {
  const { clock, pageAddresses, resultsAddress, counterInstruction } = request;
  const offsets = resultOffsets(pageAddresses.length);
  const asm = new Arm64Assembler();

  if (clock.kind === 'monotonic') {
    asm.pushFrame();
    asm.set(0, CLOCK_MONOTONIC);
    asm.setWide(1, resultsAddress + BigInt(offsets.timespec));
    asm.setWide(ADDRESS, clock.clockGettimeAddress);
    asm.callAt(ADDRESS);
    asm.popFrame();
    asm.setWide(RESULTS, resultsAddress);
    asm.load64(0, RESULTS, offsets.timespec);
    asm.load64(1, RESULTS, offsets.timespec + 8);
    asm.set(2, NS_PER_SECOND);
    asm.multiplyAdd64(0, 0, 2, 1);
    asm.store64(0, RESULTS, 0);
  } else {
    asm.setWide(RESULTS, resultsAddress);
  }
  asm.copy64(WAY_BACK, 30);
  asm.set(FLAGS, 0);
  const firstPage = clock.kind === 'page' ? clock.pageAddress : pageAddresses[0];
  if (firstPage !== undefined) {
    asm.set(ATTEMPTS, STUB_ATTEMPTS);
    asm.label('again');
    asm.subtract32(ATTEMPTS, ATTEMPTS, 1);
    asm.jumpIf('lo', 'busy');
    asm.set(FLAGS, 0);
    asm.setWide(PAGE, firstPage);
    lockBefore(FIRST_LOCK);
    asm.readTimer(CYC);
  }
  if (clock.kind === 'page') {
    asm.load64(5, PAGE, MMAP_PAGE_CAPABILITIES);
    asm.jumpIfBitClear(5, bitOf(MMAP_CAP_USER_TIME_ZERO), 'no_clock');
    asm.call('nanoseconds');
    asm.load64(1, PAGE, MMAP_PAGE_TIME_ZERO);
    asm.add64(0, 0, 1);
    asm.store64(0, RESULTS, 0);
    asm.label('time_done');
    lockAfter(FIRST_LOCK);
  }
  pageAddresses.forEach((address, index) => {
    readEvent(address, index);
  });
  if (firstPage !== undefined && pageAddresses.length > 0) {
    asm.setWide(PAGE, firstPage);
    lockAfter(FIRST_LOCK);
  }
  asm.label('done');
  asm.copy32(0, FLAGS);
  asm.return(WAY_BACK);
  if (firstPage === undefined) return asm.finish();

  if (clock.kind === 'page') {
    asm.label('no_clock');
    setFlag(STUB_NO_CLOCK);
    asm.jump('time_done');
  }
  if (pageAddresses.length > 0) {
    asm.label('needs_read');
    setFlag(STUB_NEEDS_READ);
    asm.jump('done');
    readCounter();
  }
  asm.label('busy');
  asm.set(FLAGS, STUB_BUSY);
  asm.jump('done');
  convert();
  return asm.finish();

  function readEvent(address: bigint, index: number): void {
    const times = `times_${index}`;
    const stale = `stale_${index}`;
    asm.setWide(PAGE, address);
    lockBefore(LOCK);
    asm.load64(5, PAGE, MMAP_PAGE_CAPABILITIES);
    asm.jumpIfBitClear(5, bitOf(MMAP_CAP_USER_RDPMC), 'needs_read');
    asm.load32(1, PAGE, MMAP_PAGE_INDEX);
    asm.jumpIfZero32(1, 'needs_read');
    asm.subtract32(1, 1, 1);
    asm.compareImmediate32(1, EVENT_COUNTERS);
    asm.jumpIf('hi', 'needs_read');
    asm.call('read_counter');
    // The sign of a counter of `width` bits, by shifting it up and down again.
    asm.load16(1, PAGE, MMAP_PAGE_PMC_WIDTH);
    asm.set(2, 64);
    asm.sub32(2, 2, 1);
    asm.shiftLeft64(0, 0, 2);
    asm.shiftRightSigned64(0, 0, 2);
    asm.load64(1, PAGE, MMAP_PAGE_OFFSET);
    asm.add64(0, 0, 1);
    asm.store64(0, RESULTS, offsets.values + 8 * index);
    asm.load64(3, PAGE, MMAP_PAGE_TIME_ENABLED);
    asm.load64(4, PAGE, MMAP_PAGE_TIME_RUNNING);
    asm.jumpIfBitClear(5, bitOf(MMAP_CAP_USER_TIME), stale);
    asm.call('nanoseconds');
    asm.load64(1, PAGE, MMAP_PAGE_TIME_OFFSET);
    asm.add64(0, 0, 1);
    asm.add64(3, 3, 0);
    asm.add64(4, 4, 0);
    asm.label(times);
    asm.store64(3, RESULTS, offsets.enabled + 8 * index);
    asm.store64(4, RESULTS, offsets.running + 8 * index);
    lockAfter(LOCK);
    asm.jump(`next_${index}`);
    asm.label(stale);
    asm.compare64(3, 4);
    asm.jumpIf('ne', 'needs_read');
    setFlag(STUB_TIMES_STALE);
    asm.jump(times);
    asm.label(`next_${index}`);
  }

  function lockBefore(into: number): void {
    asm.addImmediate64(ADDRESS, PAGE, MMAP_PAGE_LOCK);
    asm.loadAcquire32(into, ADDRESS);
    asm.jumpIfBitSet(into, 0, 'again');
  }

  function lockAfter(before: number): void {
    asm.loadBarrier();
    asm.load32(1, PAGE, MMAP_PAGE_LOCK);
    asm.compare32(1, before);
    asm.jumpIf('ne', 'again');
  }

  function setFlag(flag: number): void {
    asm.set(1, flag);
    asm.or32(FLAGS, FLAGS, 1);
  }

  /** x0 = the counter that x1 names; entries of two instructions, so 8 bytes apart. */
  function readCounter(): void {
    asm.label('read_counter');
    if (counterInstruction === 'clock') {
      asm.readTimer(0);
      asm.return();
      return;
    }
    asm.addressOf(2, 'counters');
    asm.addShifted64(2, 2, 1, 3);
    asm.jumpAt(2);
    asm.label('counters');
    for (let counter = 0; counter < EVENT_COUNTERS; counter++) {
      asm.readEventCounter(0, counter);
      asm.return();
    }
    asm.readCycleCounter(0);
    asm.return();
  }

  /**
   * x0 = cyc in ns by the page: high and low part times the factor, so that nothing
   * overflows. Uses x1, x2, x6, x7.
   */
  function convert(): void {
    asm.label('nanoseconds');
    asm.copy64(2, CYC);
    asm.jumpIfBitClear(5, bitOf(MMAP_CAP_USER_TIME_SHORT), 'extended');
    asm.load64(0, PAGE, MMAP_PAGE_TIME_CYCLES);
    asm.sub64(2, CYC, 0);
    asm.load64(1, PAGE, MMAP_PAGE_TIME_MASK);
    asm.and64(2, 2, 1);
    asm.add64(2, 2, 0);
    asm.label('extended');
    asm.load16(6, PAGE, MMAP_PAGE_TIME_SHIFT);
    asm.load32(7, PAGE, MMAP_PAGE_TIME_MULT);
    asm.shiftRight64(0, 2, 6);
    asm.shiftLeft64(1, 0, 6);
    asm.sub64(1, 2, 1);
    asm.multiply64(1, 1, 7);
    asm.shiftRight64(1, 1, 6);
    asm.multiplyAdd64(0, 0, 7, 1);
    asm.return();
  }
}
