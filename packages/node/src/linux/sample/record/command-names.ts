import { closeSync, lstatSync, readdirSync, readSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { openRegularFileSync } from '../../../host/files/index.ts';
import type { Note } from '../../kernel/perf-events/index.ts';
import { isNodeProgram, ProcessTree, readProc, readProcLink } from '../../kernel/target/index.ts';
import { flagName } from './node-options.ts';

const LOG_NAME = /^isolate-0x[0-9a-f]+-(\d+)-v8\.log$/;
/**
 * All that V8 writes into a log that nobody asked for: its version, and pieces of memory that come and go.
 */
const HARMLESS_LINE = /^(v8-version|v8-platform|new|delete|heap-capacity|heap-available),/;
/** Flags by which somebody asks for it. */
const LOG_FLAG = /^--(log|prof$|ll-prof$|trace-maps|trace-ic|cpu-prof)/;
const LOOKED_AT_BYTES = 64 * 1024;
const MOST_PROCESSES = 4096;
/**
 * Time in which a Node has opened its log. On a busy machine it takes longer: each
 * wait is twice the one before.
 */
const LOG_DELAY_MS = 150;
const LONGEST_DELAY_MS = 10_000;
const DELETED = / \(deleted\)$/;

/**
 * What the flags for names leave behind. With `--perf-basic-prof` V8 also opens a log in the
 * directory of each process, with nothing in it that anybody wanted, and NODE_OPTIONS does not
 * take the flag that would stop it.
 *
 * Its name goes soon after the start (V8 writes on, into a file that nobody sees), so that a program
 * that looks at its directory does not meet it: `git status`, a packer, a watcher. What is missed
 * goes at the end. Only logs of processes that were recorded, and none that somebody asked for or
 * that has a line of a real log.
 */
export class CommandNames implements Disposable {
  /** Where a process was started. */
  readonly #directories = new Map<number, string>();
  readonly #launchDirectory: string;
  /** Processes that want their log. */
  readonly #kept = new Set<number>();
  #tree: ProcessTree | null = null;
  /** Those whose log was not met yet. */
  readonly #awaited = new Set<number>();
  #soon: NodeJS.Timeout | null = null;
  #delayMs = LOG_DELAY_MS;
  #note: Note | null;

  /** `note`: what to tell when the first Node is met; null: it was told. */
  constructor(launchDirectory: string, note: Note | null) {
    this.#launchDirectory = launchDirectory;
    this.#note = note;
  }

  [Symbol.dispose](): void {
    this.#tree?.[Symbol.dispose]();
    if (this.#soon !== null) clearTimeout(this.#soon);
    this.#soon = null;
  }

  /** The command runs. `onNode`: it, or what it has started, is Node. */
  follow(pid: number, onNode: (pid: number) => void): void {
    this.#tree = new ProcessTree(pid, (child, program) => {
      if (!isNodeProgram(program.replace(DELETED, ''))) return;
      this.consider(child);
      onNode(child);
    });
  }

  /** What to tell of a process that makes code. */
  noteOf(pid: number): Note | null {
    if (this.#note === null) return null;
    const program = readProcLink(`${pid}/exe`)?.replace(DELETED, '');
    if (program === undefined || !isNodeProgram(program)) return null;
    const note = this.#note;
    this.#note = null;
    return note;
  }

  /** A process that makes code. Cheap when asked again. */
  consider(pid: number): void {
    if (this.#directories.has(pid) || this.#directories.size >= MOST_PROCESSES) return;
    this.#directories.set(pid, readProcLink(`${pid}/cwd`) ?? this.#launchDirectory);
    if (wantsLog(pid)) this.#kept.add(pid);
    else this.#awaited.add(pid);
    if (this.#soon !== null && this.#delayMs === LOG_DELAY_MS) return;
    if (this.#soon !== null) clearTimeout(this.#soon);
    this.#delayMs = LOG_DELAY_MS;
    this.#lookSoon();
  }

  #lookSoon(): void {
    this.#soon = setTimeout(() => {
      this.#soon = null;
      this.#removeLogs();
      this.#delayMs *= 2;
      if (this.#awaited.size > 0 && this.#delayMs < LONGEST_DELAY_MS) this.#lookSoon();
    }, this.#delayMs).unref();
  }

  /** All that is left. */
  finish(): void {
    this[Symbol.dispose]();
    this.#removeLogs();
  }

  #removeLogs(): void {
    for (const pid of this.#directories.keys()) {
      const directory = logDirectoryOf(pid);
      if (directory !== null) this.#directories.set(pid, directory);
    }
    for (const directory of new Set(this.#directories.values())) {
      for (const name of namesIn(directory)) {
        const pid = Number(LOG_NAME.exec(name)?.[1] ?? -1);
        const path = join(directory, name);
        if (!this.#directories.has(pid)) continue;
        this.#awaited.delete(pid);
        if (!this.#kept.has(pid) && isHarmless(path)) remove(path);
      }
    }
  }
}

/** Whether the command line or the environment of a process asks for a log. */
function wantsLog(pid: number): boolean {
  const environment = readProc(`${pid}/environ`)?.split('\0') ?? [];
  const options = environment.find((variable) => variable.startsWith('NODE_OPTIONS=')) ?? '';
  const words = [...(readProc(`${pid}/cmdline`)?.split('\0') ?? []), ...options.slice(13).split(' ')];
  return words.some((word) => LOG_FLAG.test(flagName(word)));
}

/** Where the log that a process has open was made; null: it has none with a name. */
function logDirectoryOf(pid: number): string | null {
  for (const fd of namesIn(`/proc/${pid}/fd`).slice(0, MOST_DESCRIPTORS)) {
    const path = readProcLink(`${pid}/fd/${fd}`);
    if (path !== null && LOG_NAME.test(basename(path))) return dirname(path);
  }
  return null;
}

/** V8 opens it early. */
const MOST_DESCRIPTORS = 64;

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function isHarmless(path: string): boolean {
  try {
    if (!lstatSync(path).isFile()) return false;
    const fd = openRegularFileSync(path);
    try {
      const bytes = Buffer.alloc(LOOKED_AT_BYTES);
      const size = readSync(fd, bytes);
      const lines = bytes.toString('latin1', 0, size).split('\n');
      // The last one is empty, or cut.
      return lines.slice(0, -1).every((line) => HARMLESS_LINE.test(line));
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Not ours to remove after all.
  }
}
