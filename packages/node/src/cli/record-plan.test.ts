import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { examineMachine } from '../probe/index.ts';
import { realSys } from '../sys/index.ts';
import { counterpoint } from '../test/command-line.ts';
import { temporaryFolder } from '../test/perf.ts';
import { asTraced, type PlannedOpen, straceIsMissing, traceCommandLines } from '../test/traced-opens.ts';

const LINES = [
  ['-e', 'cpu-clock,faults', '-g', 'true'],
  ['-e', '{cpu-clock,faults}', '-c', '1000', 'true'],
  ['-e', 'task-clock:u', '-F', '999', '-D', '5', 'sleep', '0.01'],
  ['-a', '-e', 'cpu-clock', 'true'],
];

const canRecord = examineMachine(realSys, 1).canRecord;
const skip = canRecord ? straceIsMissing() : 'no recording here';

test('record --plan says what record then opens', { skip }, async (t) => {
  const folder = temporaryFolder(t);
  const words = LINES.map((line) => ['record', '-o', join(folder, 'perf.data'), '-q', ...line]);
  const traced = traceCommandLines(words, folder);
  for (const [at, line] of LINES.entries()) {
    const { out } = await counterpoint('record', '--plan', '--json', ...line);
    const { opens, verb } = JSON.parse(out) as { opens: PlannedOpen[]; verb: string };
    assert.equal(verb, 'record');
    assert.deepEqual(opens.map(asTraced), traced[at], line.join(' '));
    assert.ok(opens.length > 1);
  }
});

test('record --json without --plan: 129, in words', async () => {
  const { status, err } = await counterpoint('record', '--json', 'true');
  assert.equal(status, 129);
  assert.match(err, /--json is for --plan/);
});
