import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { EventSyntaxError, parseEvents } from '@counterpoint/core/events';
import {
  assignCounters,
  type CpuIdentity,
  describePmu,
  ProblemList,
  withVendorEvents,
} from '@counterpoint/core/pmus';
import { temporaryFolder } from '../../../test/perf.ts';
import { alderlake, armTable, intelTable, skylake, writeTree } from '../../../test/vendor-tables.ts';
import { placeTables } from './event-tables.ts';
import { systemEventLookup } from './lookup.ts';
import { eventTables, useEventTables } from './use-event-tables.ts';
import { readVendorFiles } from './vendor-files.ts';

const table = intelTable(
  {
    EventName: 'MADE_UP.LOADS',
    EventCode: '0xD1',
    UMask: '0x20',
    BriefDescription: 'Loads.',
    Counter: '0,1',
    SampleAfterValue: '100003',
  },
  { EventName: 'CYCLES_OF_OURS', EventCode: '0x3C', UMask: '0x00' },
  { EventName: 'Mem-Loads', EventCode: '0xFF' },
  { EventName: 'MADE_UP.LOADS', EventCode: '0xD2' },
  { EventName: 'UNC_READS', EventCode: '0x04', UMask: '0x0F', Unit: 'iMC' },
  { EventName: 'UNC_LINKS', EventCode: '0x04', Unit: 'UPI LL' },
);

const devices = 'bus/event_source/devices';
const machine = {
  [`${devices}/cpu/type`]: '4\n',
  [`${devices}/cpu/format/event`]: 'config:0-7\n',
  [`${devices}/cpu/format/umask`]: 'config:8-15\n',
  [`${devices}/cpu/events/mem-loads`]: 'event=0xcd,umask=0x1\n',
  [`${devices}/uncore_imc_0/type`]: '24\n',
  [`${devices}/uncore_imc_0/format/event`]: 'config:0-7\n',
  [`${devices}/uncore_imc_0/format/umask`]: 'config:8-15\n',
  [`${devices}/uncore_imc_1/type`]: '25\n',
  [`${devices}/uncore_imc_1/format/event`]: 'config:0-7\n',
  [`${devices}/uncore_imc_1/format/umask`]: 'config:8-15\n',
};

/** A machine of these PMUs and CPUs that has read these tables. */
function readOn(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  { pmus = ['cpu', 'uncore_imc_0', 'uncore_imc_1'], cpus = [skylake] as readonly CpuIdentity[] } = {},
) {
  const root = temporaryFolder(t);
  writeTree(root, machine);
  writeTree(join(root, 'tables'), files);
  const problems = new ProblemList();
  const { tables } = readVendorFiles(join(root, 'tables'), cpus, problems);
  const placed = placeTables(tables, pmus, problems);
  return { placed, lookup: systemEventLookup(root, undefined, () => placed) };
}

test('events of a table are known by name, on the PMUs that they are for', (t) => {
  const { lookup, placed } = readOn(t, { 'skx.json': table });
  for (const text of ['MADE_UP.LOADS', 'made_up.loads', 'cpu/MADE_UP.LOADS/']) {
    const [event] = parseEvents(text, lookup);
    assert.deepEqual(
      [event!.name, event!.pmu, event!.attr.type, event!.attr.config, event!.attr.samplePeriodOrFreq],
      [text, 'cpu', 4, 0x20d1n, 0n],
    );
    assert.deepEqual([event!.suggestedPeriod, event!.foreignPmu], [100_003n, undefined]);
  }
  const reads = parseEvents('UNC_READS', lookup);
  assert.deepEqual(
    reads.map(({ pmu, attr }) => [pmu, attr.type, attr.config]),
    [
      ['uncore_imc_0', 24, 0xf04n],
      ['uncore_imc_1', 25, 0xf04n],
    ],
  );
  assert.deepEqual(
    placed.problems.map(({ place, what }) => `${place}: ${what}`),
    ['skx.json: Events[3]: MADE_UP.LOADS already exists: this one is left out'],
  );
  assert.throws(
    () => parseEvents('UNC_LINKS', lookup),
    (error) => error instanceof EventSyntaxError && /a kernel that has uncore_upi/.test(error.reason),
  );
});

test('the kernel’s own event stays what it is', (t) => {
  const { lookup } = readOn(t, { 'skx.json': table });
  assert.equal(parseEvents('mem-loads', lookup)[0]!.attr.config, 0x1cdn);
  assert.ok(!lookup.pmu('cpu')!.events.has('Mem-Loads'));
});

test('one name with two meanings in two tables: the first counts, and it is said', (t) => {
  const other = intelTable(
    { EventName: 'Made_Up.Loads', EventCode: '0xD9' },
    { EventName: 'CYCLES_OF_OURS', EventCode: '0x3C', UMask: '0x00' },
  );
  const { lookup, placed } = readOn(t, { 'a.json': table, 'b.json': other });
  assert.equal(parseEvents('made_up.loads', lookup)[0]!.attr.config, 0x20d1n);
  assert.deepEqual([placed.problemCount, placed.problems.length], [2, 2]);
  assert.match(placed.problems[1]!.what, /^Made_Up\.Loads of cpu is already event=0xd1,umask=0x20 \(a\.json/);
});

test('which counters an event may be on is known to the plan of counters', (t) => {
  const { lookup, placed } = readOn(t, { 'skx.json': table });
  const model = describePmu(skylake)!;
  const known = withVendorEvents(model, placed.vendorEvents.get('cpu')!);
  const events = parseEvents('{MADE_UP.LOADS,MADE_UP.LOADS,MADE_UP.LOADS}', lookup);
  const planned = events.map(({ name, attr, group }) => ({ name, attr, group }));
  assert.equal(assignCounters(model, planned).events[0]!.kind, 'counter');
  assert.equal(assignCounters(known, planned).events[0]!.kind, 'unschedulable');
  assert.equal(assignCounters(known, planned.slice(0, 2)).events[1]!.kind, 'counter');
});

test('a kind of core has its own events; a machine that hides its PMU has them to look up', (t) => {
  const files = {
    'a.json':
      '[{"EventName":"X","EventCode":"1","Unit":"cpu_core"},{"EventName":"Y","EventCode":"2","Unit":"cpu_atom"}]',
  };
  const { placed } = readOn(t, files, { cpus: alderlake });
  assert.deepEqual(
    [...placed.events].map(([pmu, events]) => [pmu, ...events.keys()]),
    [
      ['cpu_core', 'X'],
      ['cpu_atom', 'Y'],
    ],
  );
  const hidden = { ...skylake, pmuType: null };
  const { lookup } = readOn(t, { 'skx.json': table }, { pmus: [], cpus: [hidden] });
  const [event] = parseEvents('MADE_UP.LOADS', lookup);
  assert.deepEqual([event!.foreignPmu, event!.attr.config], ['the PMU cpu', 0x20d1n]);
});

test('a table of another CPU can be looked up beside this machine’s own PMU', (t) => {
  const { lookup } = readOn(t, {
    'a57.json': armTable({ STALL_MADE_UP: { code: '0x8123', title: 'Stalls' } }),
  });
  for (const text of ['STALL_MADE_UP', 'armv8_pmuv3/STALL_MADE_UP/']) {
    const [event] = parseEvents(text, lookup);
    assert.deepEqual([event!.foreignPmu, event!.attr.config], ['Invented A57', 0x8123n], text);
  }
});

test('the process has the tables that it was told of, else those of the variable', (t) => {
  const root = temporaryFolder(t);
  writeTree(root, { 'one.json': table, 'two.json': intelTable({ EventName: 'TWO', EventCode: '0x2' }) });
  const before = process.env['COUNTERPOINT_EVENT_TABLES'];
  t.after(() => {
    useEventTables(null);
    if (before === undefined) delete process.env['COUNTERPOINT_EVENT_TABLES'];
    else process.env['COUNTERPOINT_EVENT_TABLES'] = before;
  });
  const names = () => eventTables().tables.map(({ path }) => path.slice(root.length + 1));
  process.env['COUNTERPOINT_EVENT_TABLES'] = `${join(root, 'one.json')}::${join(root, 'two.json')}`;
  useEventTables(null);
  assert.deepEqual(names(), ['one.json', 'two.json']);
  assert.equal(eventTables(), eventTables());
  useEventTables(join(root, 'two.json'));
  assert.deepEqual(names(), ['two.json']);
  useEventTables([]);
  assert.deepEqual(names(), []);
  process.env['COUNTERPOINT_EVENT_TABLES'] = join(root, 'nowhere');
  useEventTables(null);
  assert.throws(eventTables, {
    code: 'ERR_EVENT_TABLES',
    message: /nowhere.*COUNTERPOINT_EVENT_TABLES/,
    remedy: /unset COUNTERPOINT_EVENT_TABLES/,
  });
});
