/**
 * The exact profile by several workers: parts go to whoever is free, outcomes are
 * joined in the order of the trace.
 *
 *   cuts      0        1        2        3        4
 *   parts     |── a ───|── b ───|── c ───|── d ───|
 *   joins     a+b      b ? c: no, b goes on where c did not begin
 *                      |─────── b' ──────|            b' instead of b and c, then b' + d
 */
import {
  asByteSource,
  type ByteSource,
  type ByteSourceInput,
  type CancelSignal,
  CounterpointError,
  optional,
  type ProgressListener,
} from '@counterpoint/core/base';
import type { CodeImage } from '../../code/image/index.ts';
import { ExactProfile, type ProfileColumns } from '../answers/exact-profile.ts';
import type { TraceProfile } from '../answers/profile-trace.ts';
import { FlowErrorCounts } from '../flow/index.ts';
import { JoinedProfile } from './joined-profile.ts';
import type { FromWorker, PartWorker, WorkerOptions } from './messages.ts';
import { PartPlanner, type PartSizes, type Stretch } from './part-planner.ts';
import type { PartOptions, PartOutcome } from './part-runner.ts';

/** Who decodes, and how. */
export interface ProfileInPartsOptions extends PartOptions {
  /** Nothing else may use them; they are closed at the end, however it ends. */
  readonly workers: readonly PartWorker[];
  /** Bytes of a part, about. Results do not depend on it. */
  readonly partBytes?: number;
  /** Ends the workers, and the profile with the signal's reason. */
  readonly signal?: CancelSignal;
  /** Asked now and then: how far it is, in bytes. */
  readonly onProgress?: ProgressListener;
}

/** Of parts that have been read and are not decoded yet, all workers together. */
const MOST_WAITING_BYTES = 96 << 20;
const MOST_PART_BYTES = 16 << 20;
const LEAST_PART_BYTES = 1 << 20;
/**
 * One that is decoded, and two that wait. Where the calling thread decodes, too, it gives out parts, each
 * after a read, only between two of its own; one that is as long as its own may be over before.
 */
const PARTS_AT_A_WORKER = 3;
/**
 * Given out and not joined: a part that takes long holds up the joining of all behind it, and what each of
 * them counted is kept until then.
 */
const MOST_OPEN_PARTS_A_WORKER = 8;
/** The number of pieces in which each worker gets its share of the rest of the trace. */
const PIECES_OF_A_SHARE = 3;

/**
 * The sizes of parts unless told: few, as each costs something at its end, and no
 * more in memory than all may have.
 */
export function partSizes(workers: number): PartSizes {
  const fair = Math.floor(MOST_WAITING_BYTES / (workers * PARTS_AT_A_WORKER));
  return {
    mostBytes: Math.max(LEAST_PART_BYTES, Math.min(MOST_PART_BYTES, fair)),
    leastBytes: LEAST_PART_BYTES,
    share: workers === 1 ? 1 : 1 / (workers * PIECES_OF_A_SHARE),
  };
}

/**
 * How often everything was executed, by several workers: the same counts, errors and overflows as
 * `profileTrace` has, rows and branches in the order of addresses. A `File` or source is read part by part:
 * no more is in memory than what is being decoded. Code that is not loaded yet stays unknown.
 */
export async function profileInParts(
  trace: ByteSourceInput | Uint8Array,
  image: CodeImage,
  options: ProfileInPartsOptions,
): Promise<TraceProfile> {
  const { workers = [], signal } = options ?? {};
  if (workers.length === 0)
    throw new CounterpointError(
      'ERR_NO_WORKERS',
      'there is no worker',
      'Give at least one: webPartWorker(new Worker(…)) in a page, partWorkers(2) of counterpoint/trace in Node; or use profileTrace.',
    );
  try {
    const source = trace instanceof Uint8Array ? trace : asByteSource(trace, 'the trace');
    const work = new ProfileInParts(source, options);
    return await runUntilAborted(work, image, signal);
  } finally {
    await Promise.all(workers.map((worker) => worker.close()));
  }
}

async function runUntilAborted(
  work: ProfileInParts,
  image: CodeImage,
  signal: CancelSignal | undefined,
): Promise<TraceProfile> {
  const onAbort = (): void => work.fail(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await work.run(image);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

/** A stretch that a worker has, or had. */
interface Job extends Pick<Stretch, 'firstCut' | 'lastCut' | 'isOwned'> {
  readonly id: number;
  readonly worker: number;
  readonly sizeBytes: number;
  doneBytes: number;
  /** The one before it went on into it: what it found does not count. */
  isVoid: boolean;
  outcome: PartOutcome | null;
}

class ProfileInParts {
  readonly #planner: PartPlanner;
  readonly #options: ProfileInPartsOptions;
  readonly #workers: readonly PartWorker[];
  readonly #totalBytes: number;
  readonly #jobs = new Map<number, Job>();
  /** Parts that each worker has not answered. */
  readonly #load: number[];
  /** Up to here everything is joined. */
  #joinedCut = 0;
  #isInRun = false;
  /** A stretch that must be decoded anew before anything else. */
  #again: { firstCut: number; lastCut: number } | null = null;
  /** Cuts before this one belong to it, or to one that was. */
  #againUntil = 0;
  #isDispatching = false;
  /** Something has changed since it was seen to that all workers have parts. */
  #isDispatchDue = false;
  /** Parts for workers that would hold up the giving out. */
  readonly #heldBack: (() => void)[] = [];
  #nextId = 0;
  #doneBytes = 0;
  readonly #errors = new FlowErrorCounts();
  #overflows = 0;
  #profile = new ExactProfile();
  #resultsMissing: number;
  #isFinishing = false;
  #isEnded = false;
  #resolve: (profile: TraceProfile) => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(source: ByteSource | Uint8Array, options: ProfileInPartsOptions) {
    const { workers } = options;
    this.#options = options;
    this.#workers = workers;
    this.#totalBytes = source instanceof Uint8Array ? source.length : source.size;
    const bytes = options.partBytes;
    if (Number.isNaN(bytes))
      throw new CounterpointError('ERR_PT_PART', 'partBytes is not a number', 'Give bytes, or leave it out.');
    this.#planner = new PartPlanner(
      source,
      bytes === undefined
        ? partSizes(workers.length)
        : { mostBytes: bytes, leastBytes: Math.max(1, bytes), share: 1 },
    );
    this.#load = workers.map(() => 0);
    this.#resultsMissing = workers.length;
  }

  run(image: CodeImage): Promise<TraceProfile> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      const start = {
        type: 'start',
        code: image.snapshot(),
        options: toWorkerOptions(this.#options),
      } as const;
      for (const [index, worker] of this.#workers.entries()) {
        worker.listen(
          (message) => this.#receive(index, message),
          (error) => this.fail(error),
        );
        worker.post(start, []);
      }
      this.#dispatch();
    });
  }

  fail(reason: unknown): void {
    this.#isEnded = true;
    this.#reject(reason);
  }

  #receive(worker: number, message: FromWorker): void {
    if (this.#isEnded) return;
    try {
      if (message.type === 'progress') this.#noteProgress(message.id, message.doneBytes);
      else if (message.type === 'outcome') {
        const { outcome, memory } = message;
        if (memory !== null && this.#jobs.get(outcome.id)?.isOwned === true) this.#planner.giveBack(memory);
        this.#noteOutcome(worker, outcome);
      } else if (message.type === 'result') {
        this.#addResult(message.profile);
        if (--this.#resultsMissing === 0) this.#end();
      } else
        throw new CounterpointError(
          'ERR_PT_WORKER',
          `a decoding worker failed: ${message.message}`,
          'Decode without workers, which gives the same answer and shows where it fails.',
        );
    } catch (error) {
      this.fail(error);
    }
  }

  #end(): void {
    this.#isEnded = true;
    this.#resolve(new JoinedProfile(this.#profile, this.#errors.list(), this.#overflows));
  }

  #addResult(result: ProfileColumns | ExactProfile): void {
    if ('lo' in result) this.#profile.addColumns(result);
    // A worker that another package brings has its own copy of the class.
    else if (this.#profile.rows > 0 || !(result instanceof ExactProfile)) this.#profile.addProfile(result);
    else {
      result.cuts += this.#profile.cuts;
      this.#profile = result;
    }
  }

  // Giving out

  /** Give parts to workers that have room, until there is none or the rest depends on what they find. */
  #dispatch(): void {
    this.#isDispatchDue = true;
    if (!this.#isDispatching) this.#dispatchAll().catch((error) => this.fail(error));
  }

  async #dispatchAll(): Promise<void> {
    this.#isDispatching = true;
    try {
      // What comes in while a part is read finds nobody to start: it is seen to in another round.
      while (this.#isDispatchDue && !this.#isEnded) {
        this.#isDispatchDue = false;
        await this.#giveWhatThereIs();
      }
    } finally {
      this.#isDispatching = false;
      for (const post of this.#heldBack.splice(0)) post();
    }
  }

  async #giveWhatThereIs(): Promise<void> {
    for (;;) {
      const worker = this.#freeWorker();
      const again = this.#again;
      if (worker < 0 || this.#isEnded || (again === null && this.#isTooFarAhead)) return;
      this.#again = null;
      const stretch =
        again === null ? await this.#planner.next() : await this.#planner.join(again.firstCut, again.lastCut);
      if (stretch === null || this.#isEnded) return;
      // While it was read, the one before it may have turned out to go on into it.
      if (again === null && stretch.firstCut < this.#againUntil) continue;
      this.#give(worker, stretch);
    }
  }

  get #isTooFarAhead(): boolean {
    return this.#jobs.size >= MOST_OPEN_PARTS_A_WORKER * this.#workers.length;
  }

  #freeWorker(): number {
    const least = Math.min(...this.#load);
    return least < PARTS_AT_A_WORKER ? this.#load.indexOf(least) : -1;
  }

  #give(worker: number, stretch: Stretch): void {
    const { firstCut, lastCut, baseOffset, from, stopAt, bytes, isOwned } = stretch;
    const id = this.#nextId++;
    const sizeBytes = (stopAt < 0 ? bytes.length : stopAt) - from;
    this.#jobs.set(id, {
      id,
      worker,
      firstCut,
      lastCut,
      isOwned,
      sizeBytes,
      doneBytes: 0,
      isVoid: false,
      outcome: null,
    });
    this.#load[worker]!++;
    const transfer = isOwned && bytes.buffer instanceof ArrayBuffer ? [bytes.buffer] : [];
    const to = this.#workers[worker]!;
    const post = (): void =>
      to.post({ type: 'part', part: { id, bytes, baseOffset, from, stopAt } }, transfer);
    if (to.isCallingThread === true) this.#heldBack.push(post);
    else post();
  }

  // Joining

  #noteOutcome(worker: number, outcome: PartOutcome): void {
    const job = this.#jobs.get(outcome.id);
    if (job === undefined) return;
    this.#load[worker]!--;
    job.outcome = outcome;
    job.doneBytes = job.sizeBytes;
    if (job.isVoid) this.#settle(job, false);
    this.#join();
    this.#report();
    this.#dispatch();
  }

  #join(): void {
    for (;;) {
      const job = [...this.#jobs.values()].find((one) => one.firstCut === this.#joinedCut && !one.isVoid);
      if (job === undefined || job.outcome === null) break;
      const { outcome } = job;
      if (!outcome.isJoined) {
        this.#decodeAgain(job);
        return;
      }
      this.#settle(job, true);
      this.#doneBytes = Math.max(this.#doneBytes, this.#planner.offsetOf(job.lastCut));
      this.#errors.addAll(outcome.errors, 0);
      this.#overflows += outcome.overflows;
      if (this.#isInRun && outcome.startsWithCut) this.#profile.cuts++;
      this.#isInRun = outcome.endsInRun;
      this.#joinedCut = job.lastCut;
    }
    if (this.#isFinishing || !this.#planner.isComplete || this.#joinedCut < this.#planner.cutCount) return;
    this.#isFinishing = true;
    for (const worker of this.#workers) worker.post({ type: 'finish' }, []);
  }

  /**
   * It goes on behind its cut, otherwise than the part there began: both as one, and each time twice as many.
   */
  #decodeAgain(job: Job): void {
    const lastCut = job.lastCut + Math.max(1, job.lastCut - job.firstCut);
    this.#settle(job, false);
    for (const other of this.#jobs.values())
      if (other.firstCut < lastCut && !other.isVoid) {
        other.isVoid = true;
        if (other.outcome !== null) this.#settle(other, false);
      }
    this.#again = { firstCut: job.firstCut, lastCut };
    this.#againUntil = lastCut;
  }

  #settle(job: Job, keep: boolean): void {
    this.#jobs.delete(job.id);
    this.#workers[job.worker]!.post({ type: 'settle', id: job.id, keep }, []);
  }

  // Progress

  #noteProgress(id: number, doneBytes: number): void {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    job.doneBytes = Math.min(doneBytes, job.sizeBytes);
    this.#report();
  }

  #report(): void {
    if (this.#options.onProgress === undefined) return;
    let done = this.#planner.offsetOf(this.#joinedCut);
    for (const job of this.#jobs.values()) if (!job.isVoid) done += job.doneBytes;
    // What is decoded anew is not told twice.
    this.#doneBytes = Math.min(this.#totalBytes, Math.max(this.#doneBytes, done));
    this.#options.onProgress({ phase: 'decoding', done: this.#doneBytes, total: this.#totalBytes });
  }
}

function toWorkerOptions(options: ProfileInPartsOptions): WorkerOptions {
  const { errata, filter, settings, interruptFlags, useCr3, exactOnly, resume } = options;
  return {
    filterRanges: filter?.ranges ?? [],
    ...optional({ errata, settings, interruptFlags, useCr3, exactOnly, resume }),
  };
}
