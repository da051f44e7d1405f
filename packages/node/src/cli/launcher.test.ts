import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { examineMachine } from '../linux/kernel/probe/index.ts';
import { realSys } from '../linux/kernel/sys/index.ts';
import { noPidNamespace } from '../test/pid-namespace.ts';
import { generalHelp, verbHelp } from './common/help.ts';
import { helpTexts, VERBS } from './main.ts';
import { TOPICS } from './topics.ts';

test('the build writes down the help of every verb', async () => {
  const texts = new Map(await helpTexts());
  assert.equal(texts.get('counterpoint'), generalHelp(VERBS, TOPICS));
  for (const { name, load } of VERBS) assert.equal(texts.get(name), verbHelp((await load()).default));
  for (const { name, load } of TOPICS) assert.equal(texts.get(name), await load());
  assert.equal(texts.size, VERBS.length + TOPICS.length + 1);
});

test('the launcher shows help that is written down, and gives all else to Node', () => {
  const root = mkdtempSync(join(tmpdir(), 'counterpoint launcher-'));
  try {
    for (const folder of ['package/bin', 'package/dist/help', 'bin'])
      mkdirSync(join(root, folder), { recursive: true });
    copyFileSync(new URL('../../bin/counterpoint', import.meta.url), join(root, 'package/bin/counterpoint'));
    const program = 'console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 7;';
    writeFileSync(join(root, 'package/bin/counterpoint.js'), program);
    writeFileSync(join(root, 'package/dist/help/counterpoint.txt'), 'general\n');
    writeFileSync(join(root, 'package/dist/help/record.txt'), 'of record\n');
    symlinkSync('../package/bin/counterpoint', join(root, 'bin/counterpoint'));
    const run = (...words: string[]) => {
      const { stdout, status } = spawnSync(join(root, 'bin/counterpoint'), words, { encoding: 'utf8' });
      return [stdout, status];
    };
    for (const words of [['--help'], ['-h'], ['help']]) assert.deepEqual(run(...words), ['general\n', 0]);
    for (const words of [
      ['record', '--help'],
      ['record', '-h'],
      ['help', 'record'],
    ]) {
      assert.deepEqual(run(...words), ['of record\n', 0]);
    }
    // As long as it may be, a reader that goes away is no error; also where nobody ends
    // cat (SIGPIPE is ignored).
    writeFileSync(join(root, 'package/dist/help/report.txt'), 'report\n'.repeat(1 << 16));
    for (const first of [':', "trap '' PIPE"]) {
      const script = `${first}; { "$0" report --help; echo $? >&2; } | true`;
      const { stderr } = spawnSync('sh', ['-c', script, join(root, 'bin/counterpoint')], {
        encoding: 'utf8',
      });
      assert.equal(stderr, '0\n', first);
    }
    const full = spawnSync('sh', ['-c', '"$0" record --help >/dev/full', join(root, 'bin/counterpoint')]);
    assert.deepEqual([full.status, /No space left/.test(String(full.stderr))], [1, true]);
    for (const words of [
      ['recrod', '--help'],
      ['../help/record', '--help'],
      ['record', '--', 'a b', '--help'],
      [''],
    ]) {
      assert.deepEqual(run(...words), [`${JSON.stringify(words)}\n`, 7]);
    }
  } finally {
    rmSync(root, { recursive: true });
  }
});

const LAUNCHER = fileURLToPath(new URL('../../bin/counterpoint', import.meta.url));

function skipReason(): string | false {
  if (!existsSync(new URL('../../dist/cli.js', import.meta.url))) return 'not built: npm run build';
  const { canRecord, checks } = examineMachine(realSys, 1);
  return canRecord ? false : `no recording here: ${checks[0]!.why}`;
}

/** The command as recorded by the launcher, through the shells that may be /bin/sh. */
describe('a recorded command is as it would be without us', { skip: skipReason() }, () => {
  const shells = ['sh', 'bash --posix', 'busybox sh'].filter(
    (shell) => spawnSync(shell.split(' ')[0]!, ['-c', ':']).error === undefined,
  );
  const root = mkdtempSync(join(tmpdir(), 'counterpoint-launched-'));
  // `env` may start Node: without --no-js its environment would have NODE_OPTIONS.
  const record = ['record', '-q', '--no-js', '-e', 'cpu-clock:u', '-o', join(root, 'x.data'), '--'];
  /** What `command` prints when a shell runs it after `prepare`, alone or recorded. */
  const run = (prepare: string, words: string[], env: NodeJS.ProcessEnv) => {
    const script = `${prepare}\nexec "$@"`;
    const { stdout, stderr, status } = spawnSync('/bin/sh', ['-c', script, 'sh', ...words], {
      env,
      cwd: root,
    });
    assert.equal(status, 0, stderr.toString());
    return stdout.toString();
  };
  /** Files and directories of the launcher; others may run at the same time, but not for a second. */
  const leftovers = async (before: readonly string[]) => {
    for (let tries = 0; ; tries++) {
      const found = saved().filter((name) => !before.includes(name));
      if (found.length === 0 || tries === 20) return found;
      await setTimeout(100);
    }
  };
  const saved = () => readdirSync('/dev/shm').filter((name) => name.startsWith('counterpoint-'));
  const here = { PATH: process.env['PATH'], PWD: root };

  for (const shell of shells) {
    test(`${shell}: its environment`, { skip: !existsSync('/dev/shm') }, async () => {
      const before = saved();
      for (const env of [
        { ...here, SHLVL: '3', here: '1', verb: '2' },
        { PATH: here.PATH, OLDPWD: '/x' },
        { ...here, PWD: '/nowhere' },
        { ...here, 'a.b': '1', 'x-y': '2', 'BASH_FUNC_f%%': '() { echo;\n}', IFS: ',', lines: '\n\n-n\n' },
        { ...here, COUNTERPOINT_LAUNCHER: '1 2 3 /etc/passwd' },
        { ...here, 'a.b': '1', constructor: '2', toString: '3', hasOwnProperty: '4' },
      ]) {
        // `env` itself sets it to exactly these, whatever the shells in between are.
        const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
        const launched = ['env', '-i', ...words, ...shell.split(' '), LAUNCHER, ...record, 'env', '-0'];
        const entries = run('', launched, process.env)
          .split('\0')
          .filter((entry) => !entry.startsWith('_='));
        const isMarker = (word: string) => word.startsWith('COUNTERPOINT_LAUNCHER=');
        assert.deepEqual(entries.sort(), ['', ...words.filter((word) => !isMarker(word))].sort());
      }
      // Nothing stays where Node does not even start.
      spawnSync('env', [
        '-i',
        `PATH=${here.PATH}`,
        'a.b=1',
        'NODE_OPTIONS=--nonsense',
        LAUNCHER,
        ...record,
        'true',
      ]);
      assert.deepEqual(await leftovers(before), []);
    });

    test(`${shell}: its ignored signals and its limit of open files`, () => {
      const words = ['sh', '-c', 'grep SigIgn /proc/self/status; ulimit -n; ulimit -H -n'];
      for (const prepare of ["trap '' HUP INT USR1", 'ulimit -S -n 200', '']) {
        const alone = run(prepare, words, process.env);
        assert.equal(run(prepare, [...shell.split(' '), LAUNCHER, ...record, ...words], process.env), alone);
      }
    });
  }

  /** Who has which descriptors, and what comes out of them. */
  const show = ['sh', '-c', 'ls /proc/self/fd; for fd; do eval "cat <&$fd"; done', 'sh'];
  const handed = join(root, 'handed');
  writeFileSync(handed, 'handed\n');

  /** What the command shows without a launcher, which is the same for each shell. */
  const shownAlone = new Map<string, string>();
  const aloneOf = (words: string[]) => {
    const key = words.join('\0');
    const shown = shownAlone.get(key) ?? run('', words, process.env);
    shownAlone.set(key, shown);
    return shown;
  };

  for (const shell of shells) {
    test(`${shell}: descriptors that were handed to us, and none of ours`, () => {
      for (const [opens, fds] of [
        ['5<"$f"', ['5']],
        ['3<"$f"', ['3']],
        ['3<"$f" 4<"$f" 9<"$f"', ['3', '9']],
        // None is left for what holds the command, and the shells' own begin at 10.
        ['3<"$f" 4<"$f" 5<"$f" 6<"$f" 7<"$f" 8<"$f" 9<"$f" 10<"$f" 70<"$f"', ['3', '9']],
      ] as const) {
        for (const odd of [[], ['env', 'a.b=1']]) {
          // bash opens such high ones.
          const bash = ['bash', '-c', `f=$0; exec ${opens} "$@"`, handed, ...odd];
          const alone = aloneOf([...bash, ...show, ...fds]);
          assert.match(alone, /handed\n$/);
          const launched = [...bash, ...shell.split(' '), LAUNCHER, ...record, ...show, ...fds];
          assert.equal(run('', launched, process.env), alone, `${opens} ${odd.join(' ')}`);
        }
      }
    });
  }

  test('they come through every verb that starts a command', () => {
    for (const verb of [
      'stat -o out.txt -e task-clock',
      'record -q -o x.data',
      'off-cpu',
      'flight -q',
      'loop',
    ]) {
      const text =
        'const { readFileSync, writeFileSync } = require("node:fs"); writeFileSync("got", readFileSync(5));';
      const words = [LAUNCHER, ...verb.split(' '), '--', process.execPath, '-e', text];
      rmSync(join(root, 'got'), { force: true });
      run('', ['sh', '-c', 'exec 5<"$0" "$@"', handed, ...words], process.env);
      assert.equal(readFileSync(join(root, 'got'), 'utf8'), 'handed\n', verb);
    }
  });

  test("they are make's jobserver, a shell's substitution, and the sockets of a service", {
    skip:
      ['make', 'bash'].some((tool) => spawnSync(tool, ['--version']).error !== undefined) &&
      'no make, no bash',
  }, () => {
    writeFileSync(join(root, 'Makefile'), 'all: ; +@$(RECORD) $(MAKE) -f below.mk 2>&1\n');
    writeFileSync(join(root, 'below.mk'), 'all: ; @echo built\n');
    const make = ['make', '-s', '--no-print-directory', '-j2'];
    const recorded = run('', [...make, `RECORD=${[LAUNCHER, ...record].join(' ')}`], process.env);
    assert.equal(recorded, 'built\n');
    const substitution = ['bash', '-c', '"$@" <(echo substituted)', 'bash', LAUNCHER, ...record, 'cat'];
    assert.equal(run('', substitution, process.env), 'substituted\n');
    for (const odd of [[], ['env', 'a.b=1']]) {
      const service = 'export LISTEN_PID=$$ LISTEN_FDS=1; f=$0; exec 3<"$f" "$@"';
      const says = 'echo $((LISTEN_PID - $$)) $LISTEN_FDS; cat <&3';
      const words = ['sh', '-c', service, handed, ...odd, LAUNCHER, ...record, 'sh', '-c', says];
      assert.equal(run('', words, process.env), '0 1\nhanded\n');
    }
  });

  for (const shell of shells) {
    test(`${shell}: in a pid namespace that has the /proc outside of it`, { skip: noPidNamespace() }, () => {
      // There its number is that of another process.
      const inside = ['unshare', '--pid', '--fork', 'env', 'a.b=kept'];
      const launcher = [...shell.split(' '), LAUNCHER, ...record];
      const prepare = "trap '' USR1; ulimit -n 500";
      const limits = ['sh', '-c', 'grep SigIgn /proc/self/status; ulimit -n; ulimit -H -n'];
      const alone = run(prepare, [...inside, ...limits], process.env);
      assert.match(alone, /\n500\n500\n$/);
      assert.equal(run(prepare, [...inside, ...launcher, ...limits], process.env), alone);
      const entries = run(prepare, [...inside, ...launcher, 'env', '-0'], process.env).split('\0');
      assert.ok(entries.includes('a.b=kept') && entries.includes(`PATH=${here.PATH}`), entries.join('\n'));
    });
  }

  test('under nohup a hangup ends neither, and SIGQUIT leaves a complete file', () => {
    const data = join(root, 'nohup.data');
    // Not before it records: Node begins with signals as they are by default, whatever its parent has set.
    const begun = `n=0; until [ -e '${data}' ] || [ $n -gt 200 ]; do sleep 0.05; n=$((n+1)); done`;
    const script = `rm -f '${data}'; "$@" & ${begun}; kill -$SIGNAL $!; wait $!; echo $?`;
    const words = [LAUNCHER, 'record', '-q', '-e', 'cpu-clock:u', '-o', data, '--'];
    const shell = ['/bin/sh', '-c', script, 'sh'];
    assert.equal(
      run("trap '' HUP", [...shell, ...words, 'sleep', '1.2'], { ...process.env, SIGNAL: 'HUP' }),
      '0\n',
    );
    assert.equal(run('', [...shell, ...words, 'sleep', '30'], { ...process.env, SIGNAL: 'QUIT' }), '131\n');
    // Finished: the header states the size of the records.
    assert.notEqual(readFileSync(data).readBigUint64LE(48), 0n);
  });

  test('npm start with words is that verb, where npm was called', () => {
    const start = fileURLToPath(new URL('../../../../scripts/start.mjs', import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [start, 'pt', 'dump', 'absent.pt'], {
      encoding: 'utf8',
      env: { ...process.env, INIT_CWD: root },
    });
    assert.equal(status, 1, stdout);
    assert.match(stderr, /^counterpoint: cannot open absent\.pt: no such file or directory$/m);
  });

  test('too few open files: one line that says so, and what to do', () => {
    const { status, stderr } = spawnSync('/bin/sh', [
      '-c',
      'ulimit -n 20; exec "$@"',
      'sh',
      LAUNCHER,
      'doctor',
    ]);
    assert.equal(status, 1);
    assert.match(stderr.toString(), /^counterpoint: .*fewer than 32 files.*\n {2}Raise .*ulimit -n.*\n$/);
  });

  test.after(() => rmSync(root, { recursive: true }));
});
