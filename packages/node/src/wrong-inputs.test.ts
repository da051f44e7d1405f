import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import { findExport } from '@counterpoint/core/export';
import { Profile } from '@counterpoint/core/profile';
import * as counting from './entries/counting.ts';
import { useEventTables } from './entries/events.ts';
import { flight } from './entries/flight.ts';
import * as root from './entries/index.ts';
import { FakeSys } from './linux/kernel/sys/fake-sys.ts';
import { liveHandles } from './linux/kernel/sys/index.ts';

/** What a program without types may give where an object, a list or a text is meant. */
const WRONG: readonly unknown[] = [null, 5, Number.NaN, true, { nmae: 5 }, () => 1];

const api = { ...root, ...counting, useEventTables };

type Call = (wrong: never) => unknown;
const sys = new FakeSys();
const self = { kind: 'self' } as const;

function calls(session: counting.CountingSession, cpus: counting.GlobalCounters): Record<string, Call> {
  return {
    openCounting: (wrong) => api.openCounting(wrong),
    planCounting: (wrong) => api.planCounting(wrong),
    connect: (wrong) => api.connect(wrong),
    'connect: options': (wrong) => api.connect(1, 'x', wrong),
    controlData: (wrong) => api.controlData(wrong),
    controlRequest: (wrong) => api.controlRequest(wrong),
    parseControlData: (wrong) => api.parseControlData(wrong),
    planCounters: (wrong) => api.planCounters(wrong),
    countsFromJson: (wrong) => api.countsFromJson(wrong),
    listPublished: (wrong) => api.listPublished(wrong),
    GlobalCounters: (wrong) => new api.GlobalCounters(wrong),
    'GlobalCounters: options': (wrong) => new api.GlobalCounters([0], wrong, sys),
    writeControl: (wrong) => cpus.writeControl(wrong),
    'writeControl: cpus': (wrong) => cpus.writeControl({ events: 'cs' }, wrong),
    'GlobalCounters.start': (wrong) => cpus.start(wrong),
    'GlobalCounters.update': (wrong) => cpus.update(wrong),
    'GlobalCounters.publish': (wrong) => cpus.publish(wrong),
    update: (wrong) => session.update(wrong),
    'update: preserve': (wrong) => session.update({ events: 'cs' }, wrong),
    reset: (wrong) => session.reset(wrong),
    publish: (wrong) => session.publish(wrong),
    counters: (wrong) => api.counters(wrong),
    'counters: options': (wrong) => api.counters('cs', wrong),
    measure: (wrong) => typeof wrong === 'function' || api.measure(wrong),
    'measure: events': (wrong) => api.measure(() => 1, wrong),
    record: (wrong) => api.record(wrong),
    recordLive: (wrong) => api.recordLive(wrong),
    planRecording: (wrong) => api.planRecording(wrong, 1),
    openRecording: (wrong) => api.openRecording(wrong),
    countRun: (wrong) => api.countRun(wrong),
    rowsOf: (wrong) => api.rowsOf(wrong, { by: 'all' }),
    launchHeld: (wrong) => api.launchHeld(wrong),
    'launchHeld: options': (wrong) => api.launchHeld(['true'], wrong),
    useEventTables: (wrong) => wrong === null || api.useEventTables(wrong),
  };
}

/** The error of a call, whether it throws or rejects. */
async function errorOf(call: Call, wrong: unknown): Promise<unknown> {
  try {
    await call(wrong as never);
    return null;
  } catch (error) {
    return error;
  }
}

test('no public function takes what it does not know, or fails from inside', async () => {
  using session = api.openCounting({ target: self, events: 'cs', sys });
  using cpus = new api.GlobalCounters([0], {}, sys);
  cpus.writeControl({ events: 'cs' });
  const open = liveHandles().length;
  for (const [name, call] of Object.entries(calls(session, cpus)))
    for (const wrong of WRONG) {
      const error = await errorOf(call, wrong);
      if (typeof wrong === 'function' && name === 'measure') continue;
      if (wrong === null && name === 'useEventTables') continue;
      assert.ok(error instanceof CounterpointError, `${name} of ${String(wrong)}: ${String(error)}`);
    }
  assert.equal(liveHandles().length, open);
});

test('unknown options are named, with what was probably meant', async () => {
  const cases: [() => unknown, RegExp][] = [
    [() => api.openCounting({ target: self, event: 'cs' } as never), /no option event; did you mean events/],
    [() => api.counters('cs', { acess: 'read' } as never), /no option acess; did you mean access/],
    [() => api.record({ commnd: ['true'] } as never), /no option commnd; did you mean command/],
    [
      () => api.record({ command: ['true'], events: [{ event: 'cs' }] } as never),
      /events should be text, or a list of events, but is \[an object\]/,
    ],
    [
      () => api.record({ command: ['true'], launch: { cdw: '/' } } as never),
      /no option launch\.cdw; did you mean cwd/,
    ],
    [
      () => api.countRun({ scope: { kind: 'cpus', cpu: [0] }, control: null } as never),
      /no option cpu; did you mean cpus/,
    ],
    [
      () => api.countRun({ scope: { kind: 'cpus' }, control: null, timeoutMS: 5 } as never),
      /no option timeoutMS; did you mean timeoutMs/,
    ],
    // It belongs one level below.
    [
      () => api.countRun({ command: ['true'], events: 'cs' } as never),
      /no option events; did you mean control\.events/,
    ],
    [
      () => api.countRun({ command: ['true'], control: { evnts: 'cs' } } as never),
      /no option control\.evnts; did you mean events/,
    ],
    [() => api.openRecording('x', { symfz: '/' } as never), /no option symfz; did you mean symfs/],
    [() => api.profile(() => 1, { frequncy: 9 } as never), /no option frequncy; did you mean frequency/],
    [() => api.startProfile({ event: 'cs' } as never), /no option event; did you mean events/],
    [() => api.measure(() => 1, { events: 'cs' } as never), /is not|should be|events/],
    [() => api.recordLive({ comand: ['true'] } as never), /no option comand; did you mean command/],
    [() => api.LiveProfile.open({ comand: ['true'] } as never), /no option comand; did you mean command/],
    [() => flight({ directry: '/' } as never), /no option directry; did you mean directory/],
    [() => api.topFunctions(new Profile(), { moost: 3 } as never), /no option moost; did you mean most/],
    [
      () => api.callTree(new Profile(), { directon: 3 } as never),
      /no option directon; did you mean direction/,
    ],
    [
      () => [
        ...(findExport('folded')!.write(new Profile(), { anotate: true } as never) as Iterable<unknown>),
      ],
      /no option anotate; did you mean annotate/,
    ],
    [() => api.launchHeld(['true'], { ENV: {} } as never), /no option ENV; did you mean env/],
    [() => api.launchHeld('ls' as never), /command should be a list of words.*, but is 'ls'/],
    [() => api.connect(Number.NaN, 'x'), /pid should be the number of a process, but is NaN/],
    [() => new api.GlobalCounters(['0'] as never), /cpus should be a list of CPU numbers, but is \['0'\]/],
    [() => new api.GlobalCounters([]), /the list of CPUs is empty/],
    [
      () =>
        api.openCounting({ target: self, events: 'cs', overflows: [{ event: 'cs', period: '5' as never }] }),
      /period from 1 to 2\^63 - 1, not '5'/,
    ],
    [() => new api.GlobalCounters(0 as never), /cpus should be a list of CPU numbers, but is 0/],
  ];
  for (const [call, message] of cases) {
    const error = await errorOf(call, undefined);
    assert.ok(error instanceof CounterpointError, String(error));
    assert.match(error.message, message);
  }
});

test('events beside sets are the first of them', () => {
  const { sets } = api.planCounting({ target: self, events: 'cs', sets: ['faults', 'migrations'] });
  assert.deepEqual(
    sets.map(({ name }) => name),
    ['cs', 'faults', 'migrations'],
  );
});
