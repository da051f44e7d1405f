import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogEvents } from './catalog.ts';
import { EventSyntaxError } from './errors.ts';
import { parseEvents } from './parse.ts';
import type { EventLookup, PmuDescription, PmuEvent } from './types.ts';

const formats = new Map([
  ['event', 'config:0-7'],
  ['umask', 'config:8-15'],
]);
const table = (...events: [string, Partial<PmuEvent>][]) =>
  new Map(
    events.map(([name, more]): [string, PmuEvent] => [
      name,
      { terms: 'event=0xd1', source: 'x.json', ...more },
    ]),
  );

const cpu: PmuDescription = {
  name: 'cpu',
  type: 4,
  formats,
  events: table(['MADE.UP', { terms: 'event=0xd1,umask=0x20', samplePeriod: 2003n }], ['BOTH', {}]),
  isCore: true,
};
const absent: PmuDescription[] = [
  { name: 'cpu', type: 4, formats, events: table(['OTHER.CPU', {}], ['BOTH', {}]), foreign: 'a Made Up 9' },
  {
    name: 'uncore_imc',
    type: 4,
    formats: new Map(),
    events: table(['UNC_READS', {}]),
    foreign: 'a Made Up 9',
  },
];
const lookup: EventLookup = {
  pmu: (name) => (name === 'cpu' ? cpu : null),
  pmuNames: () => ['cpu'],
  absentPmus: () => absent,
  tracepoint: () => null,
  tracepointNames: () => [],
};
const one = (text: string) => parseEvents(text, lookup)[0]!;

test('the period of a table is a suggestion: it is not in the attr, and one that is given is', () => {
  const plain = one('made.up:u');
  assert.deepEqual(
    [plain.name, plain.attr.config, plain.attr.samplePeriodOrFreq, plain.periodGiven, plain.suggestedPeriod],
    ['made.up:u', 0x20d1n, 0n, false, 2003n],
  );
  const given = one('cpu/MADE.UP,period=7/');
  assert.deepEqual([given.attr.samplePeriodOrFreq, given.periodGiven], [7n, true]);
  assert.equal(plain.foreignPmu, undefined);
});

test('events of PMUs that are not here are found after all others, and marked', () => {
  for (const text of ['OTHER.CPU', 'other.cpu:u', 'cpu/OTHER.CPU/', 'cpu/OTHER.CPU,umask=3/k']) {
    assert.deepEqual([one(text).foreignPmu, one(text).attr.type], ['a Made Up 9', 4], text);
  }
  assert.equal(one('cpu/OTHER.CPU,umask=3/').attr.config, 0x3d1n);
  for (const text of ['BOTH', 'cpu/BOTH/', 'cpu/event=1/'])
    assert.equal(one(text).foreignPmu, undefined, text);
});

test('where only the kernel of another machine knows the numbers, that is said', () => {
  const refused = (text: string, column: number, reason: RegExp) =>
    assert.throws(
      () => one(text),
      (error) => {
        assert.ok(error instanceof EventSyntaxError);
        assert.match(error.reason, reason);
        assert.equal(error.column, column);
        return true;
      },
      text,
    );
  refused('UNC_READS', 0, /^an event of a Made Up 9, .* only a kernel that has uncore_imc knows/);
  refused('imc/UNC_READS/', 0, /only a kernel that has uncore_imc/);
  refused('imc/UNC_REEDS/', 4, /^no event of imc in its tables; did you mean UNC_READS\?$/);
  refused('OTHER.CPV', 0, /^unknown event; did you mean OTHER\.CPU\?$/);
});

test('the catalog has them as a kind of their own', () => {
  const events = [...catalogEvents(lookup, (kind) => kind === 'table' || kind === 'pmu')];
  assert.deepEqual(
    events.map(({ name, kind, source, foreign, samplePeriod }) => [
      name,
      kind,
      source,
      foreign,
      samplePeriod,
    ]),
    [
      ['cpu/MADE.UP/', 'table', 'x.json', null, 2003n],
      ['cpu/BOTH/', 'table', 'x.json', null, null],
      ['cpu/OTHER.CPU/', 'table', 'x.json', 'a Made Up 9', null],
      ['cpu/BOTH/', 'table', 'x.json', 'a Made Up 9', null],
      ['uncore_imc/UNC_READS/', 'table', 'x.json', 'a Made Up 9', null],
    ],
  );
});
