import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { noOwnFaults as noEvents, touchPages } from '../../../test/own-faults.ts';
import { openCounting, parseSwitchRule } from './index.ts';

const self = { kind: 'self' } as const;

test('sets switch by an overflow and by time', { skip: noEvents }, async () => {
  using session = openCounting({
    target: self,
    sets: ['faults:u', 'task-clock:u'],
    switching: parseSwitchRule('overflow:faults:u:200'),
  });
  session.start();
  for (let round = 0; round < 5; round++) {
    touchPages(220);
    await sleep(5);
  }
  const { sets } = session.read();
  assert.ok(session.switching.switches >= 4, `${session.switching.switches}`);
  assert.deepEqual(
    sets.map(({ events }) => events.map(({ name }) => name)),
    [['faults:u'], ['task-clock:u']],
  );

  using timed = openCounting({
    target: self,
    sets: ['faults:u', 'minor-faults:u'],
    switching: parseSwitchRule('time:5ms'),
  });
  timed.start();
  for (let round = 0; round < 12; round++) {
    touchPages(200);
    await sleep(5);
  }
  timed.stop();
  const [first, second] = timed.read().sets;
  assert.ok(timed.switching.switches >= 5);
  for (const { events } of [first!, second!]) {
    const [event] = events;
    assert.ok(event!.value! > 200n && event!.value! < event!.scaled!, `${event!.value} ${event!.scaled}`);
    assert.ok(event!.errorBound! > 0);
  }
});

test(
  'the event that ends sets is counted in all of them: its parts are one exact sum',
  {
    skip: noEvents,
  },
  () =>
    onTime(async () => {
      using truth = openCounting({ target: self, events: 'minor-faults:u' });
      using session = openCounting({
        target: self,
        sets: ['task-clock:u', '{cs:u,faults:u}', 'faults:u,migrations:u'],
        switching: parseSwitchRule('overflow:faults:u:150'),
      });
      session.start();
      truth.start();
      for (let round = 0; round < 12; round++) {
        touchPages(40 + round * 30);
        await sleep(2);
      }
      truth.stop();
      session.stop();
      const { sets } = session.read();
      assertOnTime(session.switching.switches >= 6, `${session.switching.switches} switches`);
      assert.deepEqual(
        sets.map(({ events }) => events.map(({ name }) => name)),
        [['task-clock:u', 'faults:u'], ['cs:u'], ['migrations:u']],
      );
      const { value, scaled, enabledNs, runningNs, errorBound, places } = sets[0]!.events[1]!;
      assert.deepEqual([scaled, runningNs], [value, enabledNs]);
      // Only the switches hide something of it.
      assert.ok(errorBound! > 0);
      assertOnTime(errorBound! < 0.5 * Number(value), `${errorBound} of ${value} is hidden`);
      assert.equal(
        places.reduce((sum, place) => sum + place.value, 0n),
        value,
      );
      // Both see all that happens, but for what falls between two calls.
      const exact = Number(truth.read().sets[0]!.events[0]!.value);
      assertOnTime(Math.abs(Number(value) - exact) <= 0.01 * exact, `${value} for ${exact}`);
      assert.ok(sets[1]!.events[0]!.runningNs < enabledNs);
      session.reset(['faults:u']);
      assert.equal(session.read().sets[0]!.events[1]!.value, 0n);
    }),
);

test('event sets are made and taken away by a control update; sums follow the names of sets', {
  skip: noEvents,
}, () => {
  using session = openCounting({ target: self, sets: [{ name: 'a', events: 'faults:u' }] });
  session.start();
  touchPages(300);
  const b = { name: 'b', events: 'faults:u' };
  session.update({ sets: [b, { name: 'a', events: 'faults:u,cs:u' }, 'task-clock:u'] }, 'all');
  assert.deepEqual(session.setNames, ['b', 'a', 'task-clock:u']);
  const faults = () => session.read().sets.map(({ events }) => Number(events[0]!.value));
  touchPages(50);
  assert.ok(faults()[1]! >= 300 && faults()[0]! >= 50 && faults()[0]! < 300, `${faults()}`);
  session.next('a');
  touchPages(100);
  assert.ok(faults()[1]! >= 400, `${faults()}`);
  session.update({ sets: [b] }, 'all');
  assert.deepEqual(session.setNames, ['b']);
  assert.ok(faults()[0]! < 300, 'those of b alone');
  assert.throws(() => session.next('a'), { code: 'ERR_NO_EVENT_SET' });
});

test('a burst that is over before the loop turns ends no set, and a note says so', {
  skip: noEvents,
}, async () => {
  const open = () =>
    openCounting({
      target: self,
      sets: ['faults:u', 'task-clock:u'],
      switching: parseSwitchRule('overflow:faults:u:500'),
    });
  using session = open();
  session.start();
  touchPages(1600);
  session.stop();
  assert.equal(session.switching.switches, 0);
  assert.match(
    session.notes[0]!.text,
    /^sets were switched less often .*: [3-9] of [3-9] overflows of faults:u/,
  );
  await onTime(async () => {
    using slow = open();
    slow.start();
    for (let round = 0; round < 4; round++) {
      touchPages(520);
      await sleep(10);
    }
    slow.stop();
    assert.ok(slow.switching.switches >= 3);
    assertOnTime(slow.notes.length === 0, `${slow.notes[0]?.text}`);
  });
});

test(
  'runs and loaded time of each set are known, and with the switches they are all of the time',
  {
    skip: noEvents,
  },
  () =>
    onTime(async () => {
      using session = openCounting({ target: self, sets: ['faults:u', { name: 'second', events: 'cs:u' }] });
      session.start();
      for (let round = 0; round < 3; round++) {
        await sleep(20);
        session.next();
        await sleep(5);
        session.next('faults:u');
      }
      session.stop();
      const { sets, elapsedNs } = session.read();
      assert.deepEqual(
        sets.map(({ timesLoaded }) => timesLoaded),
        [4, 3],
      );
      const [first, second] = sets.map(({ loadedNs }) => Number(loadedNs));
      assert.ok(first! >= 58e6 && second! >= 14e6, `${first} ns, ${second} ns`);
      assertOnTime(first! > second!, `${first} ns, ${second} ns`);
      assert.equal(sets[0]!.loadedNs + sets[1]!.loadedNs, elapsedNs);
      assert.equal(session.switching.switches, 6);
      const { blindNs } = session.switching;
      assert.ok(blindNs > 0n);
      assertOnTime(blindNs < elapsedNs / 4n, `nothing was loaded for ${blindNs} of ${elapsedNs} ns`);
    }),
);

test('sets that switch by time estimate what was counted all the time', { skip: noEvents }, () =>
  onTime(async () => {
    using truth = openCounting({ target: self, events: 'faults:u' });
    using session = openCounting({
      target: self,
      sets: ['faults:u', 'minor-faults:u'],
      switching: parseSwitchRule('time:4ms'),
    });
    truth.start();
    session.start();
    for (let round = 0; round < 120; round++) {
      touchPages(200);
      await sleep(1);
    }
    session.stop();
    truth.stop();
    const exact = Number(truth.read().sets[0]!.events[0]!.value);
    assert.ok(exact >= 24_000, `${exact}`);
    assertOnTime(session.switching.switches >= 10, `${session.switching.switches} switches`);
    for (const { events } of session.read().sets) {
      const { value, scaled, errorBound } = events[0]!;
      assert.ok(value! < BigInt(exact), 'it was not there all the time');
      const error = Math.abs(Number(scaled) - exact);
      assertOnTime(error < 0.5 * exact, `${scaled} for ${exact}`);
      assertOnTime(error < 3 * errorBound! + 0.1 * exact, `${scaled} ± ${errorBound} for ${exact}`);
    }
  }),
);
