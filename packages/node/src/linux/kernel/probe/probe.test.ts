import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { PERF_TYPE_HARDWARE } from '@counterpoint/core/abi';
import { FakeSys } from '../sys/fake-sys.ts';
import { liveHandles, realSys } from '../sys/index.ts';
import { checkKernelSymbols } from './checks.ts';
import {
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  canMonitorAll,
  checkDescriptors,
  checkNode,
  checkPerfMaps,
  examineMachine,
  type KernelFiles,
  kernelSetting,
  readKernelFile,
  tracefsRemedy,
} from './index.ts';
import { checkParanoid, readStanding, type Standing } from './rights.ts';

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

/** Another machine: what its files say, over what this one's do. */
function machine(
  files: Record<string, string>,
  { user = false, namespace = false, obstacles = {} as Record<string, string> } = {},
) {
  const sys = new FakeSys();
  sys.capabilities = user ? 0n : ~0n & ((1n << 41n) - 1n);
  const kernel: KernelFiles = {
    read: (path) => files[path] ?? null,
    obstacle: (path) => obstacles[path] ?? (files[path] === undefined ? 'ENOENT' : null),
    list: () => [],
    link: () => (namespace ? 'user:[4026532444]' : 'user:[4026531837]'),
  };
  const examine = () => {
    const { checks } = examineMachine(sys, 2, kernel);
    return new Map(checks.map((one) => [one.name, one]));
  };
  return { sys, examine };
}

const PARANOID = '/proc/sys/kernel/perf_event_paranoid';
const CONFINED = { '/proc/self/status': 'Name:\tnode\nSeccomp:\t2\n' };

describe('what stands in the way is named, and not something else', () => {
  const worksFor = (standing: Partial<Standing>, canRecord = true) => {
    const nobody = {
      paranoid: 2,
      isPrivileged: false,
      isNamespaceRoot: false,
      isInNamespace: false,
      readsAll: false,
      container: null,
      hasSyslog: false,
      isConfined: false,
    };
    return checkParanoid({ ...nobody, ...standing }, canRecord);
  };

  test('a paranoid level above 2 binds only where it does: the trial decides', () => {
    for (const paranoid of [3, 4]) {
      const mainline = worksFor({ paranoid });
      assert.deepEqual([mainline.state, mainline.fix], ['ok', '']);
      assert.match(mainline.why, /as 2 on this kernel: everybody may record the user space of their own/);
      const patched = worksFor({ paranoid }, false);
      assert.equal(patched.state, 'forbidden');
      assert.match(patched.why, /nobody without CAP_PERFMON/);
      assert.doesNotMatch(worksFor({ paranoid, isPrivileged: true }).why, /nobody/);
    }
  });

  test('a hidden /proc/sys is no kernel without perf events', () => {
    const { state, why, fix } = worksFor({ paranoid: null });
    assert.deepEqual([state, fix], ['unknown', '']);
    assert.match(why, /cannot be read .* recording works/);
    assert.equal(worksFor({ paranoid: null }, false).state, 'absent');
  });

  test('root in a user namespace is not taken for root', () => {
    const { sys, examine } = machine({ [PARANOID]: '2' }, { namespace: true });
    sys.refuseOpen = ({ attr, pid }) => (attr.flags.excludeKernel === 0 || pid === -1 ? 'EACCES' : null);
    const checks = examine();
    assert.match(checks.get('rights')!.why, /root in a user namespace .* changes nothing/);
    assert.doesNotMatch(checks.get('rights')!.why, /may do everything/);
    for (const name of ['kernel code', 'whole CPUs'])
      assert.match(checks.get(name)!.fix, /as root .*outside of the user namespace/);
    assert.match(
      machine({ [PARANOID]: '2' })
        .examine()
        .get('rights')!.why,
      /may do everything/,
    );
  });

  test('seccomp that refuses root is seccomp, for every kind of event', () => {
    for (const user of [false, true]) {
      const { sys, examine } = machine({ [PARANOID]: '2', ...CONFINED }, { user });
      sys.refuseOpen = () => 'EPERM';
      const checks = examine();
      for (const name of ['recording', 'kernel code', 'whole CPUs', 'hardware counters']) {
        assert.match(checks.get(name)!.why, /seccomp/, name);
        assert.doesNotMatch(checks.get(name)!.fix, /paranoid|as root/, name);
      }
    }
    // Confined, and yet it is the level: own programs can be recorded.
    const { sys, examine } = machine({ [PARANOID]: '2', ...CONFINED }, { user: true });
    sys.refuseOpen = ({ attr }) => (attr.flags.excludeKernel === 0 ? 'EACCES' : null);
    assert.match(examine().get('kernel code')!.why, /paranoid is 2/);
  });

  test('kernel symbols: nobody is told to become what they are', () => {
    const hidden = '0000000000000000 T _text\n';
    const check = (restrict: string, facts: { user?: boolean; namespace?: boolean }) => {
      const files: KernelFiles = {
        read: (path) => (path === '/proc/sys/kernel/kptr_restrict' ? restrict : null),
        obstacle: () => 'ENOENT',
        list: () => [],
        link: () => (facts.namespace === true ? 'user:[1]' : null),
      };
      const sys = new FakeSys();
      sys.capabilities = facts.user === true ? 0n : ~0n & ((1n << 41n) - 1n);
      return checkKernelSymbols(files, readStanding(sys, files), hidden).fix;
    };
    assert.equal(check('2', {}), 'sysctl kernel.kptr_restrict=1');
    assert.match(check('2', { user: true }), /^As root: sysctl kernel.kptr_restrict=0/);
    assert.match(check('1', { user: true }), /^Run it as root or with CAP_SYSLOG, or: sysctl/);
    assert.match(check('1', { namespace: true }), /^Run it as root outside/);
  });

  test('tracepoints: not mounted, hidden, or not allowed', () => {
    const place = '/sys/kernel/tracing';
    const mounts = { '/proc/mounts': `tracefs ${place} tracefs rw 0 0\n` };
    const page = `${place}/events/header_page`;
    const check = (files: Record<string, string>, more: Parameters<typeof machine>[1]) =>
      machine(files, more).examine().get('tracepoints')!;
    assert.equal(check({ ...mounts, [page]: '' }, {}).state, 'ok');
    assert.match(check({}, {}).why, /not mounted/);
    const own = machine({});
    own.sys.tracefs.files.set('events/header_page', 'field: u64 timestamp;');
    assert.equal(own.examine().get('tracepoints')!.state, 'ok');
    assert.match(own.examine().get('tracepoints')!.why, /a mount of its own/);
    assert.match(check(mounts, {}).why, /something else is mounted over it/);
    assert.doesNotMatch(check(mounts, {}).fix, /as root/i);
    const closed = { obstacles: { [page]: 'EACCES' } };
    // The line that stat gives, too.
    assert.equal(check(mounts, { ...closed, user: true }).fix, tracefsRemedy(place));
    assert.match(check(mounts, { ...closed, namespace: true }).fix, /^Run it as root outside/);
    assert.match(check(mounts, closed).why, /not even root/);
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
