import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { SoftResult } from '../linux/stepping/softpmu/index.ts';
import { temporaryFolder } from './perf.ts';
import { sourceProgram } from './sources.ts';

export interface FixedRun extends Pick<SoftResult, 'counts' | 'stepped' | 'exit'> {
  output: string;
}

/**
 * Counts a command whose memory, environment and arguments are the same each time: otherwise its loader's
 * work differs from run to run, by hash chains, alignments and the length of names.
 */
export function countInFixedLayout(t: TestContext, way: 'step' | 'fast', command: string[]): FixedRun {
  const file = join(temporaryFolder(t), 'counts.json');
  const node = [process.execPath, ...sourceProgram('test/count-soft-once.ts')];
  const { status, stdout, stderr } = spawnSync('setarch', ['-R', ...node, way, file, ...command], {
    env: { PATH: '/usr/bin:/bin' },
    maxBuffer: 1 << 28,
  });
  assert.equal(status, 0, String(stderr));
  return { ...JSON.parse(readFileSync(file, 'utf8')), output: stdout.toString('latin1') };
}

export const noFixedLayout: string | false =
  spawnSync('setarch', ['-R', 'true']).status === 0 ? false : 'no setarch, or it may not fix addresses';
