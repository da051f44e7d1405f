import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import { applyFilter, type ParsedEvent, parseEvents } from '@counterpoint/core/events';
import { makeAttr, readAttr } from '@counterpoint/core/records';
import { systemEventLookup } from '../local-pmus/index.ts';
import { textAt } from '../sys/ffi.ts';
import { Fd, realSys, type Sys, SysError } from '../sys/index.ts';
import { COUNTING_FALLBACKS, fallBack } from './fallback.ts';
import { explainOpenError } from './open-error.ts';
import { beyondAttr, openPlannedEvent } from './open-event.ts';
import type { PermissionError } from './permission-error.ts';
import type { PlannedEvent } from './planned-event.ts';

/** Opens nothing, and tells what it was given. */
function watchingSys(seen: { attr?: Uint8Array; target?: string; filter?: string }, failFilter = false): Sys {
  return {
    ...realSys,
    perfEventOpen(attr) {
      seen.attr = attr.slice();
      const { config1 } = readAttr(new DataView(attr.buffer, attr.byteOffset), 0, attr.length, true);
      if (config1 !== 0n) seen.target = textAt(config1);
      return new Fd(-1);
    },
    setFilter(_fd, filter) {
      if (failFilter) throw new CounterpointError('EINVAL', 'not taken', 'Take another.');
      seen.filter = filter;
    },
  };
}

test('a probe’s attr points to its file while it is opened, and stays as it was', () => {
  const seen: { attr?: Uint8Array; target?: string } = {};
  const attr = makeAttr({ type: 8, config: 1n, config2: 0x40n });
  const probe = {
    kind: 'uprobe',
    target: '/usr/lib/ünïcode.so',
    offset: 0x40n,
    isReturn: true,
    symbol: 'f',
  } as const;
  openPlannedEvent(watchingSys(seen), { attr, probe }, 0, -1, null);
  assert.equal(seen.target, '/usr/lib/ünïcode.so');
  assert.equal(attr.config1, 0n);
});

test('a filter is set before anything counts; without one the kernel is not asked', () => {
  const seen: { filter?: string } = {};
  openPlannedEvent(watchingSys(seen), { attr: makeAttr({ type: 2 }), filter: 'prev_pid == 1' }, 0, -1, null);
  assert.equal(seen.filter, 'prev_pid == 1');
  const none: { filter?: string } = {};
  openPlannedEvent(watchingSys(none), { attr: makeAttr({ type: 2 }) }, 0, -1, null);
  assert.equal(none.filter, undefined);
});

test('an event of another CPU is refused', () => {
  const event: ParsedEvent = {
    name: 'skx::X',
    attr: makeAttr(),
    group: null,
    isLeader: true,
    periodGiven: false,
    foreignPmu: 'Intel Skylake X',
    options: {},
  };
  assert.throws(
    () =>
      openPlannedEvent(realSys, { ...event, requestedName: event.name, ...beyondAttr(event) }, 0, -1, null),
    (error) =>
      error instanceof CounterpointError &&
      error.code === 'ERR_FOREIGN_EVENT' &&
      /--encode/.test(error.remedy),
  );
  const { foreignPmu: _, ...own } = event;
  assert.deepEqual(beyondAttr(own), { probe: null, filter: null, foreignPmu: null });
});

test('who may not set a probe is told that no sysctl helps', () => {
  const refused = { name: 'uprobe:/bin/sh:main', attr: makeAttr({ type: 8 }), task: 0, paranoid: -1 };
  const limits = { descriptorsNeeded: 1, descriptorLimit: 1024 };
  const told = (name: string, capabilities: bigint, kernelRelease: string) =>
    explainOpenError(new SysError('perf_event_open', 13), {
      ...refused,
      name,
      ...limits,
      standing: { capabilities, kernelRelease },
    });
  const perfmon = 1n << 38n;
  const kprobe = told('kprobe:do_exit', 0n, '6.18.44');
  assert.match(kprobe.message, /functions of the kernel .*only CAP_PERFMON allows it/);
  assert.equal(kprobe.remedy, 'Run it as root or with CAP_PERFMON.');
  // CAP_PERFMON sufficed for uprobes from Linux 5.8 to 6.15, and to the stable kernels of July 2025.
  assert.match(told(refused.name, 0n, '6.1.0-37-amd64').message, /only CAP_PERFMON allows it/);
  assert.match(told(refused.name, 0n, '6.1.0-37-amd64').remedy, /July 2025 require CAP_SYS_ADMIN/);
  assert.match(told(refused.name, 0n, '6.18.44').message, /only CAP_SYS_ADMIN allows it/);
  const held = told(refused.name, perfmon, '6.12.40') as PermissionError;
  assert.match(held.message, /requires CAP_SYS_ADMIN; CAP_PERFMON is not enough/);
  assert.equal(held.remedy, 'Run it as root or with CAP_SYS_ADMIN.');
  assert.equal(held.missingCapability, 'CAP_SYS_ADMIN');
});

test('who has every right is not told to become root', () => {
  const standing = { capabilities: (1n << 41n) - 1n, kernelRelease: '6.18.44' };
  const error = explainOpenError(new SysError('perf_event_open', 1), {
    name: 'ftrace:function',
    attr: makeAttr({ type: 2, config: 1n }),
    task: 0,
    paranoid: 2,
    descriptorsNeeded: 1,
    descriptorLimit: 1024,
    standing,
  }) as PermissionError;
  assert.match(error.message, /not let even privileged users watch tracepoints in this manner \(EPERM\)/);
  assert.match(error.remedy, /ftrace:function/);
  assert.doesNotMatch(error.remedy, /as root/);
  assert.equal(error.missingCapability, null);
});

test('a task that has ended, and a group that is too large, are named', () => {
  const refused = {
    name: 'cs',
    attr: makeAttr({ type: 1 }),
    task: 77,
    paranoid: 2,
    descriptorsNeeded: 1,
    descriptorLimit: 9,
  };
  const { ESRCH, E2BIG } = constants.errno;
  const ended = explainOpenError(new SysError('perf_event_open', ESRCH), refused);
  assert.equal(ended.code, 'ERR_NO_PROCESS');
  assert.match(ended.message, /77 has ended/);
  const told = (isMember: boolean) =>
    explainOpenError(new SysError('perf_event_open', E2BIG), { ...refused, isMember }).code;
  assert.deepEqual([told(true), told(false)], ['ERR_GROUP_SIZE', 'ERR_KERNEL_TOO_OLD']);
});

const tracepoints = systemEventLookup();
const skip =
  typeof tracepoints.tracepoint('syscalls', 'sys_enter_getppid') === 'number'
    ? false
    : 'no tracepoints for us';

test('a filter lets through what it says', { skip }, () => {
  const count = (filter: string | null) => {
    const events = parseEvents('syscalls:sys_enter_kill', tracepoints);
    if (filter !== null) applyFilter(events, filter, tracepoints);
    const [event] = events;
    using fd = openPlannedEvent(realSys, { attr: event!.attr, ...beyondAttr(event!) }, 0, -1, null);
    for (let call = 0; call < 10; call++) process.kill(process.pid, 0);
    const value = new BigUint64Array(1);
    realSys.read(fd, new Uint8Array(value.buffer));
    return Number(value[0]);
  };
  assert.equal(count(null), 10);
  assert.equal(count('sig == 0'), 10);
  assert.equal(count('sig != 0'), 0);
  assert.equal(count(`pid == ${process.pid} && sig < 1`), 10);
});

/** An event that is only counted. */
function plannedEvent(
  name: string,
  attr: PlannedEvent['attr'],
  tracepoint: PlannedEvent['tracepoint'],
): PlannedEvent {
  const rest = { leader: null, cpus: null, mostPrecise: false, changes: [], isSideband: false };
  return { requestedName: name, name, attr, tracepoint, ...rest };
}

test('user space only stands behind a name as a modifier of its own, or beside those that are there', () => {
  const left = (text: string): string => {
    const [event] = parseEvents(text, systemEventLookup());
    const planned = plannedEvent(event!.name, event!.attr, null);
    assert.ok(fallBack(planned, 'EACCES', { paranoid: 2 }, [], COUNTING_FALLBACKS));
    return planned.name;
  };
  assert.equal(left('cs'), 'cs:u');
  assert.equal(left('cycles:pp'), 'cycles:ppu');
  assert.equal(left('mem:0x1000:rw'), 'mem:0x1000:rw:u');
  assert.equal(left('mem:0x1000'), 'mem:0x1000:u');
  const tracepoint = { system: 'sched', name: 'sched_switch' };
  const traced = plannedEvent('sched:sched_switch', makeAttr({ type: 2 }), tracepoint);
  fallBack(traced, 'EACCES', { paranoid: 2 }, [], COUNTING_FALLBACKS);
  assert.equal(traced.name, 'sched:sched_switch:u');
});
