import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  type Check,
  type Examination,
  kernelSetting,
  RIGHTS_HELPER,
  readKernelFile,
} from '../../../linux/kernel/probe/index.ts';

/*
 * The lines that doctor gives for a login, run as they are, and a user who then logs in with
 * their password and records Node.
 *
 * All of it is in a mount namespace: /etc is a copy on a tmpfs, and so are Node and the program with
 * file capabilities. They end with the process that holds the namespace, which ends with its standard
 * input, however this one ends.
 */

const USER = 'counterpoint-ada';
const PASSWORD = 'correct horse 7';
/** `nobody`, who knows the password: root needs none, and su from root gives no capabilities. */
const OTHER = 65534;
const PACKAGE = fileURLToPath(new URL('../../../..', import.meta.url));

function skipReason(): string | false {
  if (process.getuid?.() !== 0) return 'only root can add a user';
  if (!existsSync(join(PACKAGE, 'dist/cli.js'))) return 'not built: npm run build';
  for (const [command, ...words] of [
    ['setcap', '-h'],
    ['setpriv', '--version'],
    ['nsenter', '--version'],
    ['su', '--version'],
    ['useradd', '--help'],
  ])
    if (spawnSync(command!, words).error !== undefined) return `${command} is not installed`;
  if (!/^auth\s.*pam_cap\.so/m.test(readKernelFile('/etc/pam.d/common-auth') ?? ''))
    return 'libpam-cap is not installed: apt-get install libpam-cap';
  const { status } = spawnSync('unshare', ['--mount', 'true']);
  return status === 0 ? false : 'no mount namespace can be made here';
}

describe('the lines for a login', { skip: skipReason() }, () => {
  const place = mkdtempSync(join(tmpdir(), 'counterpoint-login-'));
  const node = join(place, 'node');
  let holder: ChildProcess;

  const inside = (words: readonly string[], input = '') => {
    const enter = ['--mount', `--target=${holder.pid}`, '--', ...words];
    const { status, stdout, stderr } = spawnSync('nsenter', enter, { input, encoding: 'utf8', cwd: '/' });
    assert.equal(status, 0, `${words.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  /** What the user sees of a command line after a login. */
  const logIn = (command: string, user = USER): string => {
    const line = `PATH=${place}:$PATH; ${command}`;
    const login = ['setpriv', `--reuid=${OTHER}`, '--clear-groups', 'su', '-l', user, '-c', line];
    return inside(login, `${PASSWORD}\n`);
  };
  const counterpoint = `${place}/app/bin/counterpoint`;
  /** Doctor's checks, said to the user after a login. */
  const atLogin = (user = USER): Map<string, Check> => {
    const { checks } = JSON.parse(logIn(`${counterpoint} doctor --json`, user)) as Examination;
    return new Map(checks.map((check) => [check.name, check]));
  };
  const commandsOf = (check: Check) =>
    check.fix
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .map((line) => line.trim());

  before(async () => {
    const setup = `
      set -e
      # A map of names that root has left for a pid that comes again would end the user's Node.
      mount -t tmpfs -o mode=1777 tmpfs /tmp
      mkdir -p ${place}
      mount -t tmpfs -o mode=755 tmpfs ${place}
      cp -a /etc ${place}/etc
      mount --bind ${place}/etc /etc
      mount -t tmpfs -o mode=755 tmpfs /usr/local/lib
      for user in ${USER} ${USER}-2; do
        useradd --no-log-init --home-dir ${place}/$user --create-home --shell /bin/sh $user
        echo "$user:${PASSWORD}" | chpasswd
      done
      echo ready
      exec cat`;
    const unshared = ['--mount', '--propagation=private', 'sh', '-c', setup];
    holder = spawn('unshare', unshared, { stdio: ['pipe', 'pipe', 'inherit'] });
    const [text] = await once(holder.stdout!, 'data');
    assert.equal(String(text), 'ready\n');
    // Through the holder's own view of the tree, which this process does not have.
    const root = `/proc/${holder.pid}/root${place}`;
    cpSync(realpathSync(process.execPath), join(root, 'node'));
    for (const part of ['bin', 'dist', 'package.json'])
      cpSync(join(PACKAGE, part), join(root, 'app', part), { recursive: true });
    const entry = createRequire(import.meta.url).resolve('koffi');
    const modules = entry.slice(0, entry.lastIndexOf('/koffi/'));
    for (const folder of ['koffi', '@koromix']) {
      const from = join(modules, folder);
      if (existsSync(from)) cpSync(from, join(root, 'app/node_modules', folder), { recursive: true });
    }
    inside(['chmod', '-R', 'a+rX', `${place}/node`, `${place}/app`]);
  });

  after(async () => {
    holder.stdin!.end();
    await once(holder, 'exit');
    rmdirSync(place);
    assert.doesNotMatch(readFileSync('/etc/passwd', 'utf8'), new RegExp(USER));
    assert.deepEqual(
      readdirSync('/tmp').filter((name) => join('/tmp', name) === place),
      [],
    );
  });

  test('before, during and after: what is missing is named until the kernel is open', () => {
    const isBound = (kernelSetting('perf_event_paranoid') ?? 0) >= 2;
    const checkBefore = atLogin().get('capabilities')!;
    assert.equal(checkBefore.state, 'forbidden');
    const [install, line, helper, file, ...rest] = commandsOf(checkBefore);
    assert.match(install!, /^apt-get install libpam-cap /);
    assert.equal(line, `sed -i '1i cap_perfmon,cap_syslog ${USER}' /etc/security/capability.conf`);
    assert.equal(helper, `install -D /usr/bin/setpriv ${RIGHTS_HELPER}`);
    assert.equal(file, `setcap cap_perfmon,cap_syslog=ei ${RIGHTS_HELPER}`);
    assert.deepEqual(rest, []);
    if (isBound) assert.equal(atLogin().get('kernel code')!.state, 'forbidden');

    inside(['sh', '-c', line]);
    const between = atLogin().get('capabilities')!;
    assert.deepEqual(between.facts!['inheritable'], ['CAP_PERFMON', 'CAP_SYSLOG']);
    assert.equal(between.state, 'forbidden');
    assert.deepEqual(commandsOf(between), [helper, file]);

    inside(['sh', '-c', helper!]);
    inside(['sh', '-c', file!]);
    const checks = atLogin();
    assert.deepEqual(checks.get('capabilities')!.facts!['effective'], ['CAP_PERFMON', 'CAP_SYSLOG']);
    assert.match(checks.get('rights')!.why, /this process may do everything/);
    for (const name of ['recording', 'capabilities', 'kernel code', 'whole CPUs'])
      assert.equal(checks.get(name)!.state, 'ok', name);
    if ((kernelSetting('kptr_restrict') ?? 2) < 2) assert.equal(checks.get('kernel symbols')!.state, 'ok');

    const other = atLogin(`${USER}-2`).get('capabilities')!;
    assert.deepEqual([other.state, other.facts!['effective']], ['forbidden', []]);
  });

  test('then: Node is recorded, its functions have names, and it runs as if nobody watched', () => {
    const script = [
      'function busyWork() { let x = 0; for (let i = 0; i < 3e6; i++) x += i % 7; return x; }',
      'for (let i = 0; i < 30; i++) busyWork();',
      "const { readFileSync, writeFileSync } = require('node:fs');",
      "writeFileSync('status', readFileSync('/proc/self/status'));",
      "const told = ['TMPDIR', 'LD_LIBRARY_PATH', 'a.b'].map((name) => process.env[name]);",
      "writeFileSync('variables', told.join(' '));",
    ];
    const app = `${place}/${USER}/app.js`;
    inside(['tee', app], script.join('\n'));
    const variables = 'export TMPDIR=/tmp/. LD_LIBRARY_PATH=/nowhere; env a.b=odd';
    const said = logIn(`${variables} ${counterpoint} record -F 1000 -o perf.data -- node app.js 2>&1`);
    assert.match(said, /\([1-9]\d* samples\)/);
    assert.doesNotMatch(said, /LOST|EMPTY|no longer watched/);
    const report = logIn(`${counterpoint} report -i perf.data --sort symbol`);
    assert.match(report, /busyWork/);
    // Kernel code, too, which the right is for.
    assert.match(report, /\[k\]/);
    const facts = logIn('cat status variables');
    for (const set of ['CapPrm', 'CapEff', 'CapAmb']) assert.match(facts, new RegExp(`^${set}:\\s+0+$`, 'm'));
    assert.match(facts, /\/tmp\/\. \/nowhere odd$/);
  });

  test('a Node with the rights in its file, as older advice had it: doctor and record say what that does', () => {
    inside(['setcap', 'cap_perfmon,cap_syslog=ei', node]);
    try {
      const check = atLogin().get('capabilities')!;
      assert.match(check.why, /takes the events off every Node/);
      assert.equal(commandsOf(check)[0], `setcap -r ${node}`);
      const said = logIn(`${counterpoint} record -o perf.data -- node -e 0 2>&1`);
      assert.match(said, /\(0 samples\)/);
      assert.match(said, /has file capabilities .*so the kernel took the events/);
    } finally {
      inside(['setcap', '-r', node]);
    }
  });

  test('an image, in which nobody logs in: one command, in a container with one of the rights or both', () => {
    /**
     * What doctor says to the user as process 1 of a container with these
     * capabilities beside some usual ones.
     */
    const inContainer = (...capabilities: string[]): Check => {
      const bounding = ['-all', '+chown', '+setuid', '+setgid', ...capabilities].join(',');
      const user = [`--reuid=${USER}`, '--clear-groups', '--inh-caps=-all', `--bounding-set=${bounding}`];
      const environment = [`HOME=${place}/${USER}`, `PATH=${place}:${process.env['PATH']}`];
      const container = ['unshare', '--pid', '--fork', '--mount-proc'];
      const text = inside([
        ...[...container, 'setpriv', ...user, '--', 'env', ...environment],
        ...['sh', '-c', `exec ${counterpoint} doctor --json || true`],
      ]);
      return (JSON.parse(text) as Examination).checks.find(({ name }) => name === 'capabilities')!;
    };
    inside(['rm', '-rf', '/usr/local/lib/counterpoint']);
    inside(['mount', '-t', 'tmpfs', 'tmpfs', '/run']);
    try {
      inside(['touch', '/run/.containerenv']);
      const outside = inContainer();
      assert.match(outside.fix, /^podman run --cap-add PERFMON --cap-add SYSLOG /);
      const command = /in the image, for users other than root: (.*)$/m.exec(outside.fix)?.[1] ?? '';
      assert.equal(/without logins, for all users: (.*)$/m.exec(inContainer('+perfmon').fix)?.[1], command);
      inside(['sh', '-c', command]);
      assert.doesNotMatch(inContainer().fix, /in the image/);
      for (const [given, expected] of [
        [['+perfmon'], ['CAP_PERFMON']],
        [
          ['+perfmon', '+syslog'],
          ['CAP_PERFMON', 'CAP_SYSLOG'],
        ],
      ] as const) {
        const { state, facts, fix } = inContainer(...given);
        assert.deepEqual([state, facts!['effective']], ['ok', expected], fix);
      }
    } finally {
      inside(['umount', '/run']);
      inside(['rm', '-rf', '/usr/local/lib/counterpoint']);
    }
  });
});
