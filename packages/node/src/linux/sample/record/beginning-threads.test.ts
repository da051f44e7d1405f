/** Attached to by PID while threads begin: each is watched, or it is said that some may not be. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, describe, test } from 'node:test';
import { buildBeginningProgram, startBeginning } from '../../../test/beginning-program.ts';
import { recordSamples } from '../../../test/format-recording.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { probesAreMissing } from '../../../test/probe-programs.ts';
import { openCounting } from '../../count/counting/index.ts';
import type { Note } from '../../kernel/perf-events/index.ts';
import { liveHandles } from '../../kernel/sys/index.ts';

const THREADS = 60;
const ALL = THREADS * 1000;
const RUNS = 3;

/** Nobody is watched twice, and who is missing is told. */
function checkRun(watched: number, notes: readonly Note[]): boolean {
  const isTold = notes.some(({ kind }) => kind === 'threads-missed');
  assert.ok(watched === ALL || (watched < ALL && isTold), `${watched} of ${ALL}, ${JSON.stringify(notes)}`);
  return watched === ALL;
}

describe('threads that begin while a process is attached to', { skip: probesAreMissing() }, () => {
  afterEach(() => assert.deepEqual(liveHandles(), []));

  test('are counted', async (t) => {
    const program = buildBeginningProgram(temporaryFolder(t));
    if (program === null) return t.skip('no C compiler');
    let exact = 0;
    for (let run = 0; run < RUNS; run++) {
      const child = await startBeginning(program, THREADS);
      const target = { kind: 'processes', pids: [child.pid] } as const;
      using session = openCounting({ target, events: `uprobe:${program}:hit` });
      session.start();
      child.stdin!.end();
      await once(child, 'exit');
      const counted = Number(session.read().sets[0]!.events[0]!.value);
      if (checkRun(counted, session.notes)) exact++;
    }
    assert.ok(exact > 0, 'the whole program was never watched');
  });

  test('are recorded', async (t) => {
    const program = buildBeginningProgram(temporaryFolder(t));
    if (program === null) return t.skip('no C compiler');
    let exact = 0;
    for (let run = 0; run < RUNS; run++) {
      const child = await startBeginning(program, THREADS);
      const { result, events } = await recordSamples({
        pids: [child.pid],
        events: `uprobe:${program}:hit`,
        period: 1,
        onStart: () => child.stdin!.end(),
      });
      const lost = result.loss.reduce((total, { count }) => total + Number(count), 0);
      const samples = events.reduce((total, event) => total + event.samples.length, 0);
      if (checkRun(samples + lost, result.notes)) exact++;
    }
    assert.ok(exact > 0, 'the whole program was never watched');
  });
});
