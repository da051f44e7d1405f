import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { PERF_TYPE_HARDWARE } from '@counterpoint/core/abi';
import { FakeSys, liveHandles, realSys } from '../sys/index.ts';
import {
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  canMonitorAll,
  checkDescriptors,
  checkNode,
  checkPerfMaps,
  examineMachine,
  kernelSetting,
  readKernelFile,
} from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const check = (sys: FakeSys, name: string) => {
  const found = examineMachine(sys, 2).checks.find((one) => one.name === name);
  assert.ok(found !== undefined, name);
  return found;
};

test('capabilities: CAP_PERFMON, or CAP_SYS_ADMIN, which implies it', () => {
  assert.equal(canMonitorAll(0n), false);
  assert.equal(canMonitorAll(1n << BigInt(CAP_PERFMON)), true);
  assert.equal(canMonitorAll(1n << BigInt(CAP_SYS_ADMIN)), true);
  assert.equal(canMonitorAll(~0n ^ (1n << BigInt(CAP_PERFMON)) ^ (1n << BigInt(CAP_SYS_ADMIN))), false);
});

test('files of the kernel: a value, or null', () => {
  assert.ok(kernelSetting('pid_max')! > 0);
  assert.equal(kernelSetting('no_such_setting'), null);
  assert.equal(readKernelFile('/proc/no/such/file'), null);
});

describe('examineMachine', () => {
  test('on this machine: every check has a state, and what is not well says why', () => {
    const { type, version, checks, canRecord } = examineMachine(realSys, 2);
    assert.deepEqual([type, version], ['doctor', 1]);
    for (const { name, state, why } of checks) {
      assert.ok(['ok', 'absent', 'forbidden', 'unknown'].includes(state), name);
      assert.ok(why.length > 0, name);
    }
    assert.equal(new Set(checks.map(({ name }) => name)).size, checks.length);
    assert.equal(canRecord, checks[0]!.state === 'ok');
    assert.ok(JSON.stringify(checks).length > 0);
  });

  test('an event that opens but gives nothing is not called well', () => {
    const examination = examineMachine(new FakeSys(), 2);
    assert.equal(examination.canRecord, false);
    assert.equal(examination.checks[0]!.state, 'unknown');
  });

  test('no perf events at all is told from no permission and from no such hardware', () => {
    const sys = new FakeSys();
    sys.refuseOpen = () => 'ENOSYS';
    assert.match(check(sys, 'recording').why, /ENOSYS/);
    sys.refuseOpen = () => 'EACCES';
    assert.equal(check(sys, 'recording').state, 'forbidden');
    assert.notEqual(check(sys, 'recording').fix, '');
    sys.refuseOpen = ({ attr }) => (attr.type === PERF_TYPE_HARDWARE ? 'ENOENT' : null);
    const hardware = check(sys, 'hardware counters');
    assert.equal(hardware.state, 'absent');
    assert.match(hardware.why, /cpu-clock/);
    assert.equal(check(sys, 'kernel code').state, 'ok');
    sys.refuseOpen = ({ pid }) => (pid === -1 ? 'EACCES' : null);
    assert.equal(check(sys, 'whole CPUs').state, 'forbidden');
  });

  test('no room for a ring is about locked memory', () => {
    const sys = new FakeSys();
    sys.refuseMmap = () => 'EPERM';
    assert.match(check(sys, 'recording').fix, /mlock/);
  });
});

test('limits of open files, versions of Node, a folder for perf maps', () => {
  const sys = new FakeSys();
  assert.equal(checkDescriptors(sys, 8).state, 'ok');
  assert.equal(checkDescriptors(sys, 4096).state, 'forbidden');
  for (const [version, state] of [
    ['20.19.0', 'ok'],
    ['24.1.0', 'ok'],
    ['20.18.9', 'absent'],
    ['18.20.0', 'absent'],
  ] as const) {
    assert.equal(checkNode(version).state, state);
  }
  assert.equal(checkPerfMaps('/no/such/folder').state, 'forbidden');
});
