/** Rows of other shapes, of stacks that are written down here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Binary, Profile } from '../../profile/tables/index.ts';
import { callTree, topFunctions } from '../index.ts';
import { groupEvents } from './event-groups.ts';
import { rowHierarchy } from './row-hierarchy.ts';
import { limitStacks } from './stack-limit.ts';

/** Stacks as `main > parse > copy`, the function that ran last, with a weight and an event. */
function profileOf(rows: readonly (readonly [stack: string, weight: number, event?: number])[]): Profile {
  const profile = new Profile();
  const program: Binary = { path: '/app', name: 'app', buildId: '', kind: 'user' };
  profile.binaries.push(program);
  const comm = profile.strings.intern('app');
  profile.threads.pid.push(1);
  profile.threads.tid.push(1);
  profile.threads.comm.push(comm);
  for (const name of ['a', 'b'])
    profile.events.push({ name, unit: name, samples: 0, sumPeriod: 0n, lost: 0n });
  const frames = new Map<string, number>();
  const stacks = new Map<string, number>();
  const frameOf = (name: string) => {
    const found = frames.get(name);
    if (found !== undefined) return found;
    const symbol = profile.symbols.name.push(profile.strings.intern(name));
    profile.symbols.binary.push(0);
    frames.set(name, profile.frames.add({ symbol, binary: 0, mode: 2 }));
    return frames.get(name)!;
  };
  for (const [text, weight, event = 0] of rows) {
    let prefix = -1;
    let path = '';
    for (const name of text.split(' > ')) {
      path += ` > ${name}`;
      let row = stacks.get(path);
      if (row === undefined) {
        profile.stacks.prefix.push(prefix);
        stacks.set(path, (row = profile.stacks.frame.push(frameOf(name))));
      }
      prefix = row;
    }
    profile.samples.add(0, 0, comm, -1, event, prefix, weight, 1);
    profile.events[event]!.samples++;
    profile.events[event]!.sumPeriod += BigInt(weight);
  }
  return profile;
}

const STACKS = [
  ['main > parse > read > copy', 4],
  ['main > parse > read', 3],
  ['main > print', 2],
  ['main', 1],
] as const;

const totals = (profile: Profile, children = true) =>
  Object.fromEntries(
    topFunctions(profile, { sort: ['symbol'], children }).rows.map((row) => [
      row.symbol,
      `${row.totalPeriod} ${row.selfPeriod}`,
    ]),
  );

test('stacks cut at either end: own time stays, and the profile is not changed', () => {
  const profile = profileOf(STACKS);
  const whole = totals(profile);
  assert.deepEqual(whole, { main: '10 1', parse: '7 0', read: '7 3', copy: '4 4', print: '2 2' });
  assert.deepEqual(totals(limitStacks(profile, 1, 'outermost')), {
    main: '10 1',
    read: '3 3',
    copy: '4 4',
    print: '2 2',
  });
  assert.deepEqual(totals(limitStacks(profile, 2, 'innermost')), {
    main: '3 1',
    parse: '3 0',
    read: '7 3',
    copy: '4 4',
    print: '2 2',
  });
  assert.deepEqual(totals(limitStacks(profile, 9, 'outermost')), whole);
  assert.deepEqual(totals(profile), whole);
});

test('the parent is the innermost function that matches, with callees the outermost', () => {
  const profile = profileOf(STACKS);
  // With a flag that makes a pattern go on where it matched last.
  const parents = (children: boolean, parent = /^(main|read|parse)$/g) =>
    topFunctions(profile, { sort: ['parent'], children, parent }).rows.map((row) => [
      row.parent,
      row.selfPeriod,
    ]);
  assert.deepEqual(parents(false), [
    ['read', '7'],
    ['main', '3'],
  ]);
  assert.deepEqual(parents(true), [['main', '10']]);
  assert.deepEqual(parents(false, /^parse/), [
    ['parse', '7'],
    ['[other]', '3'],
  ]);
});

test('a hierarchy has a level for each sort key, and no row is lost', () => {
  const answer = topFunctions(profileOf(STACKS), { sort: ['dso', 'symbol'] });
  const { type, rows } = rowHierarchy(answer);
  assert.equal(type, 'hierarchy');
  const shown = rows.map((row) => [
    row.value.dso,
    row.percent,
    row.period,
    row.rows.map(({ value, period }) => [value.symbol, period]),
  ]);
  const functions = [
    ['copy', '4'],
    ['read', '3'],
    ['print', '2'],
    ['main', '1'],
  ];
  assert.deepEqual(shown, [['app', 100, '10', functions]]);
  assert.deepEqual(rowHierarchy({ ...answer, rows: [] }).rows, []);
});

test('events side by side: a row of one event alone counts nothing of the others', () => {
  const profile = profileOf([...STACKS, ['main > print', 30, 1], ['main > wait', 10, 1]]);
  const [a, b] = [0, 1].map((event) => topFunctions(profile, { event, sort: ['symbol'] }));
  const { events, rows } = groupEvents([a!, b!]);
  assert.deepEqual(
    events.map(({ event, sumPeriod }) => [event, sumPeriod]),
    [
      ['a', '10'],
      ['b', '40'],
    ],
  );
  assert.deepEqual(
    rows.map((row) => [row.symbol, ...row.events.map(({ selfPeriod }) => selfPeriod)]),
    [
      ['copy', '4', '0'],
      ['read', '3', '0'],
      ['print', '2', '30'],
      ['main', '1', '0'],
      ['wait', '0', '10'],
    ],
  );
});

test('a tree that is cut keeps its shares, and no own time that is of others', () => {
  const { roots } = callTree(profileOf(STACKS), { minimumPercent: 0, maxDepth: 2 });
  const [{ name, selfPercent, children }] = roots as [(typeof roots)[number]];
  assert.deepEqual([name, selfPercent], ['main', 10]);
  assert.deepEqual(
    children.map((node) => [node.name, node.percent, node.selfPercent, node.children.length]),
    [
      ['parse', 70, 0, 0],
      ['print', 20, 20, 0],
    ],
  );
});
