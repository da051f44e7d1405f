import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a57Identity, intelIdentity } from '../../test/cpu-identities.ts';
import { withVendorEvents } from './extend.ts';
import { describePmu } from './families.ts';
import { parseVendorEvents } from './vendor-json.ts';
import { cpuNames, matchMapFile, parseMapFile } from './vendor-map.ts';

// The tables here are invented: the fields are the published ones, the events are not.

function intel(...events: object[]) {
  return parseVendorEvents(
    JSON.stringify({ Header: { Copyright: 'none' }, Events: events }),
    'invented.json',
  );
}

function terms(event: object): string {
  const { events, problems } = intel({ EventName: 'X', ...event });
  assert.deepEqual(problems, []);
  return events[0]!.terms;
}

test('fields of Intel’s tables become terms', () => {
  assert.equal(terms({ EventCode: '0x3C', UMask: '0x00' }), 'event=0x3c,umask=0x00');
  assert.equal(
    terms({
      EventCode: '0xA6',
      UMask: '0x02',
      CounterMask: '3',
      Invert: '1',
      EdgeDetect: '1',
      AnyThread: '0',
    }),
    'event=0xa6,umask=0x02,cmask=0x03,inv=0x01,edge=0x01',
  );
  assert.equal(terms({ EventCode: '60', UMask: 1 }), 'event=0x3c,umask=0x01');
  assert.equal(
    terms({ EventCode: '0xB7, 0xBB', UMask: '0x01', MSRIndex: '0x1a6,0x1a7', MSRValue: '0x10001' }),
    'event=0xb7,umask=0x01,offcore_rsp=0x10001',
  );
  assert.equal(
    terms({ EventCode: '0xcd', UMask: '0x1', MSRIndex: '0x3F6', MSRValue: '0x80' }),
    'event=0xcd,umask=0x01,ldlat=0x80',
  );
  assert.equal(
    terms({ EventCode: '0xc6', UMask: '0x1', MSRIndex: '0x3F7', MSRValue: '0x11' }),
    'event=0xc6,umask=0x01,frontend=0x11',
  );
  assert.equal(
    terms({ EventCode: '0x35', UMask: '0x01', UMaskExt: '0xC8', Unit: 'CHA', MSRIndex: '0x00' }),
    'event=0x35,umask=0xc801',
  );
  assert.equal(
    terms({ EventCode: '0x11', Unit: 'CBO', Filter: 'filter_opc=0x182' }),
    'event=0x11,filter_opc=0x182',
  );
});

test('fixed counters are asked for by the code that the kernel puts on them', () => {
  const fixed = { EventCode: '0x00', Counter: 'Fixed counter 0' };
  assert.equal(terms({ ...fixed, UMask: '0x01' }), 'event=0xc0');
  assert.equal(terms({ ...fixed, UMask: '0x02' }), 'event=0x3c');
  assert.equal(terms({ ...fixed, UMask: '0x03' }), 'event=0x00,umask=0x03');
  assert.equal(
    intel({ EventName: 'INST_RETIRED.PREC_DIST', ...fixed, UMask: '0x01' }).events[0]!.terms,
    'event=0x00,umask=0x01',
  );
  assert.deepEqual(intel({ EventName: 'X', ...fixed, UMask: '0x01' }).events[0]!.fixed, [0]);
  const uncore = intel({ EventName: 'X', EventCode: '0xff', Counter: 'FIXED', Unit: 'iMC' });
  assert.deepEqual([uncore.events[0]!.general, uncore.problemCount], [null, 0]);
  assert.deepEqual(intel({ EventName: 'X', UMask: '0x6', Counter: '37' }).events[0]!.fixed, [5]);
});

test('what belongs to an event beside its terms', () => {
  const { events, schema } = intel({
    EventName: 'MADE_UP.SOMETHING',
    EventCode: '0xd1',
    UMask: '0x20',
    BriefDescription: 'Short.',
    PublicDescription: 'Long,\n  over lines.\u001b[31m',
    Counter: '0,1,3',
    SampleAfterValue: '100003',
    PEBS: '2',
    Deprecated: '1',
  });
  assert.equal(schema, 'intel-perfmon');
  assert.deepEqual(events[0], {
    name: 'MADE_UP.SOMETHING',
    terms: 'event=0xd1,umask=0x20',
    termValues: [
      ['event', 0xd1n],
      ['umask', 0x20n],
    ],
    pmu: null,
    brief: 'Short.',
    description: 'Long, over lines.\\x1b[31m',
    general: [0, 1, 3],
    fixed: [],
    samplePeriod: 100003n,
    precise: 'must',
    isDeprecated: true,
    place: 'invented.json: Events[0]',
  });
});

test('units become PMUs', () => {
  const pmuOf = (Unit: string) => intel({ EventName: 'X', EventCode: '1', Unit }).events[0]!.pmu;
  assert.equal(pmuOf('cpu_atom'), 'cpu_atom');
  assert.equal(pmuOf('iMC'), 'uncore_imc');
  assert.equal(pmuOf('UPI LL'), 'uncore_upi');
  assert.equal(pmuOf('M2HBM'), 'uncore_m2hbm');
  assert.equal(pmuOf('core'), null);
});

test('what cannot be read is left out, with its place', () => {
  const { events, problems, problemCount } = intel(
    { EventName: 'GOOD', EventCode: '0x01' },
    { EventName: 'good', EventCode: '0x02' },
    { EventName: 'a b', EventCode: '0x01' },
    { EventName: 'E1', EventCode: 'zwölf' },
    { EventName: 'E2', EventCode: '0x1', UMask: '-1' },
    { EventName: 'E3', EventCode: '0x1', MSRIndex: '0x999' },
    { EventName: 'E4', EventCode: '0x1', Filter: 'rm -rf' },
    { EventName: 'E5', EventCode: '0x1', UMask: '0x1ffffffffffffffff' },
    { EventName: ['E6'], EventCode: {} },
    7 as unknown as object,
  );
  assert.deepEqual(
    events.map(({ name }) => name),
    ['GOOD'],
  );
  assert.equal(problemCount, 9);
  assert.deepEqual(
    problems.map(({ place }) => place.replace('invented.json: ', '')),
    [
      'Events[1]',
      'Events[2].EventName',
      'Events[3].EventCode',
      'Events[4].UMask',
      'Events[5].MSRIndex',
      'Events[6].Filter',
      'Events[7].UMask',
      'Events[8].EventName',
      'Events[9]',
    ],
  );
});

test('not JSON, and JSON that is no table', () => {
  for (const text of ['', '{', 'null', '7', '"x"', '{"Events":7}', '{"events":null}', '{}']) {
    const { schema, events, problemCount } = parseVendorEvents(text, 'x.json');
    assert.deepEqual([schema, events.length, problemCount], [null, 0, 1], text);
  }
});

test('many problems are counted, a hundred of them kept', () => {
  const { problems, problemCount } = parseVendorEvents(JSON.stringify(Array(5000).fill(1)), 'x.json');
  assert.equal(problemCount, 5000);
  assert.equal(problems.length, 100);
});

test('Arm’s telemetry files', () => {
  const { schema, events, problems } = parseVendorEvents(
    JSON.stringify({
      product_configuration: { product_name: 'Invented' },
      events: {
        CPU_CYCLES: { code: '0x0011', title: 'Cycle', description: 'Ticks.' },
        OWN_EVENT: { code: '0x0123', title: 'Own' },
        TOO_WIDE: { code: '0x10000' },
        NO_CODE: { title: 'x' },
        __proto__x: { code: 1 },
      },
    }),
    'arm.json',
  );
  assert.equal(schema, 'arm-telemetry');
  assert.deepEqual(
    events.map(({ name, terms, brief }) => [name, terms, brief]),
    [
      ['CPU_CYCLES', 'event=0x11', 'Cycle'],
      ['OWN_EVENT', 'event=0x123', 'Own'],
      ['__proto__x', 'event=0x01', ''],
    ],
  );
  assert.deepEqual(
    problems.map(({ place }) => place),
    ['arm.json: events.TOO_WIDE.code', 'arm.json: events.NO_CODE.code'],
  );
});

test('Arm’s older lists, and its tables for perf with architectural events by name', () => {
  const list = parseVendorEvents(
    '{"core":"x","events":[{"name":"L1D_CACHE","code":4,"description":"d"}]}',
    'a.json',
  );
  assert.equal(list.schema, 'arm-events');
  assert.equal(list.events[0]!.terms, 'event=0x04');
  const perf = parseVendorEvents(
    JSON.stringify([
      { ArchStdEvent: 'L1D_CACHE_RD', PublicDescription: 'Reads.' },
      { ArchStdEvent: 'INST_RETIRED' },
      { ArchStdEvent: 'NOT_ONE' },
      { EventCode: '0xc7', EventName: 'OWN', BriefDescription: 'b' },
      { MetricName: 'ipc', MetricExpr: 'a / b' },
    ]),
    'p.json',
  );
  assert.deepEqual(
    perf.events.map(({ name, terms }) => [name, terms]),
    [
      ['L1D_CACHE_RD', 'event=0x40'],
      ['INST_RETIRED', 'event=0x08'],
      ['OWN', 'event=0xc7'],
    ],
  );
  assert.equal(perf.skipped, 1);
  assert.match(perf.events[1]!.brief, /carried out for good/);
  assert.equal(perf.problemCount, 1);
});

test('a table narrows the counters of its events', () => {
  const model = describePmu(intelIdentity({ version: 4, general: 4, fixed: 3 }))!;
  const { events } = intel(
    { EventName: 'ONLY_TWO', EventCode: '0x48', UMask: '0x01', Counter: '2' },
    { EventName: 'ANY', EventCode: '0x49', UMask: '0x01', Counter: '0,1,2,3' },
    { EventName: 'FIXED', EventCode: '0x00', UMask: '0x01', Counter: 'Fixed counter 0' },
    { EventName: 'WIDE', EventCode: '0x4a', UMask: '0x01', UMaskExt: '0x02', Equal: '1', Counter: '1' },
    { EventName: 'ELSEWHERE', EventCode: '0x01', Unit: 'CHA', Counter: '0' },
  );
  const more = withVendorEvents(model, events);
  assert.deepEqual(more.requirementOf({ config: 0x0148n, config1: 0n }).places, [[2]]);
  assert.equal(more.requirementOf({ config: 0x0149n, config1: 0n }).places.length, 4);
  assert.deepEqual(more.events.find(({ name }) => name === 'ONLY_TWO')?.constraint.general, [2]);
  assert.equal(
    more.events.find(({ name }) => name === 'ELSEWHERE'),
    undefined,
  );
  assert.equal(more.requirementOf({ config: 0xc0n, config1: 0n }).places.length, 5);
  assert.equal(more.events.find(({ name }) => name === 'WIDE')?.config, 0x0210_0000_014an);
  assert.equal(more.events.length, model.events.length + 4);
});

test('which table is for which CPU', () => {
  const map = parseMapFile(
    [
      'Family-model,Version,Filename,EventType,Core Type,Native Model ID,Core Role Name',
      'GenuineIntel-6-55-[01234],V1,/A/a.json,core,,,',
      'GenuineIntel-6-55-[56789ABCDEF],V1,/B/b.json,core,,,',
      'GenuineIntel-6-(55|6A),V1,/B/u.json,uncore,,,',
      'GenuineIntel-6-9A,V1,/C/c.json,hybridcore,0x40,0x1,Core',
      'AuthenticAMD-25-([[:digit:]]|1[[:xdigit:]]),v1,zen3,core',
      '0x00000000410fd070,v1,arm/a57,core',
      'too,short',
      '(a+)+$,v1,x,core',
      '[,v1,x,core',
    ].join('\n'),
    'mapfile.csv',
  );
  assert.equal(map.rows.length, 6);
  assert.deepEqual(
    map.problems.map(({ place }) => place),
    ['mapfile.csv:8', 'mapfile.csv:9', 'mapfile.csv:10'],
  );
  const files = (identity: Parameters<typeof matchMapFile>[1]) =>
    matchMapFile(map, identity).map(({ file }) => file);
  const intelCpu = intelIdentity({ version: 4, general: 4, fixed: 3 });
  assert.deepEqual(files(intelCpu), ['/B/b.json', '/B/u.json']);
  assert.deepEqual(files(a57Identity), ['arm/a57']);
  assert.deepEqual(files({ ...intelCpu, model: 0x9a, pmu: 'cpu_core' }), ['/C/c.json']);
  assert.deepEqual(files({ ...intelCpu, model: 0x9a, pmu: 'cpu_atom' }), []);
  assert.deepEqual(files({ ...intelCpu, vendor: 'AuthenticAMD', family: 25, model: 0x1a }), ['zen3']);
  assert.deepEqual(cpuNames(intelCpu), ['GenuineIntel-6-55', 'GenuineIntel-6-55-7']);
});

test('Arm’s telemetry says which CPU it is for', () => {
  const table = (product_configuration: unknown) =>
    parseVendorEvents(
      JSON.stringify({ product_configuration, events: { MADE_UP: { code: '0x8123' } } }),
      'x',
    );
  const known = { product_name: 'Invented A1', implementer: '0x41', part_num: '0xABC' };
  assert.deepEqual(table(known).product, { name: 'Invented A1', implementer: 0x41, part: 0xabc });
  for (const bad of [null, 7, [], {}, { ...known, part_num: '0x1000' }, { ...known, implementer: 'Arm' }]) {
    assert.equal(table(bad).product, null);
    assert.equal(table(bad).events.length, 1);
  }
});
