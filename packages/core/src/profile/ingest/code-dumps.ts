import type { Diagnostic } from '../../base/index.ts';
import {
  type CodeHistory,
  codeHistory,
  type JitCode,
  type LineTimes,
  type PerfMap,
} from '../../code/jit/index.ts';
import { loadJitDump, orderByAddress, type SymbolDriver } from '../../code/symbols/index.ts';
import { hasMonotonicTimes, type PerfDataReader } from '../../file-formats/perfdata/index.ts';
import { RecordedFiles } from './recorded-files.ts';

/** Of one recording. More are no program's, and hostile records may name millions. */
const MOST_DUMPS = 1024;

interface KnownDump {
  path: string;
  /** Null: it cannot be read. */
  code: JitCode | null;
  /** Its times are of the clock of the samples. */
  isTimed: boolean;
  /** Why it cannot be read, or what is wrong in it. */
  diagnostics: Diagnostic[];
}

/**
 * Dumps that processes write of the code they make (jitdump). A process maps its dump, so that its path is in
 * the recording; it is read then, and samples behind it wait.
 */
export class CodeDumps {
  readonly #dumps = new Map<number, KnownDump>();
  #wanted: { pid: number; path: string }[] = [];
  /** Processes whose code was replaced, and nobody can say when. */
  readonly #untimed = new Set<number>();
  /** Grows with every dump that is read: what was asked before has another answer then. */
  generation = 0;

  want(pid: number, path: string): void {
    if (this.#dumps.get(pid)?.path === path || this.generation + this.#wanted.length >= MOST_DUMPS) return;
    this.#wanted.push({ pid, path });
  }

  /** Whether samples have to wait for `read`. */
  get isWaiting(): boolean {
    return this.#wanted.length > 0;
  }

  /** Reads those that are wanted. */
  async read(reader: Pick<PerfDataReader, 'features' | 'events'>, driver: SymbolDriver): Promise<void> {
    const files = new RecordedFiles(reader);
    for (const { pid, path } of this.#wanted.splice(0)) {
      const diagnostics: Diagnostic[] = [];
      const wanted = { path, pid, startMs: files.startOf(pid), frames: false };
      let code = await loadJitDump(wanted, driver, diagnostics);
      const isTimed = code !== null && !code.hasArchTimes && hasMonotonicTimes(reader.events);
      const last = reader.features.sampleTime?.last ?? 0n;
      if (code !== null && isTimed && last > 0n && code.timeNs[0]! > Number(last)) {
        diagnostics.push(ofLaterProcess(path, pid));
        code = null;
      }
      this.#dumps.set(pid, { path, code, isTimed, diagnostics });
      this.generation++;
    }
  }

  /** Whether a dump says when code was where, by the clock of the samples. */
  isTimed(pid: number): boolean {
    const dump = this.#dumps.get(pid);
    return dump !== undefined && dump.code !== null && dump.isTimed;
  }

  /** The code of a process as a perf map; null: there is no dump of it that can be read. */
  mapOf(pid: number): PerfMap | null {
    return this.#dumps.get(pid)?.code?.map ?? null;
  }

  /** Null where no memory was used twice, or nobody can say when. Times are relative to `baseNs`. */
  historyOf(pid: number, baseNs: bigint): CodeHistory | null {
    const dump = this.#dumps.get(pid);
    if (dump === undefined || dump.code === null) return null;
    const { map } = dump.code;
    const order = orderByAddress(map.start.subarray(0, map.count));
    const history = codeHistory(map, order, timesOf(dump.code, baseNs));
    if (history === null || dump.isTimed) return history;
    this.#untimed.add(pid);
    return null;
  }

  /** Why the dump of a process names nothing. Empty: it does, or there is none. */
  problemsOf(pid: number): readonly Diagnostic[] {
    const dump = this.#dumps.get(pid);
    return dump === undefined || dump.code !== null ? [] : dump.diagnostics;
  }

  /** What is wrong in dumps that serve; times of another clock in one note. */
  get diagnostics(): Diagnostic[] {
    const dumps = [...this.#dumps.values()].filter(({ code }) => code !== null);
    return [...this.#otherClock(), ...dumps.flatMap(({ diagnostics }) => diagnostics)];
  }

  #otherClock(): Diagnostic[] {
    const [pid] = this.#untimed;
    const { path, code } = (pid === undefined ? undefined : this.#dumps.get(pid)) ?? {};
    if (path === undefined || code == null) return [];
    const others = this.#untimed.size - 1;
    const more = others === 0 ? '' : ` and ${others} other ${others === 1 ? 'process' : 'processes'}`;
    const clock = code.hasArchTimes ? 'the TSC' : 'CLOCK_MONOTONIC';
    return [
      {
        code: 'jitdump-clock',
        path,
        detail: `process ${pid}${more} used memory of code again, and times of the dump are of ${clock}, those of the samples are not: such code has the name of what was there last`,
        remedy: code.hasArchTimes
          ? 'Let the runtime write times of CLOCK_MONOTONIC, and record with -k mono.'
          : 'Record with -k mono.',
      },
    ];
  }
}

/** Each line of a dump has its own time: until then it was not there, from then on it was. */
function timesOf({ map, timeNs }: JitCode, baseNs: bigint): LineTimes {
  const base = Number(baseNs);
  const times = { timeNs: new Float64Array(2 * map.count), lines: new Uint32Array(2 * map.count) };
  for (let line = 0; line < map.count; line++) {
    times.timeNs.fill(timeNs[line]! - base, 2 * line, 2 * line + 2);
    times.lines[2 * line] = line;
    times.lines[2 * line + 1] = line + 1;
  }
  return times;
}

/** Numbers of processes are used again, and paths with them. */
function ofLaterProcess(path: string, pid: number): Diagnostic {
  return {
    code: 'jitdump-stale',
    path,
    detail: `all code in it was made after the last sample: a later process with the number ${pid} wrote it, so it was not read`,
    remedy: '',
  };
}
