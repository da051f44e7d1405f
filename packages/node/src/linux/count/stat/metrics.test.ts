import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE } from '@counterpoint/core/abi';
import { makeAttr } from '@counterpoint/core/records';
import { assertQuick } from '../../../../../core/src/test/assert-quick.ts';
import { deriveMetrics, type MetricInput, metricPeers } from './metrics.ts';

const input = (type: number, config: bigint, count: number, excludeKernel = 0): MetricInput => ({
  attr: makeAttr({ type, config, flags: { excludeKernel } }),
  count,
  isCounted: true,
});

test('the first event of the same part is the one that others are set in relation to', () => {
  const cycles = [0, 1].map((excluded) => input(PERF_TYPE_HARDWARE, 0n, 100 * (1 + excluded), excluded));
  const instructions = input(PERF_TYPE_HARDWARE, 1n, 400, 1);
  const inputs = [...cycles, input(PERF_TYPE_HARDWARE, 0n, 1, 1), instructions];
  const derived = deriveMetrics(instructions, metricPeers(inputs), 1);
  assert.deepEqual([derived[0]!.value, derived[0]!.unit], [2, 'insn per cycle']);
  assert.deepEqual(deriveMetrics({ ...instructions, isCounted: false }, metricPeers(inputs), 1), []);
  const uncounted = metricPeers(inputs.map((one) => ({ ...one, isCounted: false })));
  assert.deepEqual(deriveMetrics(instructions, uncounted, 1), []);
});

test('thousands of events are not each looked for among all', async () => {
  const inputs = Array.from({ length: 30_000 }, () => input(PERF_TYPE_SOFTWARE, 2n, 1));
  // Looking through all of them took minutes.
  await assertQuick(5000, () => {
    const peers = metricPeers(inputs);
    for (const one of inputs) deriveMetrics(one, peers, 1);
  });
});
