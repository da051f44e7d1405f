import { BusyTimeline } from './busy-timeline.ts';
import { KeptTurns, type TurnKind } from './kept-turns.ts';
import { LengthHistogram } from './length-histogram.ts';

/** The arguments of a wait, as far as they are known. */
export interface WaitCall {
  /** The descriptor of the epoll instance: each loop has its own. */
  epollFd: number | null;
  /** 0: it only looks; null: not known. */
  timeoutMs: number | null;
}

/**
 * libuv looks for events without waiting, to know how long it was idle, and waits only then:
 *
 *     epoll_pwait(timeout 0) = 0, epoll_pwait(timeout 2490) = 1
 *
 * Between the two nothing of the program runs.
 */
const MOST_BETWEEN_LOOKS_NS = 100_000;
/** After this many waits of a loop, no other loop of the thread takes its place. */
const SETTLED_WAITS = 16;

/**
 * The event loop of one thread: its waits, and the turns between them.
 *
 *     wait ── returns ──┐ turn: callbacks, timers, promises ┌── wait ── returns ──┐ turn ...
 *
 * `spawnSync` runs a loop of its own inside of a turn, with another epoll instance: its waits
 * belong to the turn.
 */
export class ThreadLoop {
  readonly pid: number;
  readonly tid: number;
  lengths = new LengthHistogram();
  kept = new KeptTurns();
  timeline: BusyTimeline;
  /** Nanoseconds since the recording's base time. */
  readonly firstNs: number;
  turns = 0;
  nestedWaits = 0;
  waits = 0;
  busyNs = 0;
  idleNs = 0;
  /** Turns during which records were lost: they may be several, so they are not counted as turns. */
  doubtfulTurns = 0;
  doubtfulNs = 0;
  /** Whether the loop is in its wait now. */
  isWaiting = false;
  endNs: number | null = null;
  #epollFd: number | null = null;
  #sinceNs: number;
  #kind: TurnKind;
  #lastWait: WaitCall | null = null;
  #lastWaitFoundNothing = false;
  #isDoubtful = false;
  #isInNestedWait = false;
  readonly #firstKind: TurnKind;

  /** `isNew`: the thread began at `startNs`; else the recording did. */
  constructor(pid: number, tid: number, startNs: number, isNew: boolean) {
    this.pid = pid;
    this.tid = tid;
    this.firstNs = this.#sinceNs = startNs;
    this.#firstKind = this.#kind = isNew ? 'start' : 'cut';
    this.timeline = new BusyTimeline(startNs);
  }

  enter(timeNs: number, call: WaitCall): void {
    if (this.#isNested(call)) {
      this.nestedWaits++;
      this.#isInNestedWait = true;
      return;
    }
    this.waits++;
    if (this.isWaiting) {
      // Its return was lost.
      this.#isDoubtful = true;
      this.#lastWait = call;
      return;
    }
    const isSecondLook =
      this.#kind === 'turn' &&
      this.#lastWaitFoundNothing &&
      this.#lastWait?.timeoutMs === 0 &&
      call.timeoutMs !== null &&
      call.timeoutMs !== 0 &&
      timeNs - this.#sinceNs < MOST_BETWEEN_LOOKS_NS;
    if (isSecondLook) this.idleNs += Math.max(0, timeNs - this.#sinceNs);
    else this.#turn(timeNs, this.#kind);
    this.isWaiting = true;
    this.#lastWait = call;
    this.#sinceNs = timeNs;
  }

  /** `found`: how many events; null: not known. */
  exit(timeNs: number, found: number | null): void {
    if (this.#isInNestedWait) {
      this.#isInNestedWait = false;
      return;
    }
    if (!this.isWaiting) {
      // Of a wait that began before the recording.
      if (this.waits > 0 || this.#kind !== 'cut') return;
      this.isWaiting = true;
    }
    this.idleNs += Math.max(0, timeNs - this.#sinceNs);
    this.isWaiting = false;
    this.#sinceNs = timeNs;
    this.#kind = 'turn';
    this.#lastWaitFoundNothing = found === 0;
  }

  /** Records of this time are lost: what was seen as one turn may be several. */
  lose(): void {
    this.#isDoubtful = true;
  }

  /** The thread, or the recording, ended. */
  end(timeNs: number, isThreadEnd: boolean): void {
    if (this.endNs !== null) return;
    this.endNs = timeNs;
    if (this.isWaiting) this.idleNs += Math.max(0, timeNs - this.#sinceNs);
    else this.#turn(timeNs, isThreadEnd ? 'end' : 'cut');
  }

  /** A loop that was begun in a turn; or, at the beginning, the one around those that were seen. */
  #isNested({ epollFd, timeoutMs }: WaitCall): boolean {
    if (epollFd === null || epollFd === this.#epollFd) return false;
    if (this.#epollFd === null) {
      this.#epollFd = epollFd;
      return false;
    }
    // The loop of a thread is made before the program can make others, so its number is lower.
    if (epollFd > this.#epollFd || this.waits >= SETTLED_WAITS || this.isWaiting) return true;
    // Node looks into libuv's default loop as it ends, and does not wait there.
    if (timeoutMs === 0) return true;
    this.#restart(epollFd);
    return false;
  }

  /** What was seen until now was of a loop inside of the first turn. */
  #restart(epollFd: number): void {
    this.nestedWaits += this.waits;
    this.#epollFd = epollFd;
    this.#kind = this.#firstKind;
    this.#sinceNs = this.firstNs;
    this.#isDoubtful = this.doubtfulTurns > 0;
    this.waits = this.turns = this.busyNs = this.idleNs = this.doubtfulTurns = this.doubtfulNs = 0;
    this.lengths = new LengthHistogram();
    this.kept = new KeptTurns();
    this.timeline = new BusyTimeline(this.firstNs);
  }

  #turn(endNs: number, kind: TurnKind): void {
    const startNs = this.#sinceNs;
    const lengthNs = Math.max(0, endNs - startNs);
    this.busyNs += lengthNs;
    this.timeline.add(startNs, endNs);
    if (this.#isDoubtful) {
      this.#isDoubtful = false;
      this.doubtfulTurns++;
      this.doubtfulNs += lengthNs;
      return;
    }
    if (kind === 'turn') {
      this.turns++;
      this.lengths.add(lengthNs);
    }
    this.kept.add({ kind, startNs, endNs });
  }
}
