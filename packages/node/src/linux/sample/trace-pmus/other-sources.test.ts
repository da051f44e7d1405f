/**
 * Intel BTS, Arm SPE and CoreSight, on machines that have them by their sysfs only. What perf of this
 * architecture knows is compared with perf: requests of Intel BTS, and AUXTRACE_INFO of all three, which perf
 * reads everywhere. What the kernel is asked for on Arm is by perf's sources.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  MMAP_CAP_USER_TIME_ZERO,
  MMAP_PAGE_CAPABILITIES,
  MMAP_PAGE_TIME_MULT,
  MMAP_PAGE_TIME_SHIFT,
  MMAP_PAGE_TIME_ZERO,
  PERF_RECORD_AUXTRACE,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { openPerfData, readRecords, writePerfData } from '@counterpoint/core/perfdata';
import { isRaw, makeAttr } from '@counterpoint/core/records';
import { AuxWriter } from '@counterpoint/core/ring';
import { areaOf, ENDED } from '../../../test/aux-kernel.ts';
import { AuxSys } from '../../../test/aux-sys.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';
import { inPerfsWords, printedAttrs } from '../../../test/printed-attrs.ts';
import { type Planned, type PlannedAttr, PtMachine } from '../../../test/pt-machine.ts';
import { TRACE_PMUS } from '../../../test/trace-pmus.ts';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';
import { CAP_PERFMON, type KernelFiles } from '../../kernel/probe/index.ts';
import { type RecordOptions, record } from '../record/index.ts';
import { armSpe, csEtm, intelBts, type OpenTrace, type TraceSource } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'trace-sources-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function cannot(): string | false {
  if (spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status !== 0)
    return 'no mount namespace can be made here';
  return perfIsMissing();
}

const SPE_SAMPLES = 'IP|TID|TIME|CPU|DATA_SRC|IDENTIFIER';
type Words = Readonly<Record<string, string | undefined>>;

/** What perf is asked, and we. */
const BTS: readonly (readonly [words: readonly string[], request: RecordOptions])[] = [
  [['-e', 'intel_bts//'], { events: 'intel_bts//', perThread: true }],
  [['-e', 'intel_bts//u', '-m', ',64K'], { events: 'intel_bts//u', traceBytes: 65_536, perThread: true }],
];

/** On Arm, by perf's sources. */
const ARM: readonly (readonly [request: RecordOptions, expected: Words])[] = [
  [{ events: 'arm_spe_0//u' }, { config: '0x1', sample_period: '256', sample_type: SPE_SAMPLES }],
  [{ events: 'arm_spe_0/ts_enable=0/u' }, { config: undefined, sample_type: SPE_SAMPLES }],
  [
    { events: 'arm_spe_0/pa_enable,load_filter,min_latency=10/u' },
    { config: '0x200000003', config2: '0xa', sample_type: `${SPE_SAMPLES}|PHYS_ADDR` },
  ],
  [{ events: 'arm_spe_0/period=1000/u' }, { sample_period: '1000' }],
  [{ events: 'arm_spe_0//u', period: 5000 }, { sample_period: '5000' }],
  [{ events: 'cs_etm//u' }, { config: '0x10004000', config2: undefined, sample_period: '1' }],
  [{ events: 'cs_etm/timestamp=0/u' }, { config: '0x4000', sample_type: 'IP|TID|TIME|CPU|IDENTIFIER' }],
  [{ events: 'cs_etm/contextid=0,retstack/u' }, { config: '0x30000000' }],
  [{ events: 'cs_etm/@tmc_etr0/u' }, { config: '0x10004000', config2: '0x12ab34cd' }],
  [{ events: 'cs_etm/cycacc,sinkid=7/u' }, { config: '0x10005000', config2: '0x7' }],
];

const REFUSED: readonly (readonly [request: RecordOptions, code: string, message?: RegExp])[] = [
  [{ events: 'intel_bts//u' }, 'ERR_TRACE_EVENT', /threads of a CPU/],
  [{ events: 'intel_bts//u', perThread: true, traceBytes: 4096 }, 'ERR_AUX_AREA'],
  [{ events: '{intel_bts//u,branch-misses:u}', perThread: true, traceSampleBytes: 4096 }, 'ERR_TRACE_EVENT'],
  [{ events: 'intel_bts//u', perThread: true, traceSnapshots: 'when-asked' }, 'ERR_TRACE_EVENT', /snapshots/],
  [{ events: 'arm_spe_0/freq=100/u' }, 'ERR_TRACE_EVENT', /frequency/],
  [{ events: 'arm_spe_0//u', traceBytes: 4096 }, 'ERR_AUX_AREA'],
  [{ events: '{arm_spe_0//u,branch-misses:u}', traceSampleBytes: 4096 }, 'ERR_TRACE_EVENT'],
  [{ events: 'arm_spe_0/@sink/u' }, 'ERR_EVENT_OPTION'],
  [{ events: 'cs_etm/@nosuch/u' }, 'ERR_TRACE_TERM', /no sink nosuch/],
  [{ events: 'cs_etm/@tmc_etr0,@tmc_etr1/u' }, 'ERR_TRACE_TERM', /more than one sink/],
  [{ events: 'intel_pt/@tmc_etr0/u' }, 'ERR_EVENT_OPTION'],
  [{ events: 'cs_etm//u', perThread: true }, 'ERR_PER_THREAD'],
];
/** perf refuses so many of the first, too. */
const ALSO_BY_PERF = [
  ['-e', 'intel_bts//u'],
  ['--per-thread', '-e', 'intel_bts//u', '-m', ',4K'],
  ['--per-thread', '-e', '{intel_bts//u,branch-misses:u}', '--aux-sample'],
];

describe('machines that have them', { skip: cannot(), timeout: 120_000 }, () => {
  let machine: PtMachine;
  let plans: Planned[];
  const planOf = (request: RecordOptions) => plans[REQUESTS.indexOf(request)]!;
  const eventOf = (request: RecordOptions): PlannedAttr => {
    const plan = planOf(request);
    assert.ok(Array.isArray(plan), `${request.events}: ${JSON.stringify(plan)}`);
    return plan[0]!;
  };
  const REQUESTS = [
    ...BTS.map(([, request]) => request),
    ...ARM.map(([one]) => one),
    ...REFUSED.map(([one]) => one),
  ];
  before(() => {
    machine = new PtMachine(folder, TRACE_PMUS);
    plans = machine.plans(REQUESTS);
  });

  test('events of Intel BTS have the attr that perf prints, and the times of their records; their areas its sizes', () => {
    for (const [words, request] of BTS) {
      const text = machine.perfRecord(['--per-thread', ...words]);
      const [theirs] = printedAttrs(text);
      assert.equal(theirs?.['type'], '9', text);
      assert.equal(theirs['sample_type'], 'IP|TID|IDENTIFIER');
      const event = eventOf(request);
      const expected = { ...theirs, sample_type: 'IP|TID|TIME|IDENTIFIER' };
      assert.deepEqual(inPerfsWords(event.attr), inPerfsWords(expected), words.join(' '));
      assert.equal(event.aux!.sizeBytes, Number(/^AUX area mmap length (\d+)$/m.exec(text)?.[1]));
    }
  });

  test('Arm SPE has times and the least interval, CoreSight times, ids of processes and the sink that was named', () => {
    for (const [request, expected] of ARM) {
      const { attr, aux } = eventOf(request);
      const words = inPerfsWords(attr);
      assert.equal(words['freq'], undefined);
      for (const [name, value] of Object.entries(expected))
        assert.equal(words[name], value, `${request.events} ${name}`);
      assert.equal(aux!.sizeBytes, 4 << 20);
    }
  });

  test('what they cannot do is refused', () => {
    for (const [request, code, message = /./] of REFUSED) {
      const plan = planOf(request);
      assert.ok(!Array.isArray(plan), `${request.events}`);
      assert.equal(plan.code, code, `${request.events}: ${plan.message}`);
      assert.match(plan.message, message);
    }
    for (const words of ALSO_BY_PERF)
      assert.deepEqual(printedAttrs(machine.perfRecord(words)), [], words.join(' '));
  });
});

/** The same tree, for what asks for no attr. */
function treeOf(files: Readonly<Record<string, string>>, release = '6.1.0-18-arm64'): KernelFiles {
  const root = '/sys/bus/event_source/devices/';
  const texts = new Map([
    ...Object.entries(files).map(([path, text]) => [`${root}${path}`, text] as const),
    ['/proc/sys/kernel/osrelease', release],
  ]);
  return {
    read: (path) => texts.get(path) ?? null,
    obstacle: (path) => (texts.has(path) ? null : 'ENOENT'),
    link: () => null,
    list: (path) => [
      ...new Set(
        [...texts.keys()].flatMap((one) =>
          one.startsWith(`${path}/`) ? [one.slice(path.length + 1).split('/')[0]!] : [],
        ),
      ),
    ],
  };
}

function openTrace(more: Partial<OpenTrace> = {}): OpenTrace {
  const eventPage = new ArrayBuffer(4096);
  const page = new DataView(eventPage);
  page.setUint32(MMAP_PAGE_CAPABILITIES, MMAP_CAP_USER_TIME_ZERO, true);
  page.setUint16(MMAP_PAGE_TIME_SHIFT, 10, true);
  page.setUint32(MMAP_PAGE_TIME_MULT, 341, true);
  page.setBigUint64(MMAP_PAGE_TIME_ZERO, 12345n, true);
  return { eventPage, switches: 2, isSnapshot: true, filter: '', cpus: [0, 1], ...more };
}

/** Names and values of AUXTRACE_INFO, as perf dumps them out of a file. */
function dumpedInfo(source: TraceSource, type: number, config: bigint): string[] {
  const attr = makeAttr({ type, config, flags: { sampleIdAll: 1 } });
  const info = source.info({ attr } as PlannedEvent, openTrace());
  const path = join(folder, 'info.data');
  writeFileSync(path, writePerfData({ attrs: [{ attr, name: 'traced', ids: [1n] }], records: [info] }));
  const { stdout } = spawnSync('perf', ['report', '-D', '-i', path], { encoding: 'utf8' });
  const [, lines] = /PERF_RECORD_AUXTRACE_INFO type: \d+\n((?:[ \t]+\S.*\n)+)/.exec(stdout) ?? [];
  assert.ok(lines !== undefined, stdout);
  return lines
    .trim()
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '));
}

test('perf reads what AUXTRACE_INFO says of each source', { skip: perfIsMissing() }, () => {
  assert.deepEqual(dumpedInfo(intelBts(), 9, 0n), [
    'PMU Type 9',
    'Time Shift 10',
    'Time Muliplier 341',
    'Time Zero 12345',
    'Cap Time Zero 1',
    'Snapshot mode 1',
  ]);
  assert.deepEqual(dumpedInfo(armSpe(treeOf(TRACE_PMUS)), 10, 1n), ['PMU Type 10']);
  const registers = ['TRCIDR0 28000ea1', 'TRCIDR1 4100f403', 'TRCIDR2 488', 'TRCIDR8 5', 'TRCAUTHSTATUS cc'];
  const config = (1n << 8n) | (1n << 12n) | (1n << 14n) | (1n << 28n) | (1n << 29n);
  assert.deepEqual(dumpedInfo(csEtm(treeOf(TRACE_PMUS)), 11, config), [
    'Header version 1',
    'PMU type/num cpus b00000002',
    'Snapshot 1',
    'Magic number 4040404040404040',
    'CPU 0',
    'NR_TRC_PARAMS 7',
    'TRCCONFIGR 1858',
    'TRCTRACEIDR 10',
    ...registers,
    'Magic number 5050505050505050',
    'CPU 1',
    'NR_TRC_PARAMS 8',
    'TRCCONFIGR 1858',
    'TRCTRACEIDR 12',
    ...registers,
    'TRCDEVARCH 47705a13',
  ]);
});

test('where the kernel gives trace ids while it traces, CoreSight says that they are not known', () => {
  const words = (release: string, config: bigint) => {
    const attr = makeAttr({ type: 11, config });
    const { data } = csEtm(treeOf(TRACE_PMUS, release)).info(
      { attr } as PlannedEvent,
      openTrace({ cpus: [0] }),
    );
    return [...new BigUint64Array(data.buffer)];
  };
  const [version, , , , , count, , id, ...registers] = words('6.3.0', 1n << 15n);
  assert.deepEqual([version, count, id], [2n, 8n, 0x8000_0010n]);
  assert.equal(registers.at(-1), 2n ** 64n - 1n);
  // The id of a process in the register of virtual machines.
  assert.equal(words('6.3.0', 1n << 15n)[6], 0x8080n);
  assert.equal(words('6.2.16-x', 0n)[0], 1n);
  assert.equal(words('10.0', 0n)[0], 2n);
});

test('a tracer that has no times or ids of processes is refused where they are wanted', () => {
  const refusal = (changed: Readonly<Record<string, string | undefined>>, name = 'cs_etm//u') => {
    const all: Record<string, string | undefined> = { ...TRACE_PMUS, ...changed };
    const files = Object.fromEntries(
      Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined),
    );
    const attr = makeAttr({ type: 11, flags: {} });
    const event = { requestedName: name, attr } as PlannedEvent;
    const request = { snapshotBytes: 0, sampleBytes: 0, isPrivileged: true, pageBytes: 4096 };
    try {
      csEtm(treeOf(files)).plan(event, request, { name, pmu: 'cs_etm', options: {} } as ParsedEvent);
    } catch (error) {
      return (error as Error).message;
    }
    return null;
  };
  assert.equal(refusal({}), null);
  assert.match(refusal({ 'cs_etm/cpu1/trcidr/trcidr0': '0x00000ea1' })!, /CPU 1 has no times/);
  assert.equal(refusal({ 'cs_etm/cpu1/trcidr/trcidr0': '0x00000ea1' }, 'cs_etm/timestamp=0/u'), null);
  assert.match(
    refusal({ 'cs_etm/cpu0/trcidr/trcidr2': '0x8' })!,
    /CPU 0 has no ids of processes \(CONTEXTIDR_EL1\)/,
  );
  const virtual = { 'cs_etm/format/contextid': 'config:15' };
  assert.match(refusal(virtual)!, /CONTEXTIDR_EL2/);
  const size32 = { 'cs_etm/cpu0/trcidr/trcidr2': '0x20001000', 'cs_etm/cpu1/trcidr/trcidr2': '0x20001000' };
  assert.equal(refusal({ ...virtual, ...size32 }), null);
  assert.match(refusal({ 'cs_etm/cpu0/trcidr/trcidr0': undefined })!, /CPU 0 is an ETMv3/);
});

test('Intel BTS: an area for each thread, and its branches stand one behind the other in the file', async () => {
  const [one, other] = readdirSync('/proc/self/task').map(Number);
  const sys = new AuxSys();
  sys.capabilities = 1n << BigInt(CAP_PERFMON);
  const path = join(folder, 'bts.data');
  const event: ParsedEvent = {
    name: 'intel_bts//u',
    attr: makeAttr({ type: 9, flags: { excludeKernel: 1, excludeHv: 1 } }),
    group: null,
    isLeader: true,
    periodGiven: false,
    pmu: 'intel_bts',
    options: {},
  };
  const written = new Map<number, bigint[]>();
  const { traceBytes, loss } = await record({
    tids: [one!, other!],
    perThread: true,
    events: [event],
    output: path,
    sys,
    mmapPages: 1,
    traceBytes: 8192,
    flushIntervalMs: 0,
    onStart: () => {
      for (const [at, cpu] of sys.cpus.entries()) {
        const words: bigint[] = [];
        written.set([one!, other!][at]!, words);
        const writer = new AuxWriter(areaOf(cpu.ring, cpu.area!), { onRecord() {}, wake() {} });
        let head = 0;
        // As the driver does: where no more branch fits, zeros are left up to the end of the area.
        const put = (bytes: Uint8Array) => {
          writer.begin();
          assert.equal(writer.write(bytes), bytes.length);
          writer.end();
          head += bytes.length;
        };
        for (let branch = 1; branch <= 1000; branch++) {
          const values = [branch, branch + 1, at].map(BigInt);
          words.push(...values);
          put(new Uint8Array(BigUint64Array.from(values).buffer));
          if (8192 - (head % 8192) < 24) put(new Uint8Array(8192 - (head % 8192)));
          if (branch % 100 === 0) sys.wake();
        }
        Atomics.store(cpu.control, ENDED, 1);
      }
      sys.wake(sys.events.map(({ fd }) => fd));
    },
  });
  assert.deepEqual(loss, []);
  const file = new Uint8Array(readFileSync(path));
  const found = new Map<number, bigint[]>();
  for await (const { record: piece, fileOffset } of readRecords(await openPerfData(memorySource(file)))) {
    if (isRaw(piece) || piece.type !== PERF_RECORD_AUXTRACE) continue;
    assert.equal(piece.cpu, -1);
    const from = fileOffset + 48;
    const words = new BigUint64Array(file.slice(from, from + Number(piece.dataSize)).buffer);
    found.set(piece.tid, [...(found.get(piece.tid) ?? []), ...words]);
  }
  assert.deepEqual(found, written);
  assert.ok(traceBytes >= 2 * 1000 * 24);
  // Each branch is where perf looks for it.
  assert.match(perf('script', '-D', '-i', path), /PERF_RECORD_AUXTRACE size/);
});
