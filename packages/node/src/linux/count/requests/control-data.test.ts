import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import fc from 'fast-check';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import {
  type ControlRequest,
  controlData,
  controlRequest,
  openCounting,
  parseControlData,
  parseSwitchRule,
  planCounting,
} from '../counting/index.ts';

const REQUEST: ControlRequest & { inherit: boolean } = {
  sets: ['task-clock,{cs,faults}:u', { name: 'memory', events: 'minor-faults' }],
  overflows: [
    { event: 'minor-faults', period: 1000n, initialPeriod: 10n, randomMask: 0xff, action: 'suspend' },
  ],
  switching: parseSwitchRule('overflow:cs:18446744073709551'),
  inherit: false,
};

test('control data comes back as it was saved', () => {
  const text = JSON.stringify(controlData(REQUEST));
  const data = parseControlData(text);
  assert.equal(JSON.stringify(data), text);
  const request = controlRequest(data);
  assert.deepEqual(controlData(request), data);
  assert.deepEqual(request.switching, REQUEST.switching);
  const plan = (one: ControlRequest) =>
    planCounting({ target: { kind: 'self' }, ...one, switching: { by: 'manual' } });
  assert.deepEqual(plan(request), plan(REQUEST));
});

test('fields of a newer version survive a reading and a writing here', () => {
  const newer = {
    type: 'control-data',
    version: 7,
    needs: 1,
    sets: [
      { name: 'a', events: 'cs', colour: 'red' },
      { name: 'b', events: 'faults', nested: { deep: ['1'] } },
    ],
    overflows: [{ event: 'cs', period: '5', mood: 3 }],
    switch: { by: 'time', sliceMs: 50, jitter: 2 },
    governor: { hint: 'performance' },
  };
  const data = parseControlData(JSON.stringify(newer));
  const again = controlData({ ...controlRequest(data), switching: { by: 'time', sliceMs: 80 } }, data);
  assert.deepEqual(again, { ...newer, switch: { ...newer.switch, sliceMs: 80 } });
  // A set that went takes its fields along; one that came has none.
  const changed = controlData({ sets: [{ name: 'b', events: 'faults,cs' }, 'migrations'] }, data);
  assert.deepEqual(changed.sets, [
    { name: 'b', events: 'faults,cs', nested: { deep: ['1'] } },
    { name: 'migrations', events: 'migrations' },
  ]);
});

test('what is known and was dropped does not come back; what is not known comes through a request', () => {
  const newer = {
    type: 'control-data',
    version: 5,
    needs: 1,
    sets: [{ name: 'a', events: 'cs,faults', colour: 'red' }],
    switch: { by: 'time', sliceMs: 50, jitter: 2 },
    overflows: [{ event: 'cs', period: '5', initialPeriod: '9', action: 'suspend', mood: 3 }],
    levels: 'user',
    governor: 'fast',
  };
  const data = parseControlData(JSON.stringify(newer));
  const sets = [{ name: 'a', events: 'cs' }];
  assert.deepEqual(controlData({ sets }, data), {
    type: 'control-data',
    version: 5,
    needs: 1,
    sets: [{ name: 'a', events: 'cs', colour: 'red' }],
    governor: 'fast',
  });
  assert.deepEqual(controlData({ sets, overflows: [{ event: 'cs', period: 7 }] }, data).overflows, [
    { event: 'cs', period: '7', mood: 3 },
  ]);
  const byOverflow = { by: 'overflow', event: 'cs', count: 4 } as const;
  assert.deepEqual(controlData({ sets, switching: byOverflow }, data).switch, {
    by: 'overflow',
    event: 'cs',
    count: '4',
    jitter: 2,
  });
  assert.deepEqual(controlData(controlRequest(data)), newer);

  const sys = new FakeSys();
  const { overflows: _, levels: __, ...plain } = newer;
  const request = controlRequest(parseControlData(JSON.stringify(plain)));
  using session = openCounting({ ...request, target: { kind: 'self' }, sys });
  assert.deepEqual(session.control(), plain);
  session.update({ events: 'faults' });
  assert.deepEqual(Object.keys(session.control()), ['type', 'version', 'needs', 'sets']);
  session.update(request);
  assert.deepEqual(session.control(), plain);
});

test('data of version 1 without what came later is read with the defaults', () => {
  const data = parseControlData('{"type":"control-data","version":1,"sets":[{"name":"x","events":"cs"}]}');
  assert.deepEqual(controlRequest(data), { sets: [{ name: 'x', events: 'cs' }] });
  assert.equal(data.needs, 1);
});

test('what is wrong is named by its place', () => {
  const base = { type: 'control-data', version: 1, sets: [{ name: 'x', events: 'cs' }] };
  const table: [unknown, RegExp][] = [
    ['', /not JSON: it ends where a value should be in line 1, column 1/],
    [
      {
        ...base,
        sets: [
          { name: 'x', events: 'cs' },
          { name: 'x', events: 'faults' },
        ],
      },
      /sets\[1\]\.name is x, which is the name of sets\[0\]/,
    ],
    [[], /the file should be an object/],
    [{ ...base, type: 'counts' }, /type should be 'control-data'/],
    [{ ...base, version: 0 }, /version should be/],
    [{ ...base, needs: 2 }, /needs a program that knows version 2/],
    [{ ...base, sets: {} }, /sets should be a list/],
    [{ ...base, sets: [] }, /sets is empty/],
    [{ ...base, sets: [null] }, /sets\[0\] should be an object/],
    [{ ...base, sets: [{ name: 'x' }] }, /sets\[0\]\.events should be/],
    [{ ...base, switch: { by: 'constructor' } }, /switch\.by should be/],
    [{ ...base, switch: { by: 'time', sliceMs: -1 } }, /switch\.sliceMs should be/],
    [
      { ...base, overflows: [{ event: 'cs', period: 5 }] },
      /overflows\[0\]\.period should be a decimal string/,
    ],
    [{ ...base, overflows: [{ event: 'cs', period: '0' }] }, /overflows\[0\]\.period/],
    [{ ...base, overflows: [{ event: 'cs', period: '5', randomMask: -1 }] }, /overflows\[0\]\.randomMask/],
    [{ ...base, inherit: 'yes' }, /inherit should be true or false/],
  ];
  for (const [value, message] of table) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    assert.throws(
      () => parseControlData(text),
      (error: Error) => error instanceof CounterpointError && message.test(error.message),
      text,
    );
  }
  assert.throws(() => controlData({ events: planless() }), { code: 'ERR_CONTROL_DATA' });
});

function planless() {
  return [{ name: 'cs', attr: {} }] as never;
}

test('sets of the same events have names of their own; the same name twice is refused', () => {
  const request: ControlRequest = { sets: ['cs', 'cs', { name: 'cs (3)', events: 'faults' }] };
  const names = controlData(request).sets.map(({ name }) => name);
  assert.deepEqual(names, ['cs', 'cs (2)', 'cs (3)']);
  const plan = planCounting({ target: { kind: 'self' }, ...request });
  assert.deepEqual(
    plan.sets.map(({ name }) => name),
    names,
  );
  const sets = [
    { name: 'a', events: 'cs' },
    { name: 'a', events: 'faults' },
  ];
  assert.throws(() => planCounting({ target: { kind: 'self' }, sets }), { code: 'ERR_SET_NAME' });
});

test('no JSON makes it throw anything else', () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.constantFrom('sets', 'switch', 'overflows', 'needs', 'version'),
      (json, field) => {
        const base: Record<string, unknown> = {
          type: 'control-data',
          version: 1,
          sets: [{ name: 'x', events: 'cs' }],
        };
        base[field] = JSON.parse(json);
        for (const text of [json, JSON.stringify(base)]) {
          try {
            controlRequest(parseControlData(text));
          } catch (error) {
            assert.ok(error instanceof CounterpointError, String(error));
          }
        }
      },
    ),
    { numRuns: 300 },
  );
});
