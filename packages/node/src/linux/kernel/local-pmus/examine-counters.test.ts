import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PERF_TYPE_HARDWARE } from '@counterpoint/core/abi';
import { type CpuIdentity, cpuidKey, describePmu } from '@counterpoint/core/pmus';
import { type KernelFiles, readStanding } from '../probe/index.ts';
import { FakeSys } from '../sys/fake-sys.ts';
import { type Fd, liveHandles } from '../sys/index.ts';
import { checkCounters, checkUserReads, currentCpu } from './examine-counters.ts';
import { checkPmus } from './examine-pmus.ts';

/**
 * A core whose counters count everything; some may be taken, and those beyond are
 * in error, as the kernel has it.
 */
class CountersSys extends FakeSys {
  free: number;
  readonly #running = new Set<number>();

  constructor(free: number) {
    super();
    this.free = free;
    this.refuseOpen = ({ attr }) => (attr.config === 9n ? 'ENOENT' : null);
  }

  override read(fd: Fd, into: Uint8Array): number {
    const { attr } = this.event(fd.number);
    assert.deepEqual([attr.type, attr.flags.pinned, attr.flags.disabled], [PERF_TYPE_HARDWARE, 1, 0]);
    if (!this.#running.has(fd.number) && this.#running.size >= this.free) return 0;
    this.#running.add(fd.number);
    return super.read(fd, into);
  }
}

/** An AMD core before CPUID says more: six general counters of 48 bits. */
function identity(more: Partial<CpuIdentity> = {}): CpuIdentity {
  return {
    architecture: 'x86',
    vendor: 'AuthenticAMD',
    family: 0x17,
    model: 0x31,
    stepping: 0,
    modelName: 'AMD EPYC 7452',
    flags: new Set(['perfctr_core', 'perfctr_nb']),
    cpuid: new Map([[cpuidKey(0), { eax: 0x10, ebx: 0, ecx: 0, edx: 0 }]]),
    midr: null,
    pmu: 'cpu',
    pmuType: 4,
    pmuEvents: null,
    capabilities: new Map(),
    kernelLog: null,
    nmiWatchdog: false,
    ...more,
  };
}

function files(texts: Record<string, string> = {}, links: Record<string, string> = {}): KernelFiles {
  const paths = [...Object.keys(texts), ...Object.keys(links)];
  return {
    read: (path) => texts[path] ?? null,
    obstacle: (path) => (texts[path] === undefined ? 'ENOENT' : null),
    link: (path) => links[path] ?? null,
    list: (folder) => [
      ...new Set(
        paths
          .filter((path) => path.startsWith(`${folder}/`))
          .map((path) => path.slice(folder.length + 1).split('/')[0]!),
      ),
    ],
  };
}

function place(machine = files(), cpus: readonly number[] | null = null) {
  return { files: machine, standing: readStanding(new FakeSys(), machine), cpu: 1, cpusOf: () => cpus };
}

describe('counters free and taken', () => {
  test('all free', () => {
    const sys = new CountersSys(6);
    const { state, why, fix, facts } = checkCounters(sys, [identity()], place());
    assert.deepEqual([state, fix, facts!['free'], facts!['taken']], ['ok', '', 6, 0]);
    assert.match(why, /^6 of 6 free now on CPU 1/);
    assert.equal((facts!['counters'] as unknown[]).length, describePmu(identity())!.counters.length);
    assert.deepEqual(liveHandles(), []);
    assert.equal(sys.closed.length, sys.events.length);
  });

  test('the watchdog has one, others two: each is told how to get them back', () => {
    const machine = files({ '/proc/708/comm': 'perf' }, { '/proc/708/fd/3': 'anon_inode:[perf_event]' });
    const { state, why, fix, facts } = checkCounters(
      new CountersSys(3),
      [identity({ nmiWatchdog: true })],
      place(machine),
    );
    assert.deepEqual(
      [state, facts!['free'], facts!['taken'], facts!['holders']],
      ['ok', 3, 3, ['perf (708)']],
    );
    assert.match(why, /3 taken by the NMI watchdog and pinned events of whole CPUs \(.*perf \(708\)\)/);
    assert.match(fix, /nmi_watchdog=0\n.*without pinned/);
  });

  test('none is left', () => {
    assert.equal(checkCounters(new CountersSys(0), [identity()], place()).state, 'forbidden');
  });

  test('a core that is not described, one that this thread is not on, and none', () => {
    const unknown = checkCounters(
      new CountersSys(4),
      [identity({ architecture: 'other', vendor: null })],
      place(),
    );
    assert.deepEqual([unknown.state, unknown.facts!['free'], unknown.facts!['taken']], ['ok', 4, null]);
    assert.equal(checkCounters(new CountersSys(4), [identity()], place(files(), [0, 2])).state, 'absent');
    assert.equal(checkCounters(new CountersSys(4), [identity({ pmuType: null })], place()).state, 'absent');
  });

  test('what refuses is explained, and nothing stays open', () => {
    const sys = new CountersSys(6);
    sys.refuseOpen = () => 'EACCES';
    assert.equal(checkCounters(sys, [identity()], place()).state, 'forbidden');
    sys.refuseOpen = () => 'ENOENT';
    assert.equal(checkCounters(sys, [identity()], place()).state, 'absent');
    assert.deepEqual(liveHandles(), []);
  });

  test('of two kinds of core the events say which', () => {
    const sys = new CountersSys(6);
    checkCounters(
      sys,
      [identity({ pmu: 'cpu_core', pmuType: 8 }), identity({ pmu: 'cpu_atom', pmuType: 9 })],
      place(),
    );
    assert.equal(sys.events[0]!.attr.config >> 32n, 8n);
  });
});

test('reads in user space: the setting of the architecture, and how it is changed', () => {
  const rdpmc = '/sys/bus/event_source/devices/cpu/rdpmc';
  const access = '/proc/sys/kernel/perf_user_access';
  assert.equal(checkUserReads([identity()], files({ [rdpmc]: '1' })).state, 'ok');
  assert.match(checkUserReads([identity()], files({ [rdpmc]: '0' })).fix, /echo 1 > .*rdpmc/);
  const arm = [identity({ architecture: 'arm64', pmu: 'armv8_pmuv3_0' })];
  assert.equal(checkUserReads(arm, files({ [access]: '1' })).state, 'ok');
  assert.equal(checkUserReads(arm, files({ [access]: '0' })).fix, 'sysctl kernel.perf_user_access=1');
  assert.equal(checkUserReads(arm, files()).state, 'unknown');
  assert.equal(checkUserReads([identity({ pmuType: null })], files()).state, 'absent');
});

test('every PMU is there, with what it counts', () => {
  const devices = '/sys/bus/event_source/devices';
  const names = ['cpu', 'power', 'uncore_imc_0', 'brand_new'];
  const machine = files(Object.fromEntries(names.map((name, at) => [`${devices}/${name}/type`, String(at)])));
  const { state, facts, more } = checkPmus(machine, [identity()]);
  assert.equal(state, 'ok');
  const pmus = facts!['pmus'] as { name: string; counts: string; type: number }[];
  assert.deepEqual(
    pmus.map(({ name, type }) => [name, type]),
    names.map((name, at) => [name, at]),
  );
  assert.match(pmus[0]!.counts, /the core: AMD.*6 general \(48 bits\)/);
  assert.match(pmus[2]!.counts, /outside of the cores/);
  assert.match(pmus[3]!.counts, /counterpoint list/);
  assert.equal(more!.length, names.length);
  assert.equal(checkPmus(files(), []).state, 'absent');
});

test('the CPU of a thread whose name has brackets and spaces', () => {
  const fields = Array.from({ length: 50 }, (_, at) => (at === 36 ? 5 : 900 + at)).join(' ');
  assert.equal(currentCpu(files({ '/proc/thread-self/stat': `12 (a) b (c) ${fields}` })), 5);
});
