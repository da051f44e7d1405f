/**
 * `/tmp/perf-PID.map`, which V8 writes and leaves: with what a test does not remove, a later one may meet.
 */
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';

const FOLDER = '/tmp';
/**
 * A test that reads the map of a process that has ended has long done so. Pids come again later than that.
 */
const LEFT_MS = 5 * 60_000;

export function removePerfMap(pid: number | undefined): void {
  rmSync(`${FOLDER}/perf-${pid}.map`, { force: true });
}

/**
 * Remove maps of processes that are no more. A Node that gets such a pid as another user cannot write its
 * own, and V8 ends it: `Check failed: perf_output_handle_ != nullptr`.
 */
export function removeLeftPerfMaps(): void {
  for (const name of readdirSync(FOLDER)) {
    const pid = /^perf-(\d+)\.map$/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    const { mtimeMs } = statSync(`${FOLDER}/${name}`, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
    if (Date.now() - mtimeMs > LEFT_MS) removeQuietly(Number(pid));
  }
}

function removeQuietly(pid: number): void {
  try {
    removePerfMap(pid);
  } catch {
    // That of another user is not ours to remove.
  }
}
