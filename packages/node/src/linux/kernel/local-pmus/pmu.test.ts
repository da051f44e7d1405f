import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import {
  applyFilter,
  catalogEvents,
  checkFilter,
  EventSyntaxError,
  parseEvents,
} from '@counterpoint/core/events';
import { encodeAttrShortest } from '@counterpoint/core/records';
import fc from 'fast-check';
import { noTracepoints } from '../../../test/rights.ts';
import { canMonitorAll } from '../probe/index.ts';
import { pinText, realSys, SysError } from '../sys/index.ts';
import { addFamilyEvents } from './add-family-events.ts';
import { eventAvailability } from './availability.ts';
import { systemEventLookup } from './lookup.ts';
import { SysfsPmu } from './sysfs-pmu.ts';

const root = mkdtempSync(join(tmpdir(), 'counterpoint-sysfs-'));
after(() => rmSync(root, { recursive: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), `${text}\n`);
}

const imc = 'bus/event_source/devices/uncore_imc_0';
put(`${imc}/type`, '24');
put(`${imc}/cpumask`, '0,18');
put(`${imc}/format/event`, 'config:0-7,32-35');
put(`${imc}/format/umask`, 'config:8-15');
put(`${imc}/events/cas_count_read`, 'event=0x104,umask=0x03');
put(`${imc}/events/cas_count_read.scale`, '6.103515625e-5');
put(`${imc}/events/cas_count_read.unit`, 'MiB');
put(`${imc}/events/clockticks`, 'event=0xff');
put(`${imc}/events/temperature`, 'event=0x7');
put(`${imc}/events/temperature.snapshot`, '1');
put(`${imc}/events/temperature.per-pkg`, '1');
put(`${imc}/caps/max_precise`, '3');
for (const [name, type, cpus] of [
  ['cpu_core', '4', '0-7'],
  ['cpu_atom', '10', '8-15'],
] as const) {
  put(`bus/event_source/devices/${name}/type`, type);
  put(`bus/event_source/devices/${name}/cpus`, cpus);
  put(`bus/event_source/devices/${name}/format/event`, 'config:0-7');
}
put('bus/event_source/devices/broken/type', 'many');
put('bus/event_source/devices/bare/type', '77');
put('kernel/tracing/events/sched/sched_switch/id', '372');
put('kernel/tracing/events/sched/sched_waking/id', '373');
put('kernel/tracing/events/sched/enable', '0');

test('PMUs and tracepoints are read from their folders', () => {
  const lookup = systemEventLookup(root);
  assert.deepEqual(lookup.pmuNames(), ['bare', 'broken', 'cpu_atom', 'cpu_core', 'uncore_imc_0']);
  assert.equal(lookup.pmu('broken'), null);
  assert.equal(lookup.pmu('../devices/bare'), null);
  assert.equal(lookup.pmu('bare')!.formats.size, 0);
  assert.equal(parseEvents('bare/config=3/', lookup)[0]!.cpus, undefined);
  const pmu = lookup.pmu('uncore_imc_0')!;
  assert.equal(lookup.pmu('uncore_imc_0'), pmu);
  assert.deepEqual([...pmu.events.keys()], ['cas_count_read', 'clockticks', 'temperature']);
  const [temperature] = parseEvents('uncore_imc_0/temperature/', lookup);
  assert.deepEqual([temperature!.snapshot, temperature!.perPackage], [true, true]);
  assert.deepEqual([pmu.isCore, lookup.pmu('cpu_atom')!.isCore], [false, true]);
  assert.deepEqual(
    parseEvents('cycles:u', lookup).map(({ name, requestedName, attr, cpus }) => [
      name,
      requestedName,
      attr.config,
      cpus,
    ]),
    [
      ['cpu_atom/cycles/u', 'cycles:u', 0xa_0000_0000n, '8-15'],
      ['cpu_core/cycles/u', 'cycles:u', 0x4_0000_0000n, '0-7'],
    ],
  );
  assert.equal(pmu.capability('max_precise'), '3');
  assert.equal(pmu.capability('branches'), null);

  const [read, ticks] = parseEvents('imc/cas_count_read/,clockticks', lookup);
  assert.deepEqual(
    [read!.attr.type, read!.attr.config, read!.unit, read!.scale, read!.cpus],
    [24, 0x1_0000_0304n, 'MiB', 6.103515625e-5, '0,18'],
  );
  assert.equal(ticks!.attr.config, 0xffn);
  assert.deepEqual(
    parseEvents('sched:sched_*', lookup).map(({ attr, name }) => [name, attr.config]),
    [
      ['sched:sched_switch', 372n],
      ['sched:sched_waking', 373n],
    ],
  );
  assert.equal(lookup.tracepoint('sched', 'enable'), null);
  assert.equal(lookup.tracepoint('..', 'sched'), null);
});

test('tracefs that is not mounted, or not for us, says what to do', () => {
  const absent = systemEventLookup(root, join(root, 'nowhere')).tracepoint('sched', 'sched_switch');
  assert.ok(absent !== null && typeof absent === 'object');
  assert.match(absent.unavailable, /not mounted at .*nowhere, and this process may not mount it$/);
  assert.match(absent.remedy, /mount -t tracefs/);

  const real = '/sys/kernel/tracing';
  if (process.getuid?.() !== 0 && existsSync(real)) {
    const denied = systemEventLookup().tracepoint('sched', 'sched_switch');
    assert.ok(denied !== null && typeof denied === 'object');
    assert.match(denied.remedy, /sudo mount/);
    assert.throws(() => parseEvents('sched:sched_switch', systemEventLookup()), EventSyntaxError);
  }
});

test('a machine without sysfs still has the generic events', () => {
  const lookup = systemEventLookup(join(root, 'nowhere'));
  assert.deepEqual(lookup.pmuNames(), []);
  assert.equal(parseEvents('cycles,cs', lookup).length, 2);
});

test('the software PMU of this machine', {
  skip: !existsSync('/sys/bus/event_source/devices/software'),
}, () => {
  const lookup = systemEventLookup();
  assert.equal(lookup.pmu('software')!.type, 1);
  for (const name of lookup.pmuNames()) {
    const pmu = lookup.pmu(name);
    // Every event that the kernel lists must be one that its own formats can express.
    for (const [event, { terms }] of pmu?.events ?? []) {
      if (terms.includes('?')) continue;
      const text = `${name}/${event}/`;
      assert.equal(parseEvents(text, lookup)[0]!.attr.type, pmu!.type, text);
    }
  }
});

const isPrivileged = () => canMonitorAll(realSys.effectiveCapabilities());

function libraryWithGetppid(): string | null {
  const maps = readFileSync('/proc/self/maps', 'utf8');
  return /(\/\S*(?:libc\.so\.6|ld-musl-\S+))$/m.exec(maps)?.[1] ?? null;
}

const uprobesAreMissing = !existsSync('/sys/bus/event_source/devices/uprobe')
  ? 'this kernel has no uprobe PMU'
  : !isPrivileged()
    ? 'uprobes need CAP_PERFMON'
    : libraryWithGetppid() === null
      ? 'no C library is mapped'
      : false;

test('a uprobe and a uretprobe count calls of a function', { skip: uprobesAreMissing }, () => {
  const lookup = systemEventLookup();
  const path = libraryWithGetppid()!;
  for (const kind of ['uprobe', 'uretprobe']) {
    const text = `${kind}:${path}:getppid`;
    const [event] = parseEvents(text, lookup);
    const target = pinText(event!.probe!.target);
    const attr = { ...event!.attr, config1: target.address };
    using fd = realSys.perfEventOpen(encodeAttrShortest(attr), 0, -1, null);
    let parent = 0;
    for (let call = 0; call < 1000; call++) parent += process.ppid;
    const count = new BigUint64Array(1);
    realSys.read(fd, new Uint8Array(count.buffer));
    assert.ok(parent > 0);
    assert.equal(count[0], 1000n, kind);
    assert.equal(target.bytes.at(-1), 0);
  }
});

test('functions are found by file, and files that have none say why', () => {
  const lookup = systemEventLookup();
  const refuse = (text: string) => {
    try {
      parseEvents(text, {
        ...lookup,
        pmu: (name) => lookup.pmu(name) ?? { name, type: 8, formats: new Map(), events: new Map() },
      });
    } catch (error) {
      assert.ok(error instanceof EventSyntaxError, String(error));
      return error.reason;
    }
    return assert.fail(text);
  };
  assert.match(refuse('uprobe:/etc/passwd:main'), /is not an ELF file/);
  assert.match(refuse('uprobe:no-such-program-here:main'), /neither here nor a program in PATH/);
  assert.match(refuse('uprobe:/no/such/file:main'), /there is no file/);
  assert.match(refuse(`uprobe:${process.execPath}:no_such_function_here`), /has no function/);
  assert.match(refuse('uprobe:/tmp:main'), /\/tmp is a directory/);
  // A program by its name alone.
  const text = 'uprobe:sh:0x1';
  assert.match(refuse(text), /has no code at 0x1$/);
  const node = lookup.probeFile!(process.execPath);
  assert.ok('functions' in node && node.functions.size > 100);
});

test('filters that pass the check pass the kernel, and the others do not', { skip: noTracepoints }, () => {
  const lookup = systemEventLookup();
  const table: [string, boolean][] = [
    ['prev_comm == "bash"', true],
    ["prev_comm ~ 'b*' && !(prev_pid < 5) || prev_prio == 3", true],
    ['prev_pid == 0x10 && CPU < 2', true],
    ['prev_pid == -1', true],
    ['COMM != "x y"', true],
    ['!!((common_pid & 3))', true],
    ['prev_comm == bash', false],
    ['prev_comm < "a"', false],
    ['prev_pid ~ "x"', false],
    ['prev_pid == "1"', false],
    ['prev_pid == abc', false],
    ['prev_pid = 1', false],
    ['no_field == 1', false],
    ['(prev_pid == 1', false],
    ['prev_pid == 1)', false],
    ["prev_comm == 'x", false],
    ['prev_pid == 99999999999999999999', false],
    ['', false],
  ];
  for (const [filter, isGood] of table) {
    const events = parseEvents('sched:sched_switch', lookup);
    using fd = realSys.perfEventOpen(encodeAttrShortest(events[0]!.attr), 0, -1, null);
    const refused = (action: () => void) => {
      try {
        action();
        return false;
      } catch (error) {
        assert.ok(error instanceof EventSyntaxError || error instanceof SysError, String(error));
        return true;
      }
    };
    assert.equal(
      refused(() => applyFilter(events, filter, lookup)),
      !isGood,
      `ours: ${filter}`,
    );
    assert.equal(
      refused(() => realSys.setFilter(fd, filter)),
      !isGood,
      `the kernel: ${filter}`,
    );
  }
});

test('the kernel takes every filter that passes the check', { skip: noTracepoints }, () => {
  const lookup = systemEventLookup();
  const [event] = parseEvents('sched:sched_switch', lookup);
  const fields = lookup.tracepointFields!('sched', 'sched_switch');
  const piece = fc.tuple(
    fc.constantFrom('prev_pid', 'prev_comm', 'next_prio', 'CPU', 'comm', '!prev_pid', '(CPU', 'common_type'),
    fc.constantFrom('==', '!=', '<', '>=', ' & ', ' ~ '),
    fc.constantFrom(
      '1',
      '-7',
      '0x1f',
      '99999999999999999999',
      '"a*"',
      "'b'",
      '""',
      'CPUS{0-1}',
      '1)',
      '4294967296',
    ),
    fc.constantFrom('&&', ' || ', ' '),
  );
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 3 }), (pieces) => {
      const filter = pieces.flat().slice(0, -1).join('');
      try {
        checkFilter(filter, fields);
      } catch (error) {
        assert.ok(error instanceof EventSyntaxError, String(error));
        return;
      }
      accepted++;
      // An event takes one filter in its life.
      using fd = realSys.perfEventOpen(encodeAttrShortest(event!.attr), 0, -1, null);
      realSys.setFilter(fd, filter);
    }),
    { numRuns: 1500 },
  );
  assert.ok(accepted > 10, `only ${accepted} were accepted`);
});

test('events are tried by opening them', () => {
  const lookup = systemEventLookup();
  const states = new Map<string, string>();
  for (const event of catalogEvents(lookup, (kind) => kind === 'software' || kind === 'hardware')) {
    states.set(event.name, eventAvailability(event, lookup, realSys).state);
  }
  assert.equal(states.size, 22);
  assert.ok(['available', 'forbidden'].includes(states.get('task-clock')!));
  if (!lookup.pmuNames().some((name) => lookup.pmu(name)?.isCore))
    assert.notEqual(states.get('cycles'), 'available');
});

test('what the kernel answers is what is said', () => {
  const lookup = systemEventLookup(root);
  const [event] = [...catalogEvents(lookup, (kind) => kind === 'hardware')];
  const answer = (error: Error) => {
    const sys = {
      ...realSys,
      perfEventOpen() {
        throw error;
      },
    };
    return eventAvailability(event!, lookup, sys);
  };
  assert.deepEqual(answer(new SysError('perf_event_open', 2)), {
    state: 'absent',
    why: 'the kernel has no such event for this CPU',
  });
  assert.equal(answer(new SysError('perf_event_open', 13)).state, 'forbidden');
  assert.equal(answer(new SysError('perf_event_open', 24)).state, 'unknown');
  assert.equal(answer(new CounterpointError('ERR_FFI', 'no koffi', 'Install it.')).why, 'no koffi');
  assert.throws(() => answer(new TypeError('a mistake')), TypeError);
});

test('a family adds names and descriptions to a core PMU', () => {
  const family = new Map([
    ['fetches', { terms: 'event=0x7', description: 'what was fetched' }],
    ['odd', { terms: 'nothing=1', description: 'a term that this PMU does not have' }],
  ]);
  const devices = join(root, 'bus/event_source/devices');
  const sources = { family: () => family, tables: () => new Map() };
  const core = SysfsPmu.read(devices, 'cpu_core', sources)!;
  assert.deepEqual([...core.events], [['fetches', { terms: 'event=0x7', description: 'what was fetched' }]]);
  assert.equal(SysfsPmu.read(devices, 'uncore_imc_0', sources)!.events.has('fetches'), false);
  const own = addFamilyEvents(new Map([['fetches', { terms: 'event=0x9', scale: 2 }]]), family, core.formats);
  assert.deepEqual(own.get('fetches'), { terms: 'event=0x9', scale: 2, description: 'what was fetched' });
});
