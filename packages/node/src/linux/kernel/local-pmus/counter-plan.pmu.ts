import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { MMAP_PAGE_INDEX } from '@counterpoint/core/abi';
import { assignCounters, describePmu, type PmuModel } from '@counterpoint/core/pmus';
import { encodeAttr, makeAttr, type PerfEventAttr } from '@counterpoint/core/records';
import { spinCpu } from '../../../test/until-told.ts';
import { type Fd, liveHandles, realSys, SysError } from '../sys/index.ts';
import { readCpuIdentities } from './cpu-identity.ts';

// What the models say against what the kernel does with real counters.

writeFileSync('/proc/sys/kernel/perf_user_access', '1');
afterEach(() => assert.deepEqual(liveHandles(), []));

/** Shows the counter's index in the event's page. */
const USER_ACCESS = 2n;
/** 64 bits of two 32-bit counters. */
const LONG = 1n;
const FORMAT_TIMES = 3n;

function model(): PmuModel {
  const [identity] = readCpuIdentities();
  return describePmu(identity!)!;
}

/** Cycles by the PMU's own code, the only event that this emulated core counts. */
function cycles(pmu: PmuModel, config1 = USER_ACCESS): PerfEventAttr {
  return makeAttr({
    type: pmu.pmuType!,
    config: 0x11n,
    config1,
    readFormat: FORMAT_TIMES,
    flags: { disabled: 1 },
  });
}

/**
 * Open events on this thread until one is refused; in a group, or each alone. The kernel leaves disabled
 * events out when it looks whether a group fits (drivers/perf/arm_pmu.c, validate_event), so a leader
 * that is to be checked is enabled.
 */
function openAll(
  attrs: readonly PerfEventAttr[],
  inGroup: boolean,
  disabled = 0,
): { fds: Fd[]; error: string | null } {
  const fds: Fd[] = [];
  for (const attr of attrs) {
    const leader = inGroup && fds.length > 0 ? fds[0]! : null;
    const flags = { ...attr.flags, disabled: leader === null ? disabled : 0 };
    try {
      fds.push(realSys.perfEventOpen(encodeAttr({ ...attr, flags }), 0, -1, leader));
    } catch (error) {
      return { fds, error: error instanceof SysError ? error.code : String(error) };
    }
  }
  return { fds, error: null };
}

/** Share of the enabled time in which the event was counted. */
function shareOf(fd: Fd): number {
  const value = new BigUint64Array(3);
  realSys.read(fd, new Uint8Array(value.buffer));
  return Number(value[2]!) / Number(value[1]!);
}

function planGroup(pmu: PmuModel, attrs: readonly PerfEventAttr[]) {
  return assignCounters(
    pmu,
    attrs.map((attr, index) => ({ name: `cycles ${index}`, attr, group: 1 })),
  );
}

test('the core, its counters and its event are as the kernel says', () => {
  const pmu = model();
  assert.match(pmu.title, /Cortex-A57/);
  assert.equal(pmu.counters.length, 7);
  assert.deepEqual(
    pmu.events.map(({ name, terms }) => `${name} ${terms}`),
    ['cpu_cycles event=0x11'],
  );
});

test('a group of seven is on the planned counters', () => {
  const pmu = model();
  const attrs = Array.from({ length: 7 }, () => cycles(pmu));
  const plan = planGroup(pmu, attrs);
  const { fds, error } = openAll(attrs, true);
  try {
    assert.equal(error, null);
    const actual = fds.map((fd) => {
      using page = realSys.mapEventPage(fd);
      return new DataView(page.buffer).getUint32(MMAP_PAGE_INDEX, true);
    });
    const planned = plan.events.map((event) =>
      event.kind === 'counter' ? pmu.counters[event.counters[0]!]!.pageIndex : event.kind,
    );
    assert.deepEqual(actual, planned);
  } finally {
    for (const fd of fds) fd.close();
  }
});

for (const [what, config1, count] of [
  ['narrow', 0n, 7],
  ['long', LONG, 4],
] as const) {
  test(`${count} ${what} events in a group count; one more is refused, or never counts`, () => {
    const pmu = model();
    const attrs = Array.from({ length: count }, () => cycles(pmu, config1));
    const more = [...attrs, cycles(pmu, config1)];
    assert.ok(planGroup(pmu, attrs).events.every(({ kind }) => kind === 'counter'));
    assert.ok(planGroup(pmu, more).events.every(({ kind }) => kind === 'unschedulable'));

    const fitting = openAll(attrs, true);
    spinCpu(50);
    const shares = fitting.fds.map(shareOf);
    for (const fd of fitting.fds) fd.close();
    assert.deepEqual([fitting.error, Math.min(...shares)], [null, 1]);

    const refused = openAll(more, true);
    for (const fd of refused.fds) fd.close();
    assert.deepEqual([refused.fds.length, refused.error], [count, 'EINVAL']);

    const waiting = openAll(more, true, 1);
    if (waiting.error === null) realSys.enable(waiting.fds[0]!);
    spinCpu(50);
    const never = waiting.fds.map(shareOf);
    for (const fd of waiting.fds) fd.close();
    assert.deepEqual([waiting.error, Math.max(...never)], [null, 0]);
  });
}

test('nine events alone take turns as long as planned', () => {
  const pmu = model();
  const attrs = Array.from({ length: 9 }, () => cycles(pmu));
  const plan = assignCounters(
    pmu,
    attrs.map((attr, index) => ({ name: `cycles ${index}`, attr, group: null })),
  );
  const { fds, error } = openAll(attrs, false);
  try {
    assert.equal(error, null);
    // A busy host takes some of the guest's ticks, each of which is a turn: 0.12 of a share
    // was seen at a load of 12.
    spinCpu(3000);
    const shares = fds.map(shareOf);
    for (const [index, share] of shares.entries()) {
      assert.ok(
        Math.abs(share - plan.groups[index]!.share) < 0.15,
        `${index}: ${share}, ${plan.groups[index]!.share}`,
      );
    }
  } finally {
    for (const fd of fds) fd.close();
  }
});
