import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why tests against perf cannot run here, or false. */
export function perfIsMissing(): string | false {
  if (spawnSync('perf', ['--version']).status !== 0) return 'perf is not installed (Debian: linux-perf)';
  const probe = spawnSync('perf', ['record', '-e', 'cpu-clock:u', '-o', '/dev/null', '--', 'true']);
  return probe.status === 0 ? false : 'perf may not record here';
}

/** What perf prints; its warnings are left out. Throws where it fails. */
export function perf(...words: string[]): string {
  const result = spawnSync('perf', words, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (result.status !== 0) throw new Error(`perf ${words.join(' ')}: ${result.stderr}`);
  return result.stdout;
}

/** A folder that is removed when the test ends. */
export function temporaryFolder(t: { after(remove: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
