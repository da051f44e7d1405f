import { closeSync, lstatSync, readdirSync, readSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { openRegularFileSync } from '../files/index.ts';
import type { Note } from '../perf-events/index.ts';
import { isNodeProgram, readProcLink } from '../target/index.ts';

const LOG_NAME = /^isolate-0x[0-9a-f]+-(\d+)-v8\.log$/;
/**
 * All that V8 writes into a log that nobody asked for: its version, and pieces of memory that come and go.
 */
const HARMLESS_LINE = /^(v8-version|v8-platform|new|delete|heap-capacity|heap-available),/;
const LOOKED_AT_BYTES = 64 * 1024;
const MOST_PROCESSES = 4096;

/**
 * With `--interpreted-frames-native-stack` V8 also opens a log in the directory of each process, with nothing
 * in it that anybody wanted, and NODE_OPTIONS does not take the flag that would stop it (Node 20 and 24).
 * These files are removed at the end: only those of processes that were recorded, and none that has a line of
 * a real log (`--prof`, `--log`).
 */
export class CommandNames {
  readonly #directories = new Map<number, string>();
  readonly #launchDirectory: string;
  #note: Note | null;

  /** `note`: what to tell when the first Node is met; null: it was told. */
  constructor(launchDirectory: string, note: Note | null) {
    this.#launchDirectory = launchDirectory;
    this.#note = note;
  }

  /** What to tell of a process that makes code. */
  noteOf(pid: number): Note | null {
    if (this.#note === null) return null;
    const program = readProcLink(`${pid}/exe`)?.replace(/ \(deleted\)$/, '');
    if (program === undefined || !isNodeProgram(program)) return null;
    const note = this.#note;
    this.#note = null;
    return note;
  }

  /** A process that makes code. Cheap when asked again. */
  consider(pid: number): void {
    if (this.#directories.has(pid) || this.#directories.size >= MOST_PROCESSES) return;
    this.#directories.set(pid, readProcLink(`${pid}/cwd`) ?? this.#launchDirectory);
  }

  finish(): void {
    for (const directory of new Set(this.#directories.values())) {
      for (const name of namesIn(directory)) {
        const pid = Number(LOG_NAME.exec(name)?.[1] ?? -1);
        const path = join(directory, name);
        if (this.#directories.get(pid) === directory && isHarmless(path)) remove(path);
      }
    }
  }
}

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
