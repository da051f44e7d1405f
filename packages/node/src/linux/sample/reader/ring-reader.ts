import type { RecordScan } from '@counterpoint/core/ring';
import type { EventRing, SampledEvents } from '../../kernel/perf-events/index.ts';
import type { Fd, Sys, Watch } from '../../kernel/sys/index.ts';
import type { Reader, ReaderEnd } from './reader.ts';

/** Where a pass over the rings goes. */
export interface RoundSink {
  /**
   * Take what one pass over all rings found: views of the rings themselves, *borrowed* until this
   * returns or its promise settles. While a promise is open the rings are not read, and what the kernel
   * cannot store it counts as lost.
   */
  writeRound(spans: readonly Uint8Array<ArrayBuffer>[], sizeBytes: number): void | Promise<void>;
}

export interface ReaderOptions {
  /** Now, on the clock of a hardware trace that is read. Default: always 0, not known. */
  traceClock?: () => bigint;
  /** Read the rings about this often, however little is in them; 0 is never. */
  flushIntervalMs: number;
}

/**
 * Waits for the rings of sampled events and drains them into a sink:
 *
 *   rings ──epoll──> one descriptor ──event loop──> pass: take all, sink.writeRound, scan headers, commit all
 *
 * All heads are taken before anything else of a pass, so nothing that a later pass finds is older than the
 * pass before this one: the rule by which readers order rounds. Heads of AUX areas come before those of
 * rings: the kernel writes them in the other order, so that what was traced has its record in the same pass.
 *
 * The kernel stops an event whose AUX area is full. Each pass begins it again, also where it took nothing:
 * the kernel decides by an old tail, and may stop the event after a pass has given it room.
 */
export class RingReader implements Reader {
  /** How often the event loop was woken for data, without the timer's passes. */
  wakeups = 0;
  rounds = 0;
  /** The ring that is being scanned, for the scan's visitor. */
  currentRing: EventRing | null = null;
  /** Resolves at most once. */
  readonly ended: Promise<ReaderEnd>;
  readonly #sys: Sys;
  readonly #sampled: SampledEvents;
  readonly #scan: RecordScan;
  readonly #sink: RoundSink;
  readonly #options: ReaderOptions;
  readonly #open = new Map<number, Fd>();
  #epoll: Fd | null = null;
  #watch: Watch | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** The kernel announces data once: what came while a sink was busy is fetched right after it. */
  #isWokenMeanwhile = false;
  /** The pass that waits for its sink. */
  #pending: Promise<void> | null = null;
  #end: (end: ReaderEnd) => void = () => {};
  #hasFailed = false;
  #roundsAtFlush = 0;
  readonly #hasAux: boolean;
  /** Traces go on until the end. */
  #isFinishing = false;
  /** Sources of areas that are written over stand still. */
  #isStopped = false;

  constructor(sys: Sys, sampled: SampledEvents, scan: RecordScan, sink: RoundSink, options: ReaderOptions) {
    this.#sys = sys;
    this.#sampled = sampled;
    this.#scan = scan;
    this.#sink = sink;
    this.#options = options;
    this.#hasAux = sampled.rings.some(({ aux }) => aux !== null);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get currentCpu(): number {
    return this.currentRing?.cpu ?? -1;
  }

  start(): void {
    const epoll = this.#sys.epollCreate();
    this.#epoll = epoll;
    for (const { instances, hasNoRing } of this.#sampled.events) {
      // Without a ring the kernel says at once that it has hung up.
      if (hasNoRing === true) continue;
      for (const { fd } of instances) {
        this.#sys.epollAdd(epoll, fd);
        this.#open.set(fd.number, fd);
      }
    }
    this.#watch = this.#sys.watch(epoll, () => this.#onReady(epoll));
    const { flushIntervalMs } = this.#options;
    if (flushIntervalMs > 0) this.#timer = setInterval(() => this.#flush(), flushIntervalMs);
    this.#lookOnceWatched();
  }

  /**
   * The event loop asks the descriptor as it begins to wait, in its next turn, and a ring says only once that
   * there is something: nobody hears of what came before. A ring that was full by then would never tell. The
   * second of two immediate callbacks comes after that turn.
   */
  #lookOnceWatched(): void {
    setImmediate(() =>
      setImmediate(() => {
        if (this.#watch !== null) this.#pass();
      }),
    );
  }

  /**
   * The timer is for what no watermark announces: it does nothing where there was
   * a round since its last turn.
   */
  #flush(): void {
    if (this.rounds === this.#roundsAtFlush) this.#pass();
    this.#roundsAtFlush = this.rounds;
  }

  #onReady(epoll: Fd): void {
    this.wakeups++;
    for (const { number, hasHungUp } of this.#sys.epollPoll(epoll)) {
      const fd = this.#open.get(number);
      if (!hasHungUp || fd === undefined) continue;
      this.#sys.epollRemove(epoll, fd);
      this.#open.delete(number);
    }
    this.#pass();
    if (this.#open.size === 0) this.#end({ reason: 'hung-up' });
  }

  /** Read the rings now, and not only when there is enough in them. */
  readNow(): void {
    this.#pass();
  }

  /** Read also the areas that are written over: the trace stands still until they are written. */
  async takeSnapshots(): Promise<void> {
    while (this.#pending !== null) await this.#pending;
    await this.#sampled.pausedTrace(async () => {
      this.#isStopped = true;
      this.#pass();
      while (this.#pending !== null) await this.#pending;
      this.#isStopped = false;
    });
  }

  /** One pass, unless one is under way. */
  #pass(): void {
    if (this.#hasFailed) return;
    if (this.#pending !== null) {
      this.#isWokenMeanwhile = true;
      return;
    }
    try {
      const written = this.#drainOnce();
      if (written === undefined) return;
      this.#pending = written
        .catch((error) => this.#fail(error))
        .finally(() => {
          this.#pending = null;
          const again = this.#isWokenMeanwhile;
          this.#isWokenMeanwhile = false;
          if (again) this.#pass();
        });
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#hasFailed = true;
    this.#end({ reason: 'failed', error });
  }

  /** Take from every ring, hand over, give back. A promise only where the sink gave one. */
  #drainOnce(): Promise<void> | undefined {
    let sizeBytes = this.#hasAux ? this.#takeAux() : 0;
    for (const { ring } of this.#sampled.rings) sizeBytes += ring.take();
    if (sizeBytes === 0) {
      if (this.#hasAux) this.#giveAuxBack();
      return undefined;
    }
    this.rounds++;
    const spans: Uint8Array<ArrayBuffer>[] = [];
    for (const { ring } of this.#sampled.rings) {
      if (ring.first.length > 0) spans.push(ring.first);
      if (ring.second.length > 0) spans.push(ring.second);
    }
    if (this.#hasAux)
      for (const { aux } of this.#sampled.rings) if (aux !== null) spans.push(...aux.drain.spans);
    const written = this.#sink.writeRound(spans, sizeBytes);
    if (written !== undefined) return written.then(() => this.#scanAndCommit());
    this.#scanAndCommit();
    return undefined;
  }

  /**
   * After the writing: what the sink did not take is not counted, and the bytes are in this CPU's cache by
   * then (measured at 25 kHz: 1.7 ms of each second instead of 2.2).
   */
  #scanAndCommit(): void {
    for (const eventRing of this.#sampled.rings) {
      const { ring } = eventRing;
      if (ring.head === ring.tail) continue;
      this.currentRing = eventRing;
      this.#scan.scan(ring.memory.data, ring.tail, ring.head);
      ring.commit();
    }
    if (this.#hasAux) this.#giveAuxBack();
  }

  #takeAux(): number {
    const reference = this.#options.traceClock?.() ?? 0n;
    return this.#sampled.rings.reduce(
      (sum, { aux }) => sum + (aux?.take(reference, this.#isStopped) ?? 0),
      0,
    );
  }

  /** Before the first byte, an event may wait for its command to begin. */
  #giveAuxBack(): void {
    for (const ring of this.#sampled.rings) {
      const { aux } = ring;
      if (aux === null) continue;
      aux.commit();
      if (!this.#isFinishing && !aux.overwrites && aux.drain.traceBytes > 0) this.#sampled.resumeTrace(ring);
    }
  }

  /** Stop waiting, and take what is still in the rings: call it after the events are disabled. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    this.#stopWaiting();
    while (this.#pending !== null) await this.#pending;
    // One pass takes all there is; the second is for what was written between its first and last ring.
    for (let pass = 0; pass < 2; pass++) {
      this.#pass();
      while (this.#pending !== null) await this.#pending;
    }
  }

  #stopWaiting(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#watch?.close();
    this.#watch = null;
    this.#epoll?.close();
    this.#epoll = null;
  }

  [Symbol.dispose](): void {
    this.#stopWaiting();
  }
}
