import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareRegisters } from '../../../test/context-registers.ts';

test('on arm64 too a program sees every register as perf samples it', () => {
  assert.equal(process.arch, 'arm64');
  const samples = compareRegisters();
  assert.ok(samples > 20, `${samples} samples`);
});
