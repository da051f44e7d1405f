import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatSummary } from './format-summary.ts';

const FORMAT = {
  name: 'on-miss',
  hasHandler: true,
  overflows: 0n,
  runs: 7n,
  costNs: 819,
  bytesRead: 0,
  suspended: null,
  samples: 0,
  lines: [],
};

test('what an overflow costs is told where there was one', () => {
  assert.equal(
    formatSummary({ ...FORMAT, overflows: 7n }),
    'on-miss: 7 overflows, 117 ns each in the kernel',
  );
  assert.equal(
    formatSummary({ ...FORMAT, hasHandler: false }),
    'on-miss: 7 program runs, 117 ns each in the kernel',
  );
  // Those that ran keep the target right.
  assert.equal(formatSummary(FORMAT), 'on-miss: 0 overflows');
});
