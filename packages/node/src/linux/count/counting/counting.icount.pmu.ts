import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { countCommand, hardwareEvent } from '../../../test/raw-count.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { launchHeld } from '../../kernel/target/index.ts';
import { type Counts, type EventList, openCounting, parseSwitchRule } from './index.ts';

// Instructions are exact here: the same program gives the same number each time.

afterEach(() => assert.deepEqual(liveHandles(), []));

const COMMAND = ['/bin/busybox', 'sh', '-c', 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); done'];

async function count(events: EventList, command: readonly string[] = COMMAND): Promise<Counts> {
  using held = launchHeld(command, { stdio: ['ignore', 'ignore', 'inherit'] });
  using session = openCounting({ target: { kind: 'command', pid: held.pid }, events });
  session.start();
  held.release();
  await held.exited;
  session.stop();
  return session.read();
}

const valuesOf = (counts: Counts) => counts.sets.flatMap(({ events }) => events.map(({ value }) => value));

test('a program is counted to the instruction, like by the plain system call', async () => {
  const raw = await countCommand(hardwareEvent('instructions', { excludeKernel: 1 }), COMMAND);
  assert.ok(raw > 10_000n);
  const [alone] = valuesOf(await count('instructions:u'));
  const [inGroup, cycles] = valuesOf(await count('{instructions:u,cycles:u}'));
  assert.deepEqual([alone, inGroup], [raw, raw]);
  assert.ok(cycles! > 0n);
});

test('children are in the sum to the instruction', async () => {
  const child = ['/bin/busybox', 'true'];
  const one = ['/bin/busybox', 'sh', '-c', '/bin/busybox true; :'];
  const three = ['/bin/busybox', 'sh', '-c', '/bin/busybox true; /bin/busybox true; /bin/busybox true; :'];
  const [alone] = valuesOf(await count('instructions:u', child));
  const [once] = valuesOf(await count('instructions:u', one));
  const [thrice] = valuesOf(await count('instructions:u', three));
  // Two more of the same, and the shell's own work for them.
  const perChild = Number(thrice! - once!) / 2;
  assert.ok(
    perChild > Number(alone) && perChild < Number(alone) * 3,
    `${perChild} per child, ${alone} alone`,
  );
  assert.deepEqual(valuesOf(await count('instructions:u', three)), [thrice]);
});

function spin(): number {
  let sum = 0;
  for (let i = 0; i < 20_000_000; i++) sum += i & 3;
  return sum;
}

test('a hardware event suspends at its overflow, with its group, until resumed', async () => {
  spin();
  const free = openCounting({ target: { kind: 'self' }, events: 'instructions:u' });
  free.start();
  spin();
  const whole = Number(valuesOf(free.read())[0]);
  free.close();

  using session = openCounting({
    target: { kind: 'self' },
    events: '{instructions:u,cycles:u}',
    overflows: [{ event: 'instructions:u', initialPeriod: 200_000, period: 500_000, action: 'suspend' }],
  });
  const overflows = session.overflows()[Symbol.asyncIterator]();
  const values = () => valuesOf(session.read()).map(Number);
  session.start();
  spin();
  const [first = 0, firstCycles = 0] = values();
  // This emulated core raises its interrupt late, by millions of instructions now
  // and then: well before the end.
  assert.ok(first >= 200_000 && first < whole / 2, `${first} of ${whole}`);
  assert.ok(firstCycles > 0);
  const told = (await overflows.next()).value!;
  assert.ok(told.count! >= 200_000n && told.count! <= BigInt(first));
  spin();
  assert.deepEqual(values(), [first, firstCycles]);
  session.resume();
  spin();
  const [second = 0] = values();
  assert.ok(second - first >= 500_000 && second - first < whole / 2, `${second - first} of ${whole}`);
  await overflows.next();
  assert.equal(session.isSuspended, true);
});

test('sets that take turns estimate what is known', async () => {
  const command = ['/bin/busybox', 'sh', '-c', 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done'];
  const [truth] = valuesOf(await count('instructions:u', command));
  using held = launchHeld(command, { stdio: ['ignore', 'ignore', 'inherit'] });
  using session = openCounting({
    target: { kind: 'command', pid: held.pid },
    sets: ['instructions:u', 'cycles:u'],
    switching: parseSwitchRule('time:10ms'),
  });
  session.start();
  held.release();
  await held.exited;
  session.stop();
  const { sets } = session.read();
  const [event] = sets[0]!.events;
  assert.ok(session.switching.switches > 4, `${session.switching.switches} switches`);
  assert.ok(event!.value! < truth!, 'it was not there all the time');
  const error = Math.abs(Number(event!.scaled! - truth!));
  assert.ok(error < 0.25 * Number(truth), `${event!.scaled} for ${truth}`);
  assert.ok(event!.errorBound !== null && event!.errorBound > 0);
});
