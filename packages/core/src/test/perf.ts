import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why the installed `perf` cannot be the oracle; false where it can. For the `skip` option of tests. */
export const noPerf: string | false =
  spawnSync('perf', ['--version']).status === 0 ? false : 'perf is not installed';

/** A folder for one test, removed with `using`... or `remove` where that is not at hand. */
export class TemporaryFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'counterpoint-'));

  /** Write a file and return its path. */
  file(name: string, bytes: Uint8Array): string {
    const path = join(this.path, name);
    writeFileSync(path, bytes);
    return path;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export interface PerfOutput {
  stdout: string;
  stderr: string;
  status: number | null;
}

/** Run `perf`, without the user's settings and in one time zone. `input` goes to its stdin. */
export function perf(args: readonly string[], input?: Uint8Array): PerfOutput {
  const { stdout, stderr, status } = spawnSync('perf', args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    timeout: 60_000,
    env: {
      PATH: process.env['PATH'],
      HOME: '/nonexistent',
      PERF_CONFIG: '/dev/null',
      TZ: 'UTC',
      LC_ALL: 'C',
    },
    ...(input === undefined ? { stdio: ['ignore', 'pipe', 'pipe'] } : { input }),
  });
  return { stdout, stderr, status };
}
