import { closeSync, constants, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const MAP_NAME = /^perf-(\d{1,10})\.map$/;

/**
 * A `/tmp/perf-PID.map` that this user cannot write: a Node with `--perf-basic-prof` that gets
 * this number ends at once (V8: `Check failed: perf_output_handle_ != nullptr`). Numbers of
 * processes come again. Null: none.
 */
export function unwritableMap(directory = '/tmp'): string | null {
  const mostPid = largestPid();
  for (const name of namesIn(directory)) {
    const pid = Number(MAP_NAME.exec(name)?.[1] ?? Number.POSITIVE_INFINITY);
    if (pid <= mostPid && !canWrite(join(directory, name))) return join(directory, name);
  }
  return null;
}

/** As V8 opens it, but that it stays as it is. The rules of sticky directories hold for root, too. */
function canWrite(path: string): boolean {
  try {
    const facts = lstatSync(path);
    if (facts.isFile() && facts.uid === process.geteuid?.() && (facts.mode & 0o200) !== 0) return true;
    // A link, a pipe, a directory: nobody has these for a map.
    if (!facts.isFile()) return false;
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

function largestPid(): number {
  try {
    return Number(readFileSync('/proc/sys/kernel/pid_max', 'latin1'));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
