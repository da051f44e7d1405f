/**
 * Every kind of file of the recorder opens in perf, with all that is in it, and perf complains of nothing.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { convertRecording } from '../../../host/history-files/index.ts';
import { openRecording } from '../../../host/open/index.ts';
import { perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { C_LIBRARY } from '../../../test/probe-programs.ts';
import { type FlightOptions, flight } from './index.ts';

const skip = process.getuid?.() === 0 ? perfIsMissing() : 'tracepoints and probes need root';
/** Programs that come and go, each with some calls. */
const WORK = 'while :; do /bin/ls / > /dev/null; /usr/bin/sort /etc/services > /dev/null; done';

const ENOUGH_SAMPLES = 10;

const KINDS: Record<string, Partial<FlightOptions>> = {
  'samples of a clock, with chains': { events: 'cpu-clock', frequency: 2000 },
  'samples of user code, without chains': { events: 'cpu-clock:u', frequency: 2000, callGraph: false },
  'a tracepoint': { events: 'sched:sched_process_exec', period: 1 },
  'a probe, and a clock beside it': {
    events: `cpu-clock/freq=999/,uprobe:${C_LIBRARY}:opendir/period=1/`,
  },
  'two tracepoints and a clock': {
    events: 'syscalls:sys_enter_openat/period=1/,cpu-clock/freq=999/,sched:sched_switch/period=1/',
  },
  'counts by stack': { events: 'cpu-clock', frequency: 2000, formats: ['stacks,interval=50'] },
  'counts by address': { events: 'cpu-clock', frequency: 2000, formats: ['histogram,interval=50'] },
  'records of a format': { events: 'cpu-clock', frequency: 2000, formats: ['double-buffer'] },
  'a history of fixed-size records': { events: 'cpu-clock', frequency: 2000, fixedSize: true },
};

/** perf's words for records of losses, which a file may have. */
const LOST = /^Warning:\nProcessed \d+ events and lost \d+ chunks!\s+Check IO\/CPU overload!$/;

/** What perf prints; it says nothing else. */
function perfSays(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync('perf', words, { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(status, 0, `perf ${words.join(' ')}: ${stderr}`);
  assert.equal(stderr.trim().replace(LOST, ''), '');
  return stdout;
}

async function samplesIn(path: string): Promise<number> {
  await using recording = await openRecording(path);
  return (await recording.stats()).samples;
}

async function assertPerfReads(path: string): Promise<void> {
  await using recording = await openRecording(path);
  const { samples } = await recording.stats();
  assert.ok(samples > 0, 'no samples');
  const script = perfSays('script', '-i', path, '-F', 'comm,tid,time,event,ip', '-G');
  assert.equal(
    script
      .trim()
      .split('\n')
      .filter((line) => /^\S|^ +\S+ +\d/.test(line)).length,
    samples,
  );
  const report = perfSays('report', '-i', path, '--stdio', '--sort', 'comm,dso');
  assert.match(report, /\d+\.\d+% +(sh|ls|sort)/);
  // perf shows each record again, with what it means.
  assert.ok(perfSays('script', '-D', '-i', path).length > 1000);
}

for (const [kind, options] of Object.entries(KINDS))
  test(`${kind}`, { skip }, async (t) => {
    const folder = temporaryFolder(t);
    const work = spawn('sh', ['-c', WORK], { stdio: 'ignore', detached: true });
    t.after(() => process.kill(-work.pid!, 'SIGKILL'));
    const recorder = await flight({ pids: [work.pid!], directory: folder, keepMs: 5000, ...options });
    let first = await recorder.dump();
    for (let tries = 0; (await samplesIn(first.path)) < ENOUGH_SAMPLES && tries < 100; tries++) {
      await sleep(200);
      first = await recorder.dump();
    }
    await sleep(100);
    const second = await recorder.dump();
    await recorder.stop();
    for (const { path } of [first, second]) {
      if (options.fixedSize !== true) await assertPerfReads(path);
      else {
        await convertRecording(path, `${path}.data`);
        await assertPerfReads(`${path}.data`);
      }
    }
    assert.ok(readdirSync(folder).every((name) => !name.endsWith('.part')));
  });
