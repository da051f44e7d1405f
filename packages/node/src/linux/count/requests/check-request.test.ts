import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { type ControlRequest, openCounting, parseSwitchRule } from '../counting/index.ts';

const self = { kind: 'self' } as const;

test('a command without a process, names that are none', () => {
  const sys = new FakeSys();
  for (const pid of [0, -1])
    assert.throws(() => openCounting({ target: { kind: 'command', pid }, events: 'faults', sys }), {
      code: 'ERR_NO_PROCESS',
    });
  const session = openCounting({ target: self, events: 'faults:u', sys });
  session.start();
  session.reset();
  assert.equal(session.read().sets[0]!.timesLoaded, 1);
  for (const name of [null, {}, undefined, Symbol('faults')])
    assert.throws(() => session.reset([name as unknown as string]), { code: 'ERR_NO_EVENT' });
  session.close();
});

test('an update does not change how the target is counted', () => {
  const sys = new FakeSys();
  const session = openCounting({ target: self, events: 'faults:u', levels: 'user', sys });
  session.update({ events: 'cs:u', levels: 'user' } as ControlRequest);
  for (const changed of [{ levels: 'kernel' }, { pinned: true }, { exclusive: true }, { inherit: true }])
    assert.throws(() => session.update({ events: 'faults:u', ...changed } as ControlRequest), {
      code: 'ERR_UPDATE',
      message: new RegExp(`${Object.keys(changed)[0]} cannot change`),
    });
  session.close();
});

test('sets that nothing can end are told; a set without a turn says so', () => {
  const sys = new FakeSys();
  sys.refuseOpen = ({ attr }) => (attr.type === 0 ? 'ENOENT' : null);
  const session = openCounting({
    target: self,
    sets: ['page-faults', 'minor-faults'],
    switching: { by: 'overflow', event: 'cycles', count: 5 },
    sys,
  });
  assert.ok(session.notes.some(({ kind, text }) => kind === 'no-switch' && /cycles/.test(text)));
  const reasons = session.read().sets[1]!.events.map(({ reason }) => reason);
  assert.ok(reasons.includes('its set never had a turn'), reasons.join());
  session.close();
});

test('what cannot be asked for', () => {
  const sys = new FakeSys();
  const open = (event: string, period: number) => () =>
    openCounting({ target: self, events: 'faults:u', sys, overflows: [{ event, period }] });
  assert.throws(open('fault:u', 5), { code: 'ERR_NO_OVERFLOW_EVENT' });
  assert.throws(open('faults:u', 0), { code: 'ERR_PERIOD' });
  for (const period of [1.5, 2n ** 63n, Number.NaN])
    assert.throws(open('faults:u', period as number), { code: 'ERR_PERIOD' });
  const odd = (overflow: object) => () =>
    openCounting({
      target: self,
      events: 'faults:u,duration_time',
      sys,
      overflows: [{ event: 'faults:u', period: 5, ...overflow }],
    });
  for (const overflow of [
    { action: 'explode' },
    { signal: { number: 0, tid: 1 } },
    { signal: { number: 10 } },
    { signal: 10 },
    { event: 'duration_time' },
    { randomMask: 7 },
    { randomMask: -1, action: 'suspend' },
  ])
    assert.throws(odd(overflow), { code: 'ERR_OVERFLOW' });
  const twice = [3, 1000].map((period) => ({ event: 'faults:u', period }));
  assert.throws(() => openCounting({ target: self, events: 'faults:u', sys, overflows: twice }), {
    code: 'ERR_OVERFLOW',
    message: /faults:u is requested twice/,
  });
  const endsSets = { by: 'overflow', event: 'faults:u', count: 5 } as const;
  assert.throws(
    () =>
      openCounting({
        target: self,
        sets: ['faults:u', 'cs'],
        sys,
        switching: endsSets,
        overflows: [twice[0]!],
      }),
    { code: 'ERR_OVERFLOW' },
  );
  for (const switching of [
    { by: 'time', sliceMs: 0 },
    { by: 'time', sliceMs: 3e9 },
    { by: 'time' },
    { by: 'whim' },
  ])
    assert.throws(
      () => openCounting({ target: self, sets: ['cs', 'faults'], sys, switching: switching as never }),
      {
        code: 'ERR_SWITCH_RULE',
      },
    );
  assert.throws(() => openCounting({ target: self, events: [], sys }), { code: 'ERR_NO_EVENTS' });
  assert.throws(() => openCounting({ target: { kind: 'threads', tids: [] }, events: 'cs', sys }), {
    code: 'ERR_NO_PROCESS',
  });
  for (const rule of ['time', 'time:0', 'time:-5ms', 'overflow:cs', 'overflow:cs:0', 'often', ''])
    assert.throws(() => parseSwitchRule(rule), { code: 'ERR_SWITCH_RULE' }, rule);
  assert.deepEqual(parseSwitchRule('overflow:sched:sched_switch:7'), {
    by: 'overflow',
    event: 'sched:sched_switch',
    count: 7n,
  });
  assert.deepEqual(parseSwitchRule('time:2s'), { by: 'time', sliceMs: 2000 });
});

test('programs without types are told what is wrong, by its place', () => {
  const sys = new FakeSys();
  const cases: [Record<string, unknown>, string, RegExp][] = [
    [{ target: undefined }, 'ERR_TARGET', /the target should be an object .* is undefined/],
    [{ target: { kind: 'frob' } }, 'ERR_TARGET', /kind of the target should be one of self, .* is 'frob'/],
    [{ target: { kind: 'processes' } }, 'ERR_TARGET', /processes: pids should be/],
    [{ target: { kind: 'threads', tids: ['5'] } }, 'ERR_TARGET', /threads: tids should be/],
    [{ target: { kind: 'cgroup' } }, 'ERR_TARGET', /cgroup: path should be/],
    [{ events: [5] }, 'ERR_EVENTS', /events\[0\] should be .* is 5/],
    [{ sets: ['cs', { name: 'x' }] }, 'ERR_EVENTS', /sets\[1\]\.events should be/],
    [{ target: { kind: 'cgroup', path: '/', cpu: [0] } }, 'ERR_TARGET', /no option cpu; did you mean cpus/],
    [
      { target: { kind: 'cpus', cpus: ['0'] } },
      'ERR_TARGET',
      /cpus should be a list of CPU numbers.*\['0'\]/,
    ],
    [{ sets: [{ name: 5, events: 'cs' }] }, 'ERR_EVENTS', /sets\[0\]\.name should be text, but is 5/],
    [{ sets: [{ event: 'cs' }] }, 'ERR_EVENTS', /no option sets\[0\]\.event; did you mean events/],
    [{ event: 'cs' }, 'ERR_OPTION', /there is no option event; did you mean events/],
    [{ paranoid: '2' }, 'ERR_OPTION', /paranoid should be .* but is '2'/],
    [
      { overflows: [{ event: 'cs', perod: 5 }] },
      'ERR_OVERFLOW',
      /no option overflows\[0\]\.perod; did you mean period/,
    ],
    [
      { switching: { by: 'time', sliceMs: '5' } },
      'ERR_SWITCH_RULE',
      /sliceMs should be a number .* but is '5'/,
    ],
    [
      { switching: { by: 'time', sliceMs: 5, slice: 1 } },
      'ERR_SWITCH_RULE',
      /no option slice; did you mean sliceMs/,
    ],
    [{ levels: 'foo' }, 'ERR_OPTION', /levels should be one of all, user, kernel, but is 'foo'/],
    [{ exclusive: 'foo' }, 'ERR_OPTION', /exclusive should be/],
    [{ inherit: 'no' }, 'ERR_OPTION', /inherit should be/],
    [{ overflows: [null] }, 'ERR_OVERFLOW', /overflows\[0\] should be/],
    [{ switching: null }, 'ERR_SWITCH_RULE', /by null/],
    [
      { switching: { by: 'overflow' } },
      'ERR_SWITCH_RULE',
      /event should be the name of an event, but is undefined/,
    ],
    [
      { switching: { by: 'overflow', event: 'cs' } },
      'ERR_SWITCH_RULE',
      /count should be a number of overflows, but is undefined/,
    ],
  ];
  for (const [part, code, message] of cases)
    assert.throws(() => openCounting({ target: self, events: 'cs', sys, ...part } as never), {
      name: 'CounterpointError',
      code,
      message,
    });
  assert.deepEqual(liveHandles(), []);
  using session = openCounting({ target: self, events: 'cs', sys });
  assert.throws(() => session.reset(['typo']), { code: 'ERR_NO_EVENT' });
  assert.throws(() => session.update({ events: 'faults' }, ['typo']), { code: 'ERR_NO_EVENT' });
  assert.deepEqual(session.eventNames, ['cs']);
  session.update({ events: 'faults' }, ['cs']);
});

test('a signal is for a thread that is there, and that the user may signal', (t) => {
  const sys = new FakeSys();
  const open = (tid: number) => () =>
    openCounting({
      target: self,
      events: 'cs',
      sys,
      overflows: [{ event: 'cs', period: 5, signal: { number: 10, tid } }],
    });
  assert.throws(open(999_999_999), { code: 'ERR_NO_PROCESS', message: /no thread 999999999/ });
  open(process.pid)().close();
  // As an ordinary user finds it.
  t.mock.method(process as { geteuid: () => number }, 'geteuid', () => 65534);
  t.mock.method(process, 'kill', () => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  });
  assert.throws(open(1), { code: 'ERR_SIGNAL', message: /thread 1: process 1 belongs to another user/ });
});

test("'all' names are what no names are", () => {
  const sys = new FakeSys();
  const session = openCounting({ target: self, events: 'faults:u', sys });
  session.reset('all');
  // Nobody inherits from this thread, so that is no change; that children are counted would be one.
  session.update({ events: 'faults:u', inherit: false } as ControlRequest);
  session.close();
});
