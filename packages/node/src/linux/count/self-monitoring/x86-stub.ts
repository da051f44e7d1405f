import {
  MMAP_CAP_USER_RDPMC,
  MMAP_CAP_USER_TIME,
  MMAP_CAP_USER_TIME_ZERO,
  MMAP_PAGE_CAPABILITIES,
  MMAP_PAGE_INDEX,
  MMAP_PAGE_LOCK,
  MMAP_PAGE_OFFSET,
  MMAP_PAGE_PMC_WIDTH,
  MMAP_PAGE_TIME_ENABLED,
  MMAP_PAGE_TIME_MULT,
  MMAP_PAGE_TIME_OFFSET,
  MMAP_PAGE_TIME_RUNNING,
  MMAP_PAGE_TIME_SHIFT,
  MMAP_PAGE_TIME_ZERO,
} from '@counterpoint/core/abi';
import { type MachineCode, X86Assembler, type X86Memory } from '../../kernel/machine-code/index.ts';
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
 * Counters that RDPMC may name: 0 to 63 of the general kind, and the fixed kinds that bits 29 and 30 mean
 * (SDM volume 2, RDPMC). Anything else would end the process, so it is never tried.
 */
const COUNTER_BITS = 0x6000_003f;

/**
 * int stub(void), System V calling convention. The kernel's description of the loop is in linux/perf_event.h:
 *
 *   again:  sequence = page 0's lock; odd: again
 *           cyc = rdtsc; time = cyc in ns + time_zero
 *           each page: its own lock the same way; value = offset + sign-extended rdpmc(index - 1)
 *                      enabled, running += time_offset + cyc in ns
 *                      lock changed: again
 *           page 0's lock changed: again     (so all values are of one stretch without interruption)
 *
 *   rdi results   r8 page   r9d its lock   esi page 0's lock   r10 cyc   r12d attempts left   ebx flags to return
 *
 * No fences: the kernel writes a page on the CPU that runs this thread, which x86 sees in order; RDPMC or
 * RDTSC that ran early are repeated after an interrupt like every instruction that had not retired.
 */
export function x86Stub(request: StubRequest): MachineCode {
  const { clock, pageAddresses, resultsAddress, counterInstruction } = request;
  const offsets = resultOffsets(pageAddresses.length);
  const asm = new X86Assembler();
  const result = (offset: number): X86Memory => ({ base: 'rdi', offset });
  const page = (offset: number): X86Memory => ({ base: 'r8', offset });

  // Three, so that the stack is aligned by 16 for a call; rax is only for that.
  asm.push('rbx');
  asm.push('r12');
  asm.push('rax');
  asm.clear('rbx');
  if (clock.kind === 'monotonic') {
    asm.set('rdi', CLOCK_MONOTONIC);
    asm.setWide('rsi', resultsAddress + BigInt(offsets.timespec));
    asm.setWide('rax', clock.clockGettimeAddress);
    asm.callAt('rax');
    asm.setWide('rdi', resultsAddress);
    asm.multiply64From('rax', result(offsets.timespec), NS_PER_SECOND);
    asm.add64From('rax', result(offsets.timespec + 8));
    asm.store64(result(0), 'rax');
  } else {
    asm.setWide('rdi', resultsAddress);
  }
  const firstPage = clock.kind === 'page' ? clock.pageAddress : pageAddresses[0];
  if (firstPage !== undefined) {
    asm.set('r12', STUB_ATTEMPTS);
    asm.label('again');
    asm.subtract32('r12', 1);
    asm.jumpIf('jb', 'busy');
    asm.clear('rbx');
    asm.setWide('r8', firstPage);
    asm.load32('rsi', page(MMAP_PAGE_LOCK));
    asm.testBits32('rsi', 1);
    asm.jumpIf('jne', 'again');
    asm.readTimeStamp();
    joinHalves('rdx');
    asm.copy64('r10', 'rax');
  }
  if (clock.kind === 'page') {
    asm.testByte(page(MMAP_PAGE_CAPABILITIES), MMAP_CAP_USER_TIME_ZERO);
    asm.jumpIf('je', 'no_clock');
    asm.call('nanoseconds');
    asm.add64From('rax', page(MMAP_PAGE_TIME_ZERO));
    asm.store64(result(0), 'rax');
    asm.label('time_done');
    asm.compare32With('rsi', page(MMAP_PAGE_LOCK));
    asm.jumpIf('jne', 'again');
  }
  pageAddresses.forEach((address, index) => {
    readEvent(address, index);
  });
  if (firstPage !== undefined && pageAddresses.length > 0) {
    asm.setWide('r8', firstPage);
    asm.compare32With('rsi', page(MMAP_PAGE_LOCK));
    asm.jumpIf('jne', 'again');
  }
  asm.label('done');
  asm.copy32('rax', 'rbx');
  asm.pop('rcx');
  asm.pop('r12');
  asm.pop('rbx');
  asm.return();
  if (firstPage === undefined) return asm.finish();

  if (clock.kind === 'page') {
    asm.label('no_clock');
    asm.orBits32('rbx', STUB_NO_CLOCK);
    asm.jump('time_done');
  }
  if (pageAddresses.length > 0) {
    asm.label('needs_read');
    asm.orBits32('rbx', STUB_NEEDS_READ);
    asm.jump('done');
  }
  asm.label('busy');
  asm.set('rbx', STUB_BUSY);
  asm.jump('done');
  convert();
  return asm.finish();

  function readEvent(address: bigint, index: number): void {
    const times = `times_${index}`;
    const stale = `stale_${index}`;
    asm.setWide('r8', address);
    asm.load32('r9', page(MMAP_PAGE_LOCK));
    asm.testBits32('r9', 1);
    asm.jumpIf('jne', 'again');
    asm.testByte(page(MMAP_PAGE_CAPABILITIES), MMAP_CAP_USER_RDPMC);
    asm.jumpIf('je', 'needs_read');
    asm.load32('rcx', page(MMAP_PAGE_INDEX));
    asm.testZero32('rcx');
    asm.jumpIf('je', 'needs_read');
    asm.subtract32('rcx', 1);
    asm.testBits32('rcx', ~COUNTER_BITS >>> 0);
    asm.jumpIf('jne', 'needs_read');
    if (counterInstruction === 'counter') asm.readCounter();
    else asm.readTimeStamp();
    joinHalves('rdx');
    // The sign of a counter of `width` bits, by shifting it up and down again.
    asm.load16('rdx', page(MMAP_PAGE_PMC_WIDTH));
    asm.set('rcx', 64);
    asm.sub32('rcx', 'rdx');
    asm.shiftLeft64ByCl('rax');
    asm.shiftRightSigned64ByCl('rax');
    asm.add64From('rax', page(MMAP_PAGE_OFFSET));
    asm.store64(result(offsets.values + 8 * index), 'rax');
    asm.testByte(page(MMAP_PAGE_CAPABILITIES), MMAP_CAP_USER_TIME);
    asm.jumpIf('je', stale);
    asm.call('nanoseconds');
    asm.add64From('rax', page(MMAP_PAGE_TIME_OFFSET));
    asm.copy64('rdx', 'rax');
    asm.add64From('rax', page(MMAP_PAGE_TIME_ENABLED));
    asm.add64From('rdx', page(MMAP_PAGE_TIME_RUNNING));
    asm.label(times);
    asm.store64(result(offsets.enabled + 8 * index), 'rax');
    asm.store64(result(offsets.running + 8 * index), 'rdx');
    asm.compare32With('r9', page(MMAP_PAGE_LOCK));
    asm.jumpIf('jne', 'again');
    asm.jump(`next_${index}`);
    asm.label(stale);
    asm.load64('rax', page(MMAP_PAGE_TIME_ENABLED));
    asm.load64('rdx', page(MMAP_PAGE_TIME_RUNNING));
    asm.compare64('rax', 'rdx');
    asm.jumpIf('jne', 'needs_read');
    asm.orBits32('rbx', STUB_TIMES_STALE);
    asm.jump(times);
    asm.label(`next_${index}`);
  }

  /**
   * rax = cyc in ns by the page at r8: high and low part times the factor, so that nothing
   * overflows. Uses rcx, rdx, r11.
   */
  function convert(): void {
    asm.label('nanoseconds');
    asm.load16('rcx', page(MMAP_PAGE_TIME_SHIFT));
    asm.load32('r11', page(MMAP_PAGE_TIME_MULT));
    asm.copy64('rax', 'r10');
    asm.shiftRight64ByCl('rax');
    asm.copy64('rdx', 'rax');
    asm.shiftLeft64ByCl('rdx');
    asm.multiply64('rax', 'r11');
    // The low part is cyc without the high part: r10 - rdx.
    asm.sub64('rdx', 'r10');
    asm.negate64('rdx');
    asm.multiply64('rdx', 'r11');
    asm.shiftRight64ByCl('rdx');
    asm.add64('rax', 'rdx');
    asm.return();
  }

  function joinHalves(high: 'rdx'): void {
    asm.shiftLeft64(high, 32);
    asm.or64('rax', high);
  }
}
