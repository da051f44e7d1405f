/**
 * Records of processes and maps that come in masses: their memory is bounded, and no name is wrong for it.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { PERF_RECORD_COMM } from '@counterpoint/core/abi';
import { openRecording } from '../../../host/open/index.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { samplesOf, timeOf } from '../../../test/recorded-samples.ts';
import { flight } from './index.ts';

const skip = process.getuid?.() === 0 ? false : 'processes of others need root';
/** Another name for each turn, for some milliseconds each, and some that change nothing in between. */
const RENAMER = `
import sys, time
print('up', flush=True)
sys.stdin.readline()
for turn in range(30):
    with open('/proc/self/comm', 'w', buffering=1) as name:
        for again in range(600):
            name.write('turn%d\\n' % turn)
    end = time.process_time() + 0.03
    while time.process_time() < end: pass
print('done', flush=True)
sys.stdin.readline()
`;

test('who changes names all the time takes bounded memory: the history begins where names are known', {
  skip,
}, async (t) => {
  const target = spawn('python3', ['-c', RENAMER], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => target.kill('SIGKILL'));
  await once(target.stdout, 'data');
  const memoryBytes = 2 << 20;
  await using recorder = await flight({
    pids: [target.pid!],
    events: 'cpu-clock:u',
    frequency: 2000,
    callGraph: false,
    memoryBytes,
    directory: temporaryFolder(t),
  });
  target.stdin.write('go\n');
  await once(target.stdout, 'data');
  const { heldMs } = recorder.status();
  const dump = await recorder.dump();
  const lost = dump.loss.filter(({ kind }) => kind === 'history-overwritten');
  assert.equal(lost.length, 1, JSON.stringify(dump.loss));
  const droppedToNs = BigInt(lost[0]!.toNs!);
  // 18,000 records of some 400 bytes came; a third of them or less is there.
  assert.ok(heldMs > 20 && heldMs < dump.spanMs + 1000, `${heldMs}`);
  const samples = await samplesOf(dump.path);
  assert.ok(samples.length > 50 && samples.every((one) => timeOf(one) >= droppedToNs), `${samples.length}`);
  await using recording = await openRecording(dump.path);
  let names = 0;
  for await (const { record } of recording.records()) if (record.type === PERF_RECORD_COMM) names++;
  assert.ok(names > 1000 && names < memoryBytes / 300, `${names} names`);
  if (perfIsMissing() !== false) return;
  // Each sample has the name of its turn: they never go back.
  const turns = perf('script', '-i', dump.path, '-F', 'comm')
    .match(/turn\d+/g)!
    .map((name) => Number(name.slice(4)));
  assert.equal(turns.length, samples.length);
  assert.deepEqual(
    turns,
    turns.toSorted((one, other) => one - other),
  );
  assert.ok(new Set(turns).size > 2);
});
