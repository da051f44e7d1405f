import { existsSync, lstatSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { PERF_RECORD_MMAP2 } from '@counterpoint/core/abi';
import type { Mmap2Record, PerfRecord } from '@counterpoint/core/records';
import { isOfEarlierProcess, whyForeignMap } from '../../../host/files/index.ts';
import type { Note } from '../../kernel/perf-events/index.ts';
import {
  isNodeProgram,
  PROT_EXEC,
  processStartMs,
  readProc,
  readProcLink,
} from '../../kernel/target/index.ts';
import { NAME_FLAGS } from './node-names.ts';

/**
 * Executable memory without a file: code that was made while the program ran. Its
 * pid; null for any other record.
 */
export function processWithMadeCode(record: PerfRecord): number | null {
  if (record.type !== PERF_RECORD_MMAP2) return null;
  const { protection, inode, path, pid } = record as Mmap2Record;
  const isMade = (protection & PROT_EXEC) !== 0 && (inode ?? 0n) === 0n && !path.startsWith('[');
  return isMade ? pid : null;
}

interface Runtime {
  name: string;
  isProgram(path: string): boolean;
  /** What its users do about it. */
  remedy: string;
}

const NODE_FLAGS = NAME_FLAGS.join(' ');

const NODE: Runtime = {
  name: 'Node',
  isProgram: isNodeProgram,
  remedy: `start Node with ${NODE_FLAGS} (NODE_OPTIONS='${NODE_FLAGS}' also works)`,
};

/** Runtimes that write a map of their code only where they are told to. */
const RUNTIMES: readonly Runtime[] = [
  NODE,
  {
    name: 'Java',
    isProgram: (path) => basename(path) === 'java',
    remedy:
      'run jcmd PID Compiler.perfmap before the recording ends (JDK 17), or start Java with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit',
  },
  {
    name: '.NET',
    isProgram: (path) => basename(path) === 'dotnet',
    remedy: 'start it with DOTNET_PerfMapEnabled=1',
  },
];

/**
 * The runtime of a process that makes code and writes no names of it; null where it writes
 * some, or nobody knows the runtime.
 */
function namelessRuntime(pid: number): Runtime | null {
  const program = readProcLink(`${pid}/exe`)?.replace(/ \(deleted\)$/, '');
  const runtime = program === undefined ? undefined : RUNTIMES.find(({ isProgram }) => isProgram(program));
  return runtime === undefined || writesNames(pid) ? null : runtime;
}

/** There is a map, or there will be one. */
export function writesNames(pid: number): boolean {
  const innerPid = /^NSpid:.*\b(\d+)$/m.exec(readProc(`${pid}/status`) ?? '')?.[1] ?? pid;
  const maps = [`/tmp/perf-${pid}.map`, `/proc/${pid}/root/tmp/perf-${innerPid}.map`];
  if (maps.some((path) => isOfProcess(path, pid))) return true;
  const words = `${readProc(`${pid}/cmdline`) ?? ''}\0${readProc(`${pid}/environ`) ?? ''}`;
  return /--perf[-_](?:basic[-_])?prof|DOTNET_PerfMapEnabled=[13]/.test(words);
}

/** Another user may put anything there, and would hide the names that are found without it. */
function isOfProcess(path: string, pid: number): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts === undefined || isOfEarlierProcess(facts.mtimeMs, processStartMs(pid))) return false;
  const owner = statSync(`/proc/${pid}`, { throwIfNoEntry: false });
  return owner !== undefined && whyForeignMap(facts, owner.uid) === null;
}

const MOST_SHOWN = 4;

/**
 * Processes whose code will have no names, told when they are met: afterwards
 * nobody can do anything about it.
 */
export class NamelessCode {
  readonly #seen = new Set<number>();
  readonly #told = new Map<Runtime, number>();
  #toldInterpreted = 0;
  /** Processes whose program is still being read. */
  readonly #pending = new Set<number>();
  readonly #whyNameless: ((pid: number) => string | null) | null;
  readonly #isPending: (pid: number) => boolean;

  /**
   * `whyNameless`: why the code of a Node could not be read from outside; null: it can. `isPending`: that is
   * not known yet.
   */
  constructor(
    whyNameless: ((pid: number) => string | null) | null = null,
    isPending: (pid: number) => boolean = () => false,
  ) {
    this.#whyNameless = whyNameless;
    this.#isPending = isPending;
  }

  /** Of what runs already: one note for each runtime. */
  noteAll(pids: Iterable<number>, notes: Note[]): void {
    const found = new Map<Runtime, number[]>();
    for (const pid of pids) {
      const runtime = this.#consider(pid);
      if (runtime !== null) found.set(runtime, [...(found.get(runtime) ?? []), pid]);
    }
    for (const [runtime, those] of found) {
      this.#told.set(runtime, those.length);
      notes.push(noteOf(runtime, those, this.#whyOf(those[0]!)));
    }
  }

  /** Of a process that is met while recording. Null: nothing to tell, or it was told of enough others. */
  noteOf(pid: number): Note | null {
    if (!this.#isNew(pid)) return null;
    // Its next piece of memory asks again.
    if (this.#isPending(pid)) {
      this.#pending.add(pid);
      return null;
    }
    const runtime = namelessRuntime(pid);
    const isRead = runtime === NODE && this.#whyNameless?.(pid) === null;
    this.#seen.add(pid);
    this.#pending.delete(pid);
    if (isRead) return this.#interpretedNote(pid);
    return runtime === null ? null : this.#tell(runtime, pid, this.#whyOf(pid));
  }

  /** At the end: of those whose program was read later, or not at all. */
  noteLeft(notes: Note[]): void {
    for (const pid of this.#pending) {
      const note = this.#interpretedNote(pid);
      if (note !== null) notes.push(note);
    }
    this.#pending.clear();
  }

  /** Who interpreted functions are is in their frames, which samples have only of what ran before. */
  #interpretedNote(pid: number): Note | null {
    if (++this.#toldInterpreted > MOST_SHOWN) return null;
    const text = `process ${pid} is Node that was started without the flags for names: functions that V8 compiled have the names that were read from its memory, and those that it interprets are (functions without a name): ${NODE.remedy}`;
    return { kind: 'nameless-code', text };
  }

  #tell(runtime: Runtime, pid: number, why: string): Note | null {
    const told = (this.#told.get(runtime) ?? 0) + 1;
    this.#told.set(runtime, told);
    return told > MOST_SHOWN ? null : noteOf(runtime, [pid], why);
  }

  /** This process is Node, too, and not what anybody looks for. */
  #isNew(pid: number): boolean {
    return pid !== process.pid && !this.#seen.has(pid);
  }

  #consider(pid: number): Runtime | null {
    if (!this.#isNew(pid)) return null;
    this.#seen.add(pid);
    const runtime = namelessRuntime(pid);
    if (runtime !== NODE || this.#whyNameless === null) return runtime;
    return this.#whyNameless(pid) === null ? null : runtime;
  }

  #whyOf(pid: number): string {
    const why = this.#whyNameless?.(pid) ?? null;
    return why === null ? '' : `; it was not possible to read them from outside: ${why}`;
  }
}

function noteOf({ name, remedy }: Runtime, pids: readonly number[], why: string): Note {
  const more = pids.length > MOST_SHOWN ? ` and ${pids.length - MOST_SHOWN} more` : '';
  const who =
    pids.length === 1
      ? `process ${pids[0]} is`
      : `processes ${pids.slice(0, MOST_SHOWN).join(', ')}${more} are`;
  const text = `${who} ${name} without names for its generated code, which will be [JIT without names]: ${remedy}${why}`;
  const stale = pids.map((pid) => `/tmp/perf-${pid}.map`).filter((path) => existsSync(path));
  const wrong =
    stale.length === 0
      ? ''
      : `; remove ${stale.slice(0, MOST_SHOWN).join(', ')}: an earlier process of that number wrote it, and its names would be wrong`;
  return { kind: 'nameless-code', text: `${text}${wrong}` };
}
