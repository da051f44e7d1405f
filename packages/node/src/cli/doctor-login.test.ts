import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Check, type Examination, kernelSetting, readKernelFile } from '../probe/index.ts';

/*
 * The lines that doctor gives for a login, run as they are, and a user who then logs in with their password.
 *
 * All of it is in a mount namespace: /etc is a copy on a tmpfs, and so are Node and its file capabilities. They end with
 * the process that holds the namespace, which ends with its standard input, however this one ends.
 */

const USER = 'counterpoint-ada';
const PASSWORD = 'correct horse 7';
/** `nobody`, who knows the password: root needs none, and su from root gives no capabilities. */
const OTHER = 65534;
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

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
  /** Doctor's checks, said to the user after a login. */
  const atLogin = (user = USER): Map<string, Check> => {
    const doctor = `${node} ${place}/app/bin/counterpoint.js doctor --json`;
    const login = ['setpriv', `--reuid=${OTHER}`, '--clear-groups', 'su', '-l', user, '-c', doctor];
    const { checks } = JSON.parse(inside(login, `${PASSWORD}\n`)) as Examination;
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
      mount -t tmpfs -o mode=755 tmpfs ${place}
      cp -a /etc ${place}/etc
      mount --bind ${place}/etc /etc
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
    const [install, line, file, ...rest] = commandsOf(checkBefore);
    assert.match(install!, /^apt-get install libpam-cap /);
    assert.equal(line, `sed -i '1i cap_perfmon,cap_syslog ${USER}' /etc/security/capability.conf`);
    assert.equal(file, `setcap cap_perfmon,cap_syslog=ei ${node}`);
    assert.deepEqual(rest, []);
    if (isBound) assert.equal(atLogin().get('kernel code')!.state, 'forbidden');

    inside(['sh', '-c', line]);
    const between = atLogin().get('capabilities')!;
    assert.deepEqual(between.facts!['inheritable'], ['CAP_PERFMON', 'CAP_SYSLOG']);
    assert.deepEqual([between.state, between.fix], ['forbidden', `As root: ${file}`]);

    inside(['sh', '-c', file!]);
    const checks = atLogin();
    assert.deepEqual(checks.get('capabilities')!.facts!['effective'], ['CAP_PERFMON', 'CAP_SYSLOG']);
    assert.match(checks.get('rights')!.why, /this process may everything/);
    for (const name of ['recording', 'capabilities', 'kernel code', 'whole CPUs'])
      assert.equal(checks.get(name)!.state, 'ok', name);
    if ((kernelSetting('kptr_restrict') ?? 2) < 2) assert.equal(checks.get('kernel symbols')!.state, 'ok');

    const other = atLogin(`${USER}-2`).get('capabilities')!;
    assert.deepEqual([other.state, other.facts!['effective']], ['forbidden', []]);
  });
});
