import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { cannotLoad } from '../../../test/bpf-programs.ts';
import { compareRegisters } from '../../../test/context-registers.ts';
import { liveHandles } from '../sys/index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const skip =
  cannotLoad() || (process.arch === 'x64' || process.arch === 'arm64' ? false : 'another architecture');

test('a program sees every register, the address and the period as perf samples them', { skip }, () => {
  const samples = compareRegisters();
  assert.ok(samples > 20, `${samples} samples`);
});
