import { readSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import type { RecordScan } from '@counterpoint/core/ring';
import type { SampledEvents } from '../../kernel/perf-events/index.ts';
import type { Sys, Watch } from '../../kernel/sys/index.ts';
import { DrainThread } from './drain-thread.ts';
import type { Reader, ReaderEnd } from './reader.ts';
import type { ReaderOptions } from './ring-reader.ts';

/** The file that a thread writes. JavaScript learns what is in it by reading it. */
export interface DrainedFile {
  readonly fd: number;
  readonly readFd: number;
  /** Where the first round begins. */
  readonly sizeBytes: number;
  /** 8 bytes between two rounds. */
  readonly mark: Uint8Array;
  /** It has records up to here, and they have been looked at. */
  grewTo(sizeBytes: number): void;
  /**
   * The thread could not write more, by an errno. The file has whole records up to
   * `sizeBytes`. Gives the error.
   */
  failed(errno: number, sizeBytes: number): Error;
}

export interface ThreadReaderOptions extends ReaderOptions {
  /** The file's size that is to be told. */
  limitBytes: number;
  onLimit(): void;
  realtimePriority?: number | undefined;
}

/** Of the file, at a time. Fits the processor's cache. */
const PIECE_BYTES = 256 << 10;
/**
 * While recording, a look at the file takes no longer than this; what is behind that waits for
 * the next one, or for the end.
 */
const LOOK_MS = 5;
/** At the end, between two looks at the event loop. */
const PIECES_A_TURN = 32;

/**
 * Rings that a thread of the system empties into a file, whatever the event loop does:
 *
 *   rings ──thread──> file ──in the event loop, when there is time──> scan
 *
 * The scan reads the file again (it is in the kernel's memory still), some milliseconds of each interval and
 * the rest at the end: late, but nothing depends on when.
 */
export class ThreadReader implements Reader {
  readonly ended: Promise<ReaderEnd>;
  readonly #sys: Sys;
  readonly #sampled: SampledEvents;
  readonly #scan: RecordScan;
  readonly #file: DrainedFile;
  readonly #options: ThreadReaderOptions;
  readonly #piece = new Uint8Array(PIECE_BYTES);
  #thread: DrainThread | null = null;
  #watch: Watch | null = null;
  #timer: NodeJS.Timeout | null = null;
  #end: (end: ReaderEnd) => void = () => {};
  #threadEnded: () => void = () => {};
  #scannedBytes = 0;
  #hasFailed = false;
  /** Somebody cut the file: what is in it is not known any more. */
  #isUnreadable = false;

  constructor(
    sys: Sys,
    sampled: SampledEvents,
    scan: RecordScan,
    file: DrainedFile,
    options: ThreadReaderOptions,
  ) {
    this.#sys = sys;
    this.#sampled = sampled;
    this.#scan = scan;
    this.#file = file;
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get wakeups(): number {
    return this.#thread?.wakeups ?? 0;
  }
  get rounds(): number {
    return this.#thread?.rounds ?? 0;
  }

  /** In the file the rings' records stand one after the other. */
  get currentCpu(): number | null {
    const { rings } = this.#sampled;
    return rings.length === 1 ? rings[0]!.cpu : null;
  }

  /** False where there can be no such thread; then nothing was done. */
  start(): boolean {
    const { fd: file, sizeBytes: offset, mark } = this.#file;
    const thread = DrainThread.start(this.#sys, this.#sampled, { ...this.#options, file, offset, mark });
    if (thread === null) return false;
    this.#thread = thread;
    this.#scannedBytes = offset;
    this.#watch = this.#sys.watch(thread.notice, () => this.#onNotice(thread));
    const { flushIntervalMs } = this.#options;
    // At high rates the thread has no reason to wake anybody.
    if (flushIntervalMs > 0) this.#timer = setInterval(() => this.#scanSome(), flushIntervalMs);
    return true;
  }

  #onNotice(thread: DrainThread): void {
    this.#sys.read(thread.notice, new Uint8Array(8));
    this.#scanSome();
    if (thread.hasEnded) this.#threadEnded();
    if (thread.endBytes >= this.#options.limitBytes) this.#options.onLimit();
    this.#tellFailure(thread);
    if (thread.hasHungUp) this.#end({ reason: 'hung-up' });
  }

  #tellFailure(thread: DrainThread): void {
    const { errno, endBytes } = thread;
    if (errno === null || this.#hasFailed) return;
    this.#hasFailed = true;
    this.#end({ reason: 'failed', error: this.#file.failed(errno, endBytes) });
  }

  /**
   * Where samples take all of a processor, its every instruction is dear: then the scan is left for the end.
   */
  #scanSome(): void {
    const end = performance.now() + LOOK_MS;
    while (this.#thread !== null && this.#scanPiece(this.#thread)) if (performance.now() >= end) return;
  }

  /** False: there is nothing more. */
  #scanPiece(thread: DrainThread): boolean {
    const end = thread.endBytes;
    const begin = this.#scannedBytes;
    if (begin >= end) return false;
    const size = this.#isUnreadable ? 0 : this.#read(begin, Math.min(PIECE_BYTES, end - begin));
    let scanned = this.#scan.scanPiece(this.#piece, size);
    if (scanned === 0) {
      this.#isUnreadable = true;
      this.#scan.damagedBytes += end - begin;
      scanned = end - begin;
    }
    this.#scannedBytes = begin + scanned;
    this.#file.grewTo(this.#scannedBytes);
    return true;
  }

  #read(offset: number, size: number): number {
    try {
      return readSync(this.#file.readFd, this.#piece, 0, size, offset);
    } catch {
      return 0;
    }
  }

  async finish(): Promise<void> {
    const thread = this.#thread;
    if (thread === null) return;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    const ended = new Promise<void>((resolve) => {
      this.#threadEnded = resolve;
    });
    thread.finish();
    if (!thread.hasEnded) await ended;
    this.#close();
    for (let pieces = 1; this.#scanPiece(thread); pieces++) if (pieces % PIECES_A_TURN === 0) await turn();
    this.#tellFailure(thread);
    this.#scan.damagedBytes += thread.skippedBytes;
  }

  #close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#watch?.close();
    this.#watch = null;
    this.#thread?.close();
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}
