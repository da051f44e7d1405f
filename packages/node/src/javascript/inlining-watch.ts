import { promisify } from 'node:util';
import { deflate } from 'node:zlib';
import {
  encodeInlinedCode,
  encodeMapTimes,
  RECORDED_INLINED_CODE,
  RECORDED_MAP_TIMES,
  RECORDED_PERF_MAP,
  type RecordedFile,
} from '@counterpoint/core/jit';
import type { InterpretedFunctions } from './frame-walker.ts';
import { NamelessProcess, whyUnreadable } from './nameless-process.ts';
import { knownLayoutOf, v8LayoutOf } from './v8-layout.ts';
import { WatchedProcess } from './watched-process.ts';

/** Code that is new is looked at so soon; who makes none is asked less and less often. */
const SHORTEST_INTERVAL_MS = 20;
const LONGEST_INTERVAL_MS = 160;
const MOST_PROCESSES = 256;
/** Of the time of the recorder's own thread, at a look and at the last one. */
const LOOK_BUDGET_MS = 5;
const LAST_LOOK_BUDGET_MS = 250;
const MOST_PACKED_BYTES = 16 << 20;
const compress = promisify(deflate);

/** A process that makes code, and where its map may be. */
export interface WatchedMap {
  pid: number;
  paths: readonly string[];
  uid: number;
  /** It writes none: its code is found in its memory. */
  isNameless: boolean;
}

/** What could not be had. */
export interface InliningGap {
  pid: number;
  text: string;
  /** Its code has no names at all. */
  isNameless: boolean;
}

/**
 * Notes, while Node processes run, when they made which code, and reads what their optimised code inlines:
 * afterwards nobody can. What is made in the last moments before the end of a process is missed, and its
 * samples stay with the function that was compiled.
 */
export class InliningWatch implements Disposable {
  readonly #processes = new Map<number, WatchedProcess | NamelessProcess>();
  #timer: NodeJS.Timeout | null = null;
  #intervalMs = SHORTEST_INTERVAL_MS;
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

  /** Cheap when asked again. */
  consider({ pid, paths, uid, isNameless }: WatchedMap): void {
    if (this.#processes.has(pid) || this.#processes.size >= MOST_PROCESSES) return;
    if (isNameless && (!this.#readsNameless || pid === process.pid)) return;
    this.#processes.set(pid, isNameless ? new NamelessProcess(pid) : new WatchedProcess(pid, paths, uid));
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

  /** Whether a process writes no names, and its frames can be read. */
  framesOf(pid: number): InterpretedFunctions | null {
    const watched = this.#processes.get(pid);
    return watched instanceof NamelessProcess && watched.canWalkFrames ? watched : null;
  }

  /** Reads what is new, at once: processes are about to end. */
  look(): void {
    this.#look(LAST_LOOK_BUDGET_MS, true);
  }

  /** Whether there was something new. */
  #look(budgetMs: number, isLast = false): boolean {
    let isNew = false;
    for (const process of this.#processes.values())
      isNew = process.look(budgetMs, this.#nowNs, isLast) || isNew;
    return isNew;
  }

  #tick(): void {
    this.#intervalMs = this.#look(LOOK_BUDGET_MS)
      ? SHORTEST_INTERVAL_MS
      : Math.min(2 * this.#intervalMs, LONGEST_INTERVAL_MS);
    this.#timer = setTimeout(() => this.#tick(), this.#intervalMs).unref();
  }

  /** What was read until now, for the recording, and what could not be. */
  async pack(): Promise<{ files: RecordedFile[]; gaps: InliningGap[] }> {
    this.look();
    const files: RecordedFile[] = [];
    const gaps: InliningGap[] = [];
    for (const [pid, process] of this.#processes) {
      const { gap } = process;
      const isNameless = process instanceof NamelessProcess;
      if (gap !== null) gaps.push({ pid, text: gap, isNameless });
      const map = isNameless ? process.map() : null;
      if (map !== null && map.length > 0) files.push(...(await packed(RECORDED_PERF_MAP, pid, map)));
      const pieces = [...process.pieces.values()];
      if (pieces.length > 0)
        files.push(...(await packed(RECORDED_INLINED_CODE, pid, encodeInlinedCode(pieces))));
      const times = process.times.list();
      if (times.length > 0 && map?.length !== 0)
        files.push(...(await packed(RECORDED_MAP_TIMES, pid, encodeMapTimes(times))));
    }
    return { files, gaps };
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const process of this.#processes.values()) process[Symbol.dispose]();
    this.#processes.clear();
  }
}

/** None where it is too large. */
async function packed(kind: number, pid: number, bytes: Uint8Array<ArrayBuffer>): Promise<RecordedFile[]> {
  const file = new Uint8Array(await compress(bytes));
  return file.length > MOST_PACKED_BYTES ? [] : [{ kind, pid, sizeBytes: bytes.length, packed: file }];
}
