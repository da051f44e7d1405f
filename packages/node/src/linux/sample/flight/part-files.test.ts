/** Unfinished files of recorders that were killed go at the next start; those of others stay. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { FlightProcess } from '../../../test/flight-process.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { flight } from './index.ts';

const options = { pids: [process.pid], events: 'cpu-clock:u', buildIds: false };
const isPart = (name: string) => name.endsWith('.part');

for (const fixedSize of [false, true])
  test(`of a recorder that is killed while it writes${fixedSize ? ' a history' : ''}`, async (t) => {
    const directory = temporaryFolder(t);
    const target = spawn('sha1sum', ['/dev/zero'], { stdio: 'ignore' });
    t.after(() => target.kill('SIGKILL'));
    const parts = () => readdirSync(directory).filter(isPart);
    {
      using recorder = await FlightProcess.start({
        pids: [target.pid!],
        frequency: 10_000,
        directory,
        fixedSize,
      });
      await sleep(100);
      for (let tries = 0; parts().length === 0; tries++) {
        assert.ok(tries < 20, 'it was never seen while it wrote');
        const written = recorder.dump().then(() => true);
        // The file is there for some milliseconds.
        while (parts().length === 0 && (await Promise.race([written, setImmediate(false)])) === false);
        // It may have its name by now.
        recorder.child.kill('SIGSTOP');
        if (parts().length > 0) break;
        recorder.child.kill('SIGCONT');
        await written;
      }
      recorder.child.kill('SIGKILL');
      await once(recorder.child, 'exit');
    }
    const left = parts();
    const next = await flight({ ...options, directory, fixedSize });
    t.after(() => next.stop());
    assert.deepEqual(parts(), []);
    const said = next.notes.filter(({ kind }) => kind === 'left-over').map(({ text }) => text);
    assert.equal(said.length, 1, said.join('\n'));
    assert.match(said[0]!, /^removed (an|\d+) unfinished files? of a recorder that was killed: /);
    assert.ok(said[0]!.includes(left[0]!));
  });

test('of a recorder that runs, and of other outputs, stay', async (t) => {
  const directory = temporaryFolder(t);
  const startTicks = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]!.split(' ')[19];
  const owner = (pid: number) =>
    `counterpoint_${pid}_${startTicks}_${/\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0]}`;
  const stamp = '20261123-180259.417-3.data';
  // Its number is that of another process by now; of one that may not be looked at that is not known.
  const ended = owner(process.ppid);
  const kept = [
    `flight-${stamp}.${owner(process.pid)}.part`,
    `flight-b-${stamp}.${ended}.part`,
    `flight-${stamp}.part`,
    'flight-notes.part',
    'flight.part',
  ];
  for (const name of [...kept, `flight-${stamp}.${ended}.part`]) writeFileSync(join(directory, name), 'x');
  await (await flight({ ...options, directory })).stop();
  assert.deepEqual(readdirSync(directory).sort(), kept.sort());
});
