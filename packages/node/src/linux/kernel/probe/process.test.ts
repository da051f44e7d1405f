import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeSys } from '../sys/fake-sys.ts';
import { checkBpf, checkClock, checkLockdown, checkProbes } from './check-kernel.ts';
import { checkInterruptShare, checkStackDepth, checkWatchdog } from './check-limits.ts';
import { checkCapabilities, checkContainer, checkSeccomp } from './check-process.ts';
import { CAP_PERFMON, CAP_SYSLOG, type KernelFiles } from './kernel-settings.ts';
import { containerKind } from './process-facts.ts';
import { readStanding } from './rights.ts';

function files(texts: Record<string, string>, userNamespace = 'user:[4026531837]'): KernelFiles {
  return {
    read: (path) => texts[path] ?? null,
    obstacle: (path) => (texts[path] === undefined ? 'ENOENT' : null),
    link: (path) => (path === '/proc/self/ns/user' ? userNamespace : null),
    list: () => [],
  };
}

const STATUS = '/proc/self/status';
const ALL = '000001ffffffffff';
const PERFMON = 1n << BigInt(CAP_PERFMON);

interface Sets {
  readonly inheritable?: string;
  readonly permitted?: string;
  readonly ambient?: string;
  readonly bounding?: string;
  readonly user?: number;
  readonly noNewPrivileges?: 0 | 1;
  readonly seccomp?: 0 | 1 | 2;
}

function status({
  inheritable = '0',
  permitted = '0',
  ambient = '0',
  user = 1000,
  bounding = ALL,
  noNewPrivileges = 0,
  seccomp = 0,
}: Sets = {}) {
  return `Name:\tnode\nUid:\t${user}\t${user}\t${user}\t${user}\nCapAmb:\t${ambient}\nCapInh:\t${inheritable}\nCapPrm:\t${permitted}\nCapBnd:\t${bounding}\nNoNewPrivs:\t${noNewPrivileges}\nSeccomp:\t${seccomp}\nSeccomp_filters:\t1\n`;
}

describe('capabilities: the way to CAP_PERFMON is the one that is open', () => {
  const login = { user: 'ada', program: '/usr/bin/node' };
  const check = (sets: Sets, more: Record<string, string> = {}, effective = 0n, namespace?: string) => {
    const machine = files({ [STATUS]: status(sets), ...more }, namespace);
    const sys = new FakeSys();
    sys.capabilities = effective;
    return checkCapabilities(effective, machine, readStanding(sys, machine), login);
  };

  test('an ordinary user is given the lines for the login, theirs before the one for all', () => {
    const { state, fix, facts } = check({});
    assert.equal(state, 'forbidden');
    assert.match(fix, /^ {2}apt-get install libpam-cap libcap2-bin$/m);
    assert.match(fix, /^ {2}sed -i '1i cap_perfmon,cap_syslog ada' \/etc\/security\/capability\.conf$/m);
    assert.match(fix, /^ {2}install -D \/usr\/bin\/setpriv \/usr\/local\/lib\/counterpoint\/setpriv$/m);
    assert.match(fix, /^ {2}setcap cap_perfmon,cap_syslog=ei \/usr\/local\/lib\/counterpoint\/setpriv$/m);
    assert.doesNotMatch(fix, /\/node/, 'a Node with capabilities cannot be recorded');
    assert.deepEqual(facts, {
      effective: [],
      permitted: [],
      inheritable: [],
      noNewPrivileges: false,
      userNamespace: false,
    });
  });

  test('after the login only the helper is left to do', () => {
    const { fix, why } = check({ inheritable: PERFMON.toString(16) });
    assert.match(fix, /^As root:\n {2}install .*\n {2}setcap cap_perfmon,cap_syslog=ei .*setpriv$/m);
    assert.doesNotMatch(fix, /apt-get|\/node/);
    assert.match(why, /PAM has given/);
  });

  test('who has it is well; who has it only permitted is told', () => {
    const own = PERFMON | (1n << BigInt(CAP_SYSLOG));
    const sets = own.toString(16);
    for (const has of [{ user: 0 }, { permitted: sets, ambient: sets }]) {
      const { state, why, isDetail } = check(has, {}, own);
      assert.deepEqual([state, why, isDetail], ['ok', 'CAP_PERFMON, CAP_SYSLOG', true]);
    }
    assert.match(check({ permitted: own.toString(16) }).fix, /permitted, but not effective/);
  });

  test('who has it by the file of Node is told what that does to every Node', () => {
    const { state, why, fix, isDetail } = check({ permitted: PERFMON.toString(16) }, {}, PERFMON);
    assert.deepEqual([state, isDetail], ['ok', undefined]);
    assert.match(why, /takes the events off every Node/);
    assert.match(fix, /^ {2}setcap -r \/usr\/bin\/node$/m);
  });

  test('no_new_privs, a bounding set and namespaces are obstacles of their own', () => {
    assert.match(check({ noNewPrivileges: 1 }).fix, /without no_new_privs/);
    assert.match(check({ bounding: '0' }).fix, /CapabilityBoundingSet=/);
    assert.match(check({ bounding: 'a80425fb' }, { '/.dockerenv': '' }).fix, /docker run --cap-add PERFMON/);
    assert.match(check({ bounding: 'a80425fb' }, { '/run/.containerenv': '' }).fix, /podman run/);
    const image = check({}, { '/.dockerenv': '' }).fix;
    assert.match(
      image,
      /without logins, for all users: install .* && setcap cap_perfmon,cap_syslog=p .*\/setpriv$/,
    );
    const rootless = check({}, {}, PERFMON, 'user:[4026532444]');
    assert.equal(rootless.state, 'forbidden');
    assert.match(rootless.fix, /outside of the user namespace/);
  });
});

test('seccomp: none, one that lets events pass, one that does not, and not known', () => {
  const check = (seccomp: 0 | 2, trial: 'passed' | 'refused' | 'unclear', more = {}) =>
    checkSeccomp(files({ [STATUS]: status({ seccomp }), ...more }), trial);
  assert.equal(check(0, 'unclear').state, 'ok');
  assert.equal(check(2, 'passed').state, 'ok');
  assert.match(check(2, 'passed').why, /allows perf_event_open/);
  assert.equal(check(2, 'refused').state, 'forbidden');
  assert.equal(check(2, 'unclear').state, 'unknown');
  assert.match(check(2, 'refused').fix, /docker run .*seccomp=PROFILE/);
  assert.match(
    check(2, 'refused', { '/proc/1/cgroup': '0::/kubepods/besteffort/pod1' }).fix,
    /seccompProfile/,
  );
  assert.deepEqual(check(2, 'refused').facts, { seccomp: 'filter' });
  assert.equal(checkSeccomp(files({}), 'passed').state, 'unknown');
});

test('containers are known by what they leave', () => {
  for (const [place, text, kind] of [
    ['/.dockerenv', '', 'docker'],
    ['/run/.containerenv', '', 'podman'],
    ['/proc/1/cgroup', '12:pids:/docker/0123\n', 'docker'],
    ['/proc/self/cgroup', '0::/machine.slice/libpod-12.scope\n', 'podman'],
    ['/run/systemd/container', 'systemd-nspawn', 'systemd-nspawn'],
    ['/run/secrets/kubernetes.io', '', 'kubernetes'],
    ['/proc/1/cgroup', '0::/init.scope\n', null],
  ] as const) {
    const machine = files({ [place]: text });
    assert.equal(containerKind(machine), kind, `${place} ${text}`);
    assert.deepEqual(checkContainer(readStanding(new FakeSys(), machine)).facts, {
      container: kind,
      userNamespace: false,
    });
  }
});

describe('settings of the kernel', () => {
  const setting = (name: string, value: string) => files({ [`/proc/sys/kernel/${name}`]: value });
  const standing = (capabilities: bigint, machine = files({})) => {
    const sys = new FakeSys();
    sys.capabilities = capabilities;
    return readStanding(sys, machine);
  };

  test('lockdown: only confidentiality forbids', () => {
    const check = (text: string) => checkLockdown(files({ '/sys/kernel/security/lockdown': text }));
    assert.deepEqual(check('[none] integrity confidentiality').facts, { mode: 'none' });
    assert.equal(check('none [integrity] confidentiality').state, 'ok');
    assert.equal(check('none integrity [confidentiality]').state, 'forbidden');
    assert.equal(checkLockdown(files({})).state, 'ok');
    const hidden: KernelFiles = { ...files({}), obstacle: () => 'EACCES' };
    assert.equal(checkLockdown(hidden).state, 'unknown');
  });

  test('the watchdog that holds a counter, shallow stacks, the share of interrupts', () => {
    assert.match(checkWatchdog(setting('nmi_watchdog', '1')).fix, /nmi_watchdog=0/);
    assert.equal(checkWatchdog(setting('nmi_watchdog', '0')).fix, '');
    assert.deepEqual(checkWatchdog(files({})).facts, { isOn: null });
    assert.match(checkStackDepth(setting('perf_event_max_stack', '16')).fix, /max_stack=127/);
    assert.equal(checkStackDepth(setting('perf_event_max_stack', '127')).state, 'ok');
    assert.match(checkInterruptShare(setting('perf_cpu_time_max_percent', '0')).why, /no limit/);
    assert.match(checkInterruptShare(setting('perf_cpu_time_max_percent', '25')).why, /25 %/);
  });

  test('probes: which are there, and that they are for the privileged', () => {
    const both = files({
      '/sys/bus/event_source/devices/uprobe/type': '9',
      '/sys/bus/event_source/devices/kprobe/type': '8',
    });
    const sys = new FakeSys();
    // With the right the kernel misses the file, and opens nothing.
    sys.refuseOpen = () => 'EINVAL';
    assert.equal(checkProbes(sys, both, standing(PERFMON)).state, 'ok');
    assert.equal(checkProbes(sys, files({}), standing(PERFMON)).state, 'absent');
    // Linux 6.16 and stable kernels since July 2025: not with CAP_PERFMON.
    sys.refuseOpen = ({ attr }) => (attr.type === 9 ? 'EACCES' : null);
    const perfmon = checkProbes(sys, both, standing(PERFMON));
    assert.equal(perfmon.state, 'forbidden');
    assert.match(perfmon.why, /only with CAP_SYS_ADMIN/);
    assert.match(perfmon.fix, /CAP_SYS_ADMIN/);
    assert.match(checkProbes(sys, both, standing(0n)).fix, /with CAP_PERFMON\.$/);
    const newer = files({
      '/sys/bus/event_source/devices/uprobe/type': '9',
      '/proc/sys/kernel/osrelease': '6.18.44-fc',
    });
    assert.match(checkProbes(sys, newer, standing(0n)).fix, /CAP_SYS_ADMIN/);
  });

  test('BPF: not in the kernel, without its types, not for us', () => {
    const sys = new FakeSys();
    const machine = (btf: boolean) =>
      files({
        '/proc/sys/kernel/unprivileged_bpf_disabled': '2',
        ...(btf ? { '/sys/kernel/btf/vmlinux': '' } : {}),
      });
    const root = (1n << 41n) - 1n;
    assert.equal(checkBpf(sys, files({}), standing(root), root).state, 'absent');
    assert.equal(checkBpf(sys, machine(true), standing(root), root).state, 'ok');
    assert.match(checkBpf(sys, machine(false), standing(root), root).fix, /BTF/);
    assert.match(
      checkBpf(sys, machine(true), standing(PERFMON), PERFMON).fix,
      /^Run it as root, or with CAP_BPF/,
    );
    sys.refuseProgram = () => ({ errno: 'EINVAL', log: '' });
    assert.match(checkBpf(sys, machine(true), standing(root), root).fix, /CONFIG_BPF_EVENTS/);
    sys.refuseProgram = () => ({ errno: 'EPERM', log: '' });
    assert.equal(checkBpf(sys, machine(true), standing(root), root).state, 'forbidden');
    const docker = files({
      '/proc/sys/kernel/unprivileged_bpf_disabled': '2',
      '/.dockerenv': '',
      [STATUS]: status({ bounding: 'a80425fb' }),
    });
    const { fix } = checkBpf(sys, docker, standing(PERFMON, docker), PERFMON);
    assert.equal(fix, 'docker run --cap-add BPF --cap-add PERFMON');
  });

  test('a kernel that does not take another clock is told', () => {
    const sys = new FakeSys();
    assert.equal(checkClock(sys, files({}), standing(0n)).state, 'ok');
    assert.equal(sys.events[0]!.attr.clockId, 1);
    sys.refuseOpen = ({ attr }) => (attr.flags.useClockId === 1 ? 'EINVAL' : null);
    assert.equal(checkClock(sys, files({}), standing(0n)).state, 'unknown');
  });
});
