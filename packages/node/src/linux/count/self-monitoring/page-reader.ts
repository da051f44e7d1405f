import { MMAP_CAP_USER_RDPMC, MMAP_CAP_USER_TIME_ZERO, MMAP_PAGE_CAPABILITIES } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { Mapping, NativeCode, Sys } from '../../kernel/sys/index.ts';
import { makeStub } from './stub.ts';
import { resultOffsets, type StubClock, type StubRequest } from './stub-request.ts';

export interface PageReaderRequest {
  /** One page for each event that is to be read; none where only the time is wanted. */
  pages: readonly Mapping[];
  /** The page that has the kernel's time; without one it is CLOCK_MONOTONIC. */
  clockPage: Mapping | null;
  counterInstruction?: StubRequest['counterInstruction'];
  arch?: string;
}

/**
 * Reads event pages and the clock by machine code made for exactly these pages. It does not own the pages.
 */
export class PageReader implements Disposable {
  /** Time, values, enabled and running times, as 64-bit words (`StubRequest`). Valid until the next read. */
  readonly results: ArrayBuffer;
  readonly #memory: Mapping;
  readonly #code: NativeCode;

  constructor(sys: Sys, request: PageReaderRequest) {
    const { pages, clockPage, counterInstruction = 'counter', arch = process.arch } = request;
    this.#memory = sys.mapAnonymous(resultOffsets(pages.length).sizeBytes);
    try {
      const clock: StubClock =
        clockPage === null
          ? { kind: 'monotonic', clockGettimeAddress: sys.symbolAddress('clock_gettime') }
          : { kind: 'page', pageAddress: addressOf(clockPage) };
      const code = makeStub(arch, {
        resultsAddress: addressOf(this.#memory),
        pageAddresses: pages.map(addressOf),
        clock,
        counterInstruction,
      });
      if (code === null)
        throw new CounterpointError(
          'ERR_ARCHITECTURE',
          `reading counters by machine code is not supported on ${arch}`,
          'Use openCounting, which reads counters through the kernel.',
        );
      this.#code = sys.loadCode(code.bytes);
    } catch (error) {
      this.#memory.close();
      throw error;
    }
    this.results = this.#memory.buffer;
  }

  /** 0, or the `STUB_…` bits of what could not be read. */
  read(): number {
    return this.#code.call();
  }

  close(): void {
    this.#code.close();
    this.#memory.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function addressOf({ address }: Mapping): bigint {
  // Memory that only plays a mapping, in tests without a kernel: there code cannot be loaded either.
  return address ?? 0n;
}

function capabilities(page: Mapping): number {
  return new DataView(page.buffer).getUint32(MMAP_PAGE_CAPABILITIES, true);
}

/** Whether the event may ever have a counter that an instruction reads. */
export function hasUserCounter(page: Mapping): boolean {
  return (capabilities(page) & MMAP_CAP_USER_RDPMC) !== 0;
}

/** Whether the page tells the time of the kernel's records. */
export function hasPageClock(page: Mapping): boolean {
  return (capabilities(page) & MMAP_CAP_USER_TIME_ZERO) !== 0;
}
