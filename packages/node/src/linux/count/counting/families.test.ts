import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { noOwnFaults as noEvents } from '../../../test/own-faults.ts';
import { type CountingSession, openCounting } from './index.ts';

const CYCLES = 300;
/** Three children of the shell, by what each of them faults. */
const SOME_FAULTS = 150;
const MOST_LOOKS = 2000;
/** The last call again comes after that; a family that missed it is no longer that of the fork. */
const SETTLED_AFTER_MS = 126;

function faults(session: CountingSession): number {
  return Number(session.read().sets[0]!.events[0]!.value);
}

/**
 * Wait until the target has gone on, whatever else the machine does, and say by how much each has counted on.
 */
async function whileItRuns(truth: CountingSession, session: CountingSession) {
  const [all, own] = [faults(truth), faults(session)];
  for (let look = 0; look < MOST_LOOKS && faults(truth) - all < SOME_FAULTS; look++) await sleep(1);
  return { all: faults(truth) - all, own: faults(session) - own };
}

test('children that are forked just then are started and stopped with their family', {
  skip: noEvents,
}, async () => {
  const shell = spawn('/bin/sh', ['-c', 'while :; do /bin/true; done'], { stdio: 'ignore' });
  try {
    const target = { kind: 'processes', pids: [shell.pid!] } as const;
    using truth = openCounting({ target, events: 'faults:u' });
    using session = openCounting({ target, events: 'faults:u' });
    truth.start();
    const wrong: string[] = [];
    const check = async (cycle: number, change: string, isWrong: (own: number, all: number) => boolean) => {
      let seen = await whileItRuns(truth, session);
      // We may have stopped that very fork to run ourselves: then a later call mends it.
      if (isWrong(seen.own, seen.all)) {
        await sleep(SETTLED_AFTER_MS);
        seen = await whileItRuns(truth, session);
      }
      if (isWrong(seen.own, seen.all))
        wrong.push(`cycle ${cycle}: ${seen.own} of ${seen.all} after ${change}`);
    };
    for (let cycle = 0; cycle < CYCLES; cycle++) {
      session.start();
      await check(cycle, 'start()', (own, all) => own < all / 2);
      session.stop();
      await check(cycle, 'stop()', (own, all) => own > all / 4);
    }
    assert.deepEqual(wrong, []);
  } finally {
    shell.kill();
  }
});
