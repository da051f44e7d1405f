/** The hardware's own record: asked for where a machine has it, refused with the reason where it has not. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import {
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_REGS_ABI_64,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_WEIGHT,
  PERF_TYPE_HARDWARE,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import { BodyWriter, encodeRecord, makeAttr, type Sample, SampleLayout } from '@counterpoint/core/records';
import type { KernelFiles } from '../../kernel/probe/index.ts';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { preciseFormat } from '../formats/built-in/precise.ts';
import { record } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-precise-'));
after(() => rmSync(folder, { recursive: true }));

const DEVICES = '/sys/bus/event_source/devices';

/** PMUs by name, with what their driver says of its precision. */
function machine(pmus: Readonly<Record<string, { type: number; maxPrecise?: number }>>): KernelFiles {
  return {
    read: (path) => {
      const [pmu = '', ...rest] = path.slice(DEVICES.length + 1).split('/');
      const found = pmus[pmu];
      if (rest.join('/') === 'type') return found === undefined ? null : `${found.type}\n`;
      return found?.maxPrecise === undefined ? null : `${found.maxPrecise}\n`;
    },
    obstacle: () => null,
    link: () => null,
    list: (path) => (path === DEVICES ? Object.keys(pmus).sort() : []),
  };
}

const INTEL = machine({ cpu: { type: 4, maxPrecise: 3 }, software: { type: 1 } });

const event = (name: string, type: number, config = 0n): ParsedEvent => ({
  name,
  attr: makeAttr({ type, config }),
  group: null,
  isLeader: true,
  periodGiven: false,
  options: {},
});
const CYCLES = event('cycles', PERF_TYPE_HARDWARE);

function recordWith(
  files: KernelFiles,
  {
    events = [CYCLES],
    options = {},
    sys = new FakeSys(),
    onStart = () => {},
  }: {
    events?: ParsedEvent[];
    options?: Record<string, unknown>;
    sys?: FakeSys;
    onStart?: () => void;
  } = {},
) {
  return record({
    pids: [process.pid],
    cpus: [0],
    events,
    formats: [{ format: preciseFormat(files), options }],
    output: join(folder, 'perf.data'),
    sys,
    onStart: () => {
      onStart();
      sys.wake(sys.events.map(({ fd }) => fd));
    },
  });
}

describe('precise', () => {
  test("the kernel is asked for all that the hardware's record has, and what it writes is in the file", async () => {
    const sys = new FakeSys();
    const sample: Sample = {
      ...{ ip: 0x1234n, pid: process.pid, tid: process.pid, time: 5n, period: 1n },
      ...{ addr: 0xdead_beefn, weight: 321n, dataSource: 0x68_1005_0142n },
    };
    const written = (): void => {
      const [opened] = sys.events;
      const layout = new SampleLayout(opened!.attr);
      const count = layout.interruptRegisterCount;
      const registers = Array.from({ length: count }, (_, index) => BigInt(index));
      const writer = new BodyWriter();
      const full = {
        ...sample,
        identifier: opened!.id,
        interruptRegisters: { abi: PERF_SAMPLE_REGS_ABI_64, registers },
      };
      const header = {
        type: PERF_RECORD_SAMPLE,
        misc: PERF_RECORD_MISC_USER,
        tail: new Uint8Array(0),
      } as const;
      encodeRecord(writer, { ...header, sample: full }, layout);
      sys.rings.get(opened!.fd)!.write(writer.take());
    };
    const result = await recordWith(INTEL, { sys, options: { registers: true }, onStart: written });
    const { attr } = sys.events[0]!;
    const wanted = BigInt(
      PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_REGS_INTR,
    );
    assert.equal(attr.sampleType & wanted, wanted);
    assert.equal(attr.flags.preciseIp, 3);
    assert.equal(result.samples, 1);
    const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(join(folder, 'perf.data')))));
    const samples: Sample[] = [];
    for await (const { record: one } of readRecords(reader)) if ('sample' in one) samples.push(one.sample);
    const [{ addr, weight, dataSource, interruptRegisters }] = samples as [Sample];
    assert.deepEqual([addr, weight, dataSource], [sample.addr, sample.weight, sample.dataSource]);
    assert.equal(interruptRegisters!.registers[3], 3n);
  });

  test('fewer fields, another level, the PMU with records of its own', async () => {
    const sys = new FakeSys();
    await recordWith(INTEL, { sys, options: { level: 1, weight: false, source: false } });
    const { attr } = sys.events[0]!;
    assert.equal(attr.flags.preciseIp, 1);
    assert.equal(attr.sampleType & BigInt(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC), 0n);
    const amd = machine({ cpu: { type: 4, maxPrecise: 0 }, ibs_op: { type: 11 } });
    const ibs = new FakeSys();
    await recordWith(amd, { sys: ibs, events: [event('ibs_op//', 11)] });
    assert.equal(ibs.events[0]!.attr.flags.preciseIp, 2);
    await assert.rejects(recordWith(amd), { code: 'ERR_NOT_PRECISE', remedy: /ibs_op\/\// });
  });

  test('refused with the reason', async () => {
    const refused = (files: KernelFiles, message: RegExp, events = [CYCLES], options = {}) =>
      assert.rejects(recordWith(files, { events, options }), { code: 'ERR_NOT_PRECISE', message });
    await refused(machine({ software: { type: 1 } }), /no hardware counters/);
    await refused(machine({ cpu: { type: 4, maxPrecise: 0 } }), /caps\/max_precise is 0/);
    await refused(machine({ armv8_pmuv3_0: { type: 8 } }), /armv8_pmuv3_0 .*caps\/max_precise is absent/);
    await refused(INTEL, /in software/, [event('page-faults', 1, 2n)]);
    await refused(INTEL, /tracepoint/, [event('sched:sched_switch', 2, 300n)]);
    await refused(machine({ cpu: { type: 4, maxPrecise: 2 } }), /to level 2, not 3/, [CYCLES], { level: 3 });
  });

  test('a kernel that refuses it after all gets no clock instead', async () => {
    const sys = new FakeSys();
    sys.refuseOpen = ({ attr }) => (attr.flags.preciseIp > 0 ? 'EOPNOTSUPP' : null);
    await assert.rejects(recordWith(INTEL, { sys }), { code: 'ERR_NOT_PRECISE' });
    const invalid = new FakeSys();
    invalid.refuseOpen = ({ attr }) => (attr.flags.preciseIp > 0 ? 'EINVAL' : null);
    await assert.rejects(recordWith(INTEL, { sys: invalid }), /cycles/);
  });
});
