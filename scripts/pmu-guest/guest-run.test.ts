import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guestRun } from './guest-run.ts';

const counts = (pass: number, fail: number) =>
  `ℹ tests ${pass + fail}\nℹ suites 1\nℹ pass ${pass}\nℹ fail ${fail}\nℹ cancelled 0\nℹ skipped 2\nℹ todo 0\nℹ duration_ms 1.5\n`;
const FAILED = `✔ a (1ms)
▶ suite
  ✖ b, (c) (4527.3ms)
    AssertionError [ERR_ASSERTION]: 3 and 2 cycles
✖ suite (9ms)
${counts(4, 2)}
✖ failing tests:

test at formats.pmu.mjs:108:63283
✖ b, (c) (4527.3ms)
  AssertionError [ERR_ASSERTION]: 3 and 2 cycles
      at TestContext.<anonymous> (file:///host/formats.pmu.mjs:108:63712) {
    actual: false
  }

test at formats.pmu.mjs:109:1
✖ d (1ms)
  Error: late
`;
const result = (status: number, text: string) => ({ status, text, seconds: 2 });

test('what a file printed in the guest is counted, and each failure has its name and message', () => {
  const run = guestRun('a.pmu.ts', result(1, FAILED));
  assert.equal(run.end, 'ended');
  assert.equal(run.passed, 4);
  assert.equal(run.skipped.length, 2);
  assert.deepEqual(
    run.failures.map(({ name, message }) => [name, message.split('\n')[0]]),
    [
      ['b, (c)', 'AssertionError [ERR_ASSERTION]: 3 and 2 cycles'],
      ['d', 'Error: late'],
    ],
  );
  const green = guestRun('a.pmu.ts', result(0, counts(5, 0)));
  assert.deepEqual([green.end, green.passed, green.failures], ['ended', 5, []]);
});

test('a file without results, or whose status says otherwise, has crashed: it is not tried again', () => {
  for (const [status, text] of [
    [1, ''],
    [1, 'Segmentation fault\n'],
    [0, FAILED],
    [1, counts(5, 0)],
  ] as const) {
    const run = guestRun('a.pmu.ts', result(status, text));
    assert.equal(run.end, 'crashed', text);
    assert.equal(run.failures.length, 1);
  }
  // Its failures are not told of, but it says how many there are.
  assert.equal(guestRun('a.pmu.ts', result(1, counts(3, 2))).failures[0]!.message, '2 failed');
});
