/** What `counterpoint report` says, as another program asks for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterpointError } from '../../base/index.ts';
import type { Profile } from '../../profile/tables/index.ts';
import { ExampleBuilder } from '../../test/example-profile.ts';
import { type ReportOptions, reportNeeds, reportProfile } from '../index.ts';

/** Stacks of two events, outermost function first; `JS:` is JavaScript. */
function profileOf(stacks: readonly (readonly [stack: string, weight: number, event?: number])[]): Profile {
  const builder = new ExampleBuilder();
  const jit = builder.binary('/tmp/perf-1.map', 'jit');
  const program = builder.binary('/bin/node', 'user');
  const events = ['cpu-clock', 'page-faults'].map((name) => builder.event({ name }));
  const thread = builder.thread(1, 1, 'node');
  for (const [timeNs, [text, weight, event = 0]] of stacks.entries()) {
    const frames = text.split(' > ').map((name, at) => {
      const binary = name.startsWith('JS:') ? jit : program;
      return builder.frame(binary, name, BigInt(0x1000 + name.length + at));
    });
    builder.sample({ timeNs, thread, stack: builder.stack(frames), event: events[event]!, weight, cpu: 0 });
  }
  return builder.profile;
}

const NATIVE = [
  ['main > parse', 30],
  ['main > parse > copy', 50],
  ['main > write', 20],
  ['main > write', 7, 1],
] as const;
const JAVASCRIPT = [
  ['main > JS:*handler /app/main.js:3:1 > JS:*emit node:events:9:1 > copy', 60],
  ['main > JS:*handler /app/main.js:3:1 > JS:*route /app/node_modules/router/index.js:5:1', 40],
] as const;

type Row = { symbol?: string; percent: number };

/** `copy 50, parse 30`, of each event. */
function rowsOf(profile: Profile, options: ReportOptions): string[] {
  return reportProfile(profile, options).events.map((answer) => {
    assert.ok('rows' in answer);
    return (answer.rows as Row[]).map(({ symbol, percent }) => `${symbol} ${percent.toFixed(0)}`).join(', ');
  });
}

test('each event with samples is answered, or the one that is named', () => {
  const profile = profileOf(NATIVE);
  assert.deepEqual(rowsOf(profile, {}), ['copy 50, parse 30, write 20', 'write 100']);
  assert.deepEqual(rowsOf(profile, { event: 'page-faults' }), ['write 100']);
  assert.throws(
    () => reportProfile(profile, { event: 'page-fault' }),
    (error) => error instanceof CounterpointError && /did you mean "?page-faults/i.test(error.message),
  );
});

test('rows are chosen by name, share, number and parent', () => {
  const ask = (options: ReportOptions) => rowsOf(profileOf(NATIVE), { event: 'cpu-clock', ...options })[0];
  assert.equal(ask({ children: true }), 'main 100, parse 80, copy 50, write 20');
  assert.equal(ask({ minimumPercent: 25 }), 'copy 50, parse 30');
  assert.equal(ask({ limit: 1 }), 'copy 50');
  assert.equal(ask({ symbolPart: 'p', relative: true }), 'copy 63, parse 38');
  assert.equal(ask({ parent: /^write$/, onlyWithParent: true }), 'write 20');
  assert.throws(() => ask({ symbolPart: 'p', sort: ['dso'] }), /have to be of functions/);
});

test('a tree, levels of rows and events side by side', () => {
  const profile = profileOf(NATIVE);
  const [tree] = reportProfile(profile, { tree: 'callees', limit: 1, maxStack: 2 }).events;
  assert.ok(tree?.type === 'call-tree');
  assert.deepEqual(
    tree.roots.map(({ name, children }) => [name, children.map((node) => [node.name, node.children.length])]),
    [
      [
        'main',
        [
          ['parse', 0],
          ['write', 0],
        ],
      ],
    ],
  );
  const [levels] = reportProfile(profile, {
    hierarchy: true,
    sort: ['comm', 'symbol'],
    children: true,
  }).events;
  assert.ok(levels?.type === 'hierarchy');
  assert.deepEqual(
    levels.rows.map(({ percent, rows }) => [percent, rows.map(({ value }) => value.symbol)]),
    [[100, ['copy', 'parse', 'write']]],
  );
  const [together, ...none] = reportProfile(profile, { groups: [] }).events;
  assert.ok(together?.type === 'event-group');
  assert.deepEqual(none, []);
  assert.deepEqual(
    together.events.map(({ event }) => event),
    ['cpu-clock', 'page-faults'],
  );
});

test('time of Node and of libraries counts for functions of the program, if nothing else is asked for', () => {
  const ask = (options: ReportOptions) => {
    const { events, javascript } = reportProfile(profileOf(JAVASCRIPT), options);
    const [answer] = events;
    assert.ok(answer?.type === 'top-functions');
    const nameOf = (symbol = '') => /^JS:\*(\w+)/.exec(symbol)?.[1] ?? symbol;
    const rows = answer.rows.map(({ symbol, percent }) => `${nameOf(symbol)} ${percent.toFixed(0)}`);
    return { rows: rows.join(', '), javascript };
  };
  const usual = ask({});
  assert.equal(usual.rows, 'handler 60, route 40');
  assert.equal(usual.javascript?.isNodeFolded, true);
  assert.equal(ask({ fold: ['router'] }).rows, 'handler 100');
  assert.equal(ask({ fold: null }).rows, 'emit 60, route 40');
  assert.deepEqual(
    ask({ fold: ['koa'] }).javascript?.unusedFolds.map(({ name, packages }) => [name, packages]),
    [['koa', ['router']]],
  );
  for (const options of [{ javascript: null }, { sort: ['dso', 'symbol'] }] as const) {
    const recorded = ask(options);
    assert.equal(recorded.javascript, null);
    assert.match(recorded.rows, /^copy 60, /);
  }
});

test('what has to be read of a recording follows from the question', () => {
  const least = { innermostOnly: true, keepCpu: false, lines: false, traceKeys: [] };
  assert.deepEqual(reportNeeds({}), least);
  assert.deepEqual(reportNeeds({ children: true, hierarchy: true }), least);
  for (const options of [
    { children: true },
    { tree: 'callers' },
    { parent: /x/ },
    { javascript: 'charge' },
  ] as const)
    assert.equal(reportNeeds(options).innermostOnly, false);
  assert.deepEqual(reportNeeds({ sort: ['cpu', 'srcline', 'sched:sched_switch.next_comm'] }), {
    ...least,
    keepCpu: true,
    lines: true,
    traceKeys: ['sched:sched_switch.next_comm'],
  });
});
