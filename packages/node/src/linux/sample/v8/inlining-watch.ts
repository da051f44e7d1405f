import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import {
  encodeMapTimes,
  RECORDED_INLINED_CODE,
  RECORDED_MAP_TIMES,
  RECORDED_PERF_MAP,
  RECORDED_SOURCE_MAPS,
  type RecordedFile,
} from '@counterpoint/core/jit';
import { readProcLink } from '../../kernel/target/index.ts';
import type { InterpretedFunctions } from './frame-walker.ts';
import { NamelessProcess, whyUnreadable } from './nameless-process.ts';
import { knownLayoutOf, TESTED_VERSIONS, v8LayoutOf } from './v8-layout.ts';
import { type WatchedMap, WatchedProcess } from './watched-process.ts';

/** Code that is new is looked at so soon; who makes none is asked less and less often. */
const SHORTEST_INTERVAL_MS = 20;
const LONGEST_INTERVAL_MS = 160;
/** Whoever made or dropped code a moment ago will do so again. */
const KEEPS_MAKING_MS = 500;
/** Whether a process has ended is asked so often: what was in its memory is gone at once. */
const ENDED_AFTER_MS = 160;
/** Of those that run at one time. */
const MOST_PROCESSES = 256;
/** Of the time of the recorder's own thread, at a look and at the last one. */
const LOOK_BUDGET_MS = 5;
const LAST_LOOK_BUDGET_MS = 250;
/** When the recording is over nobody waits for anything but names: of each process, and of all together. */
const FINAL_LOOK_BUDGET_MS = 3000;
const FINAL_LOOKS_BUDGET_MS = 10_000;
/** Whatever it is, the first lines of a process are read at once. */
const LEAST_BUDGET_MS = 0.5;
/** Of all processes together. What ended first goes first. */
const MOST_PACKED_BYTES = 32 << 20;
const compress = promisify(deflate);

const EVERYBODY = (_pid: number): boolean => true;

/** What could not be had; `pid` null: of some processes. */
export interface InliningGap {
  pid: number | null;
  text: string;
  /** Its code has no names at all. */
  isNameless: boolean;
}

type Watched = WatchedProcess | NamelessProcess;

interface Ended {
  files: RecordedFile[];
  gap: InliningGap | null;
  untestedVersion: string | null;
}

/**
 * Notes, while Node processes run, when they made which code, and reads what their optimised code inlines:
 * afterwards nobody can. What is made in the last moments before the end of a process is missed, and its
 * samples stay with the function that was compiled.
 *
 * Of a process that has ended only the compressed result is kept.
 */
export class InliningWatch implements Disposable {
  readonly #processes = new Map<number, Watched>();
  #ended: { pid: number; result: Promise<Ended> }[] = [];
  #endedBytes = 0;
  /** Ended processes whose result had no room any more. */
  #dropped = 0;
  #unwatched = 0;
  #timer: NodeJS.Timeout | null = null;
  #intervalMs = SHORTEST_INTERVAL_MS;
  #newAtMs = Number.NEGATIVE_INFINITY;
  #askedMs = Number.NEGATIVE_INFINITY;
  readonly #nowNs: (() => bigint) | null;

  readonly #readsNameless: boolean;

  /**
   * `nowNs`: the clock of the recording's samples; null: it cannot be asked. `readsNameless`: whether code
   * without names is looked for.
   */
  constructor(nowNs: (() => bigint) | null, readsNameless = true) {
    this.#nowNs = nowNs;
    this.#readsNameless = readsNameless;
  }

  /** So that `whyNameless` can answer at once. */
  async prepare(pids: readonly number[]): Promise<void> {
    // Whose program cannot be read is told later.
    await Promise.allSettled(pids.slice(0, MOST_PROCESSES).map((pid) => v8LayoutOf(`/proc/${pid}/exe`)));
  }

  /** Of processes whose memory and map are open. */
  get watched(): number {
    return this.#processes.size;
  }

  /** Cheap when asked again. */
  consider(map: WatchedMap): void {
    const { pid, isNameless } = map;
    if (this.#processes.has(pid)) return;
    if (isNameless && (!this.#readsNameless || pid === process.pid)) return;
    if (this.#processes.size >= MOST_PROCESSES) {
      this.#unwatched++;
      return;
    }
    const watched = isNameless ? new NamelessProcess(pid, this.#nowNs) : new WatchedProcess(map);
    this.#processes.set(pid, watched);
    // What its samples mean is known only from the first look on.
    if (isNameless) watched.look(LOOK_BUDGET_MS, this.#nowNs);
    this.#intervalMs = SHORTEST_INTERVAL_MS;
    this.#timer ??= setTimeout(() => this.#tick(), this.#intervalMs).unref();
  }

  /** After `prepare`: whether the version of a program that runs is known. */
  isKnown(pid: number): boolean {
    const layout = knownLayoutOf(`/proc/${pid}/exe`);
    return this.#readsNameless && layout !== null && whyUnreadable(layout) === null;
  }

  /** Why the code of a process has no names; null: it has, as far as is known. */
  whyNameless(pid: number): string | null {
    const watched = this.#processes.get(pid);
    if (watched === undefined) return 'too many processes are watched';
    return watched instanceof NamelessProcess ? watched.whyNot : null;
  }

  /** Whether the program of a process that writes no names is still being read. */
  isPending(pid: number): boolean {
    const watched = this.#processes.get(pid);
    return watched instanceof NamelessProcess && watched.whyNot === null && !watched.canWalkFrames;
  }

  /** Whether a process writes no names, and its frames can be read. */
  framesOf(pid: number): InterpretedFunctions | null {
    const watched = this.#processes.get(pid);
    return watched instanceof NamelessProcess && watched.canWalkFrames ? watched : null;
  }

  /** What a map of a process that writes none would say by now; null: it writes one, or nothing is known. */
  mapOf(pid: number): Uint8Array<ArrayBuffer> | null {
    const watched = this.#processes.get(pid);
    const map = watched instanceof NamelessProcess ? watched.map().bytes : null;
    return map === null || map.length === 0 ? null : map;
  }

  /** Reads what is new, at once: processes are about to end. */
  look(): void {
    this.#look(() => LAST_LOOK_BUDGET_MS, true);
  }

  /** Whether there was something new. */
  #look(budgetMs: () => number, isLast = false, isWanted = EVERYBODY): boolean {
    let isNew = false;
    const now = performance.now();
    const asks = isLast || now >= this.#askedMs + ENDED_AFTER_MS;
    if (asks) this.#askedMs = now;
    for (const [pid, process] of this.#processes) {
      if (!isWanted(pid)) continue;
      const hasEnded = asks && readProcLink(`${pid}/exe`) === null;
      isNew = process.look(budgetMs(), this.#nowNs, isLast || hasEnded) || isNew;
      if (hasEnded) this.#end(pid, process);
    }
    return isNew;
  }

  #end(pid: number, process: Watched): void {
    this.#processes.delete(pid);
    const ended = resultOf(pid, process);
    process[Symbol.dispose]();
    this.#ended.push({ pid, result: ended });
    void ended.then(({ files }) => {
      this.#endedBytes += bytesOf(files);
      void this.#makeRoom();
    });
  }

  /** Nothing is asked about a process any more: it ended long ago. */
  forget(pid: number): void {
    this.#processes.get(pid)?.[Symbol.dispose]();
    this.#processes.delete(pid);
    const gone = this.#ended.filter((one) => one.pid === pid);
    this.#ended = this.#ended.filter((one) => one.pid !== pid);
    for (const { result } of gone)
      void result.then(({ files }) => {
        this.#endedBytes -= bytesOf(files);
      });
  }

  async #makeRoom(): Promise<void> {
    while (this.#endedBytes > MOST_PACKED_BYTES && this.#ended.length > 0) {
      const first = this.#ended.shift()!;
      this.#dropped++;
      this.#endedBytes -= bytesOf((await first.result).files);
    }
  }

  #tick(): void {
    const budgetMs = Math.max(LEAST_BUDGET_MS, LOOK_BUDGET_MS / Math.max(1, this.#processes.size));
    const now = performance.now();
    if (this.#look(() => budgetMs)) this.#newAtMs = now;
    this.#intervalMs =
      now < this.#newAtMs + KEEPS_MAKING_MS
        ? SHORTEST_INTERVAL_MS
        : Math.min(2 * this.#intervalMs, LONGEST_INTERVAL_MS);
    this.#timer = setTimeout(() => this.#tick(), this.#intervalMs).unref();
  }

  /**
   * What was read until now, for the recording, and what could not be. `budgetMs`: to read what is
   * new, of all processes together; the rest is a gap. `isWanted`: of which processes.
   */
  async pack(
    budgetMs = FINAL_LOOKS_BUDGET_MS,
    isWanted = EVERYBODY,
  ): Promise<{ files: RecordedFile[]; gaps: InliningGap[] }> {
    const until = performance.now() + budgetMs;
    let left = [...this.#processes.keys()].filter(isWanted).length;
    // Who has nothing new leaves its share to the others.
    const share = () => (until - performance.now()) / left--;
    this.#look(() => Math.max(LEAST_BUDGET_MS, Math.min(FINAL_LOOK_BUDGET_MS, share())), true, isWanted);
    const running = [...this.#processes]
      .filter(([pid]) => isWanted(pid))
      .map(([pid, process]) => resultOf(pid, process));
    const ended = this.#ended.filter(({ pid }) => isWanted(pid)).map(({ result }) => result);
    const all = await Promise.all([...ended, ...running]);
    const gaps = all.flatMap(({ gap }) => (gap === null ? [] : [gap]));
    for (const version of new Set(all.map(({ untestedVersion }) => untestedVersion)))
      if (version !== null) gaps.push({ pid: null, text: untestedText(version), isNameless: false });
    const missed = this.#dropped + this.#unwatched;
    if (missed > 0)
      gaps.push({
        pid: null,
        text: `${missed === 1 ? '1 process is' : `${missed} processes are`} too many beside the others`,
        isNameless: false,
      });
    return { files: all.flatMap(({ files }) => files), gaps };
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const process of this.#processes.values()) process[Symbol.dispose]();
    this.#processes.clear();
    this.#ended = [];
  }
}

function untestedText(version: string): string {
  const which = version === 'unknown' ? 'does not tell its version' : `is version ${version}`;
  return `the V8 of a recorded Node ${which}, and Counterpoint was tested with ${TESTED_VERSIONS.join(', ')} only: it may not tell inlined functions apart`;
}

/** Its facts are taken at once, whatever becomes of the process. */
async function resultOf(pid: number, process: Watched): Promise<Ended> {
  const { gap, pieces, untestedVersion } = process;
  const isNameless = process instanceof NamelessProcess;
  const made = process instanceof NamelessProcess ? process.map() : null;
  const map = made?.bytes ?? null;
  const times = process instanceof NamelessProcess ? made!.times : process.times.list();
  const inlined = pieces.count > 0 ? pieces.bytes() : null;
  const sourceMaps = process.sourceMaps?.bytes() ?? null;
  return {
    gap: gap === null ? null : { pid, text: gap, isNameless },
    untestedVersion,
    files: [
      ...(map !== null && map.length > 0 ? await packed(RECORDED_PERF_MAP, pid, map) : []),
      ...(sourceMaps === null ? [] : await packed(RECORDED_SOURCE_MAPS, pid, sourceMaps)),
      ...(inlined === null ? [] : await packed(RECORDED_INLINED_CODE, pid, inlined)),
      ...(times.length > 0 ? await packed(RECORDED_MAP_TIMES, pid, encodeMapTimes(times)) : []),
    ],
  };
}

function bytesOf(files: readonly RecordedFile[]): number {
  return files.reduce((sum, { packed }) => sum + packed.length, 0);
}

/** None where it is too large. */
async function packed(kind: number, pid: number, bytes: Uint8Array<ArrayBuffer>): Promise<RecordedFile[]> {
  const file = new Uint8Array(await compress(bytes));
  return file.length > MOST_PACKED_BYTES ? [] : [{ kind, pid, sizeBytes: bytes.length, packed: file }];
}
