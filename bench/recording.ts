import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUSY = fileURLToPath(new URL('busy.mjs', import.meta.url));

/** The command line built in this checkout. */
export const COUNTERPOINT = fileURLToPath(new URL('../node_modules/.bin/counterpoint', import.meta.url));

/**
 * A recording of about 500,000 samples with call chains, made by perf once and kept in the temporary folder.
 */
export function benchRecording(): string {
  const dir = join(tmpdir(), 'counterpoint-bench');
  const path = join(dir, 'chains.data');
  if (existsSync(path)) return path;
  mkdirSync(dir, { recursive: true });
  console.error('making the recording (22 s)');
  const node = [process.execPath, '--perf-basic-prof', '--interpreted-frames-native-stack', BUSY, '22'];
  const result = spawnSync('perf', ['record', '-F', '25000', '-g', '-o', path, '--', ...node], {
    stdio: 'ignore',
    cwd: dir,
  });
  if (result.status !== 0) throw new Error('perf record failed');
  return path;
}
