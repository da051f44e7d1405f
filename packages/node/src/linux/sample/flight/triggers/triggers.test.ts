import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TriggerGate } from '../trigger-gate.ts';
import { parseTrigger, TRIGGER_KINDS } from './index.ts';

const isRoot = process.getuid?.() === 0;

test('every kind takes its own example, and says what it needs', async () => {
  for (const { example, name, form } of TRIGGER_KINDS) {
    assert.ok(form.startsWith(name));
    // Tracepoints have to be there to be looked up.
    if (!isRoot && /^(event|field):/.test(example)) continue;
    const trigger = await parseTrigger(example);
    assert.equal(trigger.text, example);
  }
});

test('what is no trigger is refused, and says what to give', async () => {
  const refused: [text: string, says: RegExp][] = [
    ['signl:USR2', /Did you mean signal/],
    ['signal:TERM', /SIGTERM cannot be a trigger/],
    ['signal:NOTHING', /SIGNOTHING/],
    ['every', /every:60s/],
    ['every:0s', /from 100ms/],
    ['every:1ms', /no file is written every 1ms: .*from 100ms/],
    ['every:99ms', /every 99ms/],
    ['every:99999d', /24 days/],
    ['psi:cpu', /resource and a share/],
    ['psi:cpu:120%', /share/],
    ['psi:cpu:0%', /above 0 %/],
    ['psi:disk:5%', /cpu, memory, io/],
    ['psi:cpu:5%:1ms', /100ms to 60s/],
    ['exit:now', /no argument/],
    ['crash:SEGV', /no argument/],
    ['event', /needs an event/],
    ['event:page-faults:0', /from 1/],
    ['event:page-faults,cs', /several events/],
    ['field:sched:sched_switch', /filter/],
  ];
  for (const [text, says] of refused)
    await assert.rejects(parseTrigger(text), (error: { code?: string; message: string; remedy?: string }) => {
      assert.equal(error.code, 'ERR_TRIGGER');
      assert.match(`${error.message} ${error.remedy}`, says);
      return true;
    });
  await assert.rejects(parseTrigger('event:no-such-event'), { code: 'ERR_EVENT_SYNTAX' });
});

test('a clock goes as fast as files are written', async () => {
  assert.equal((await parseTrigger('every:100ms')).text, 'every:100ms');
});

test('of a storm one in so much time is let through, and the rest is counted; a person is always', () => {
  const gate = new TriggerGate(1000);
  const let_ = Array.from({ length: 50 }, (_, at) => gate.lets('event', at * 100));
  assert.equal(let_.filter((one) => one).length, 5);
  assert.equal(gate.suppressed, 45);
  assert.equal(gate.takeSuppressed(), 45);
  assert.equal(gate.takeSuppressed(), 0);
  assert.equal(gate.lets('person', 4901), true);
  assert.equal(gate.lets('event', 5500), false);
  assert.equal(gate.lets('event', 5901), true);
});

test('a clock is not held back by other files, and holds back none, as long as files can be written', () => {
  const gate = new TriggerGate(1000);
  assert.deepEqual(
    [0, 1, 2].map((at) => gate.lets('clock', at)),
    [true, true, true],
  );
  assert.equal(gate.closedMs(3), 0);
  assert.equal(gate.lets('event', 3), true);
  assert.equal(gate.lets('clock', 4), true);
  gate.unwritten = 2;
  assert.equal(gate.lets('clock', 5), false);
  assert.equal(gate.takeSuppressed(), 1);
});
