/** NODE_OPTIONS of the command: read as Node reads it, and only ever added to. Node itself is the judge. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { openRecording } from '../../../host/open/index.ts';
import { commandLineProcess } from '../../../test/command-line.ts';
import { javascriptStack } from '../../../test/javascript-stack.ts';
import { nodePrograms } from '../../../test/node-versions.ts';
import { nodeAsNobody, noNobody } from '../../../test/ordinary-user.ts';
import { SPIN_CPU_SOURCE } from '../../../test/until-told.ts';
import { examineMachine } from '../../kernel/probe/index.ts';
import { realSys } from '../../kernel/sys/index.ts';
import { nodeOptionsForNames } from './node-names.ts';
import { nodeOptionWords } from './node-options.ts';
import { record } from './record.ts';

const FLAGS = '--perf-basic-prof --interpreted-frames-native-stack';
const directory = mkdtempSync(join(tmpdir(), 'counterpoint-node-options-'));
after(() => rmSync(directory, { recursive: true }));

const titles: readonly string[] = [
  '--title=plain',
  '--title="a  b"',
  '--title=a"  b "c',
  '  --no-warnings   --title=after ',
  String.raw`"--title=say \"hi\" to C:\\x"`,
  String.raw`--title=back\slash`,
  '--title=tab\tinside',
  '--title=new\nline',
  '--title=a"" ""--no-warnings',
];
const refused: readonly string[] = ['--title="open', '--title="x\\', '"'];

/** The title that Node has by this, or null where it does not start. */
function titleOf(NODE_OPTIONS: string): string | null {
  const words = ['-p', 'JSON.stringify(process.title)'];
  // V8 opens a log in the working directory.
  const options = { cwd: directory, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS } } as const;
  const { status, stdout, pid } = spawnSync(process.execPath, words, options);
  rmSync(`/tmp/perf-${pid}.map`, { force: true });
  return status === 0 ? JSON.parse(stdout) : null;
}

const forNames = (NODE_OPTIONS: string) =>
  nodeOptionsForNames(process.execPath, directory, { nodeNames: true, launch: { env: { NODE_OPTIONS } } }, [])
    ?.text ?? null;

describe('NODE_OPTIONS', () => {
  for (const text of titles)
    test(`${JSON.stringify(text)} is read as Node reads it, and stays so with more behind it`, () => {
      const title = titleOf(text);
      assert.ok(title !== null, 'Node does not start');
      const said = nodeOptionWords(text)?.findLast((word) => word.startsWith('--title='));
      assert.equal(said?.slice('--title='.length), title);
      const longer = forNames(text)!;
      assert.equal(longer, `${text} ${FLAGS}`);
      assert.equal(titleOf(longer), title);
    });

  for (const text of refused)
    test(`${JSON.stringify(text)}: Node refuses it, and it is left to Node to say so`, () => {
      assert.deepEqual([titleOf(text), nodeOptionWords(text), forNames(text)], [null, null, null]);
    });

  test('empty and all blank', () => {
    assert.deepEqual(nodeOptionWords('   '), []);
    assert.deepEqual([forNames(''), forNames('  ')], [FLAGS, `   ${FLAGS}`]);
    assert.notEqual(titleOf(forNames('  ')!), null);
  });

  for (const [given, added] of [
    ['--perf-basic-prof', '--interpreted-frames-native-stack'],
    ['--perf_basic_prof --interpreted_frames_native_stack', null],
    ['"--perf-basic-prof" "--interpreted-frames-native-stack"', null],
    ['--perf-basic-prof-only-functions', '--interpreted-frames-native-stack'],
    ['--perf-prof', '--interpreted-frames-native-stack'],
    ['--no-perf-basic-prof', '--interpreted-frames-native-stack'],
    ['--no-interpreted-frames-native-stack', '--perf-basic-prof'],
    ['--title="--perf-basic-prof "', FLAGS],
  ] as const)
    test(`${given}: what the user decided stays`, () => {
      assert.equal(forNames(given), added === null ? null : `${given} ${added}`);
      assert.notEqual(titleOf(forNames(given) ?? given), null);
    });

  const { canRecord } = examineMachine(realSys, 1);
  test('where the directory cannot be written, the output of the command is its own', {
    skip: process.getuid?.() !== 0 && 'needs root, for a mount',
  }, () => {
    const readOnly = join(directory, 'read-only');
    mkdirSync(readOnly);
    const script = `${SPIN_CPU_SOURCE} function hot() { for (let i = 0; i < 1e6; i++) Math.sqrt(i); } spinCpu(300, hot); console.log("done")`;
    const output = join(directory, 'read-only.data');
    const inside = `mount -t tmpfs -o ro none '${readOnly}' && cd '${readOnly}' && exec "$@"`;
    const node = [process.execPath, ...commandLineProcess()];
    const verb = ['record', '-B', '-e', 'cpu-clock:u', '-o', output, '--', process.execPath, '-e', script];
    const words = ['--mount', 'sh', '-c', inside, 'sh', ...node, ...verb];
    const { status, stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8' });
    assert.deepEqual([status, stdout], [0, 'done\n'], stderr);
    const major = Number(process.versions.node.split('.')[0]);
    assert.match(stderr, major <= 22 ? /--perf-basic-prof-only-functions/ : /cannot be written/);
    const report = spawnSync(process.execPath, [...node.slice(1), 'report', output], {
      encoding: 'utf8',
    });
    assert.match(report.stdout, /JS:hot /);
  });

  test('where root has all rights, and nobody can make a file: the same', {
    skip: !canRecord && 'nothing can be recorded here',
  }, async () => {
    const lines = join(directory, 'lines');
    const script = `${SPIN_CPU_SOURCE} function hot() { for (let i = 0; i < 1e6; i++) Math.sqrt(i); } spinCpu(300, hot); console.log("done")`;
    const tool = join(directory, 'tool');
    writeFileSync(tool, `#!/usr/bin/env node\n${script}`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
    for (const command of [[process.execPath, '-e', script], [tool], ['sh', '-c', `node '${tool}'`]]) {
      const fd = openSync(lines, 'w');
      const output = join(directory, 'proc.data');
      const launch = { cwd: '/proc', env, stdio: ['ignore', fd, 'inherit'] as ['ignore', number, 'inherit'] };
      const { exitCode } = await record({ command, events: 'cpu-clock:u', callGraph: true, output, launch });
      closeSync(fd);
      assert.deepEqual([exitCode, readFileSync(lines, 'utf8')], [0, 'done\n'], command.join(' '));
      await using recording = await openRecording(output);
      const { profile } = await recording.profile();
      const { samples } = profile;
      const rows = Array.from({ length: samples.length }, (_, row) => samples.stack.at(row));
      assert.ok(
        rows.some((row) => javascriptStack(profile, row).includes('hot')),
        command.join(' '),
      );
    }
  });

  test('a Node of a launcher has no flag with which V8 opens a log', {
    skip: !canRecord && 'nothing can be recorded here',
  }, async () => {
    const lines = join(directory, 'lines');
    const fd = openSync(lines, 'w');
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
    const command = ['sh', '-c', 'cd /proc; node -e "console.log(process.env.NODE_OPTIONS)"'];
    const launch = { cwd: directory, env, stdio: ['ignore', fd, 'inherit'] as ['ignore', number, 'inherit'] };
    await record({ command, events: 'cpu-clock:u', output: join(directory, 'launcher.data'), launch });
    closeSync(fd);
    // Node 20 and 22 have a flag that writes a map and no log.
    const isOld = Number(process.versions.node.split('.')[0]) <= 22;
    assert.match(
      readFileSync(lines, 'utf8'),
      isOld ? /^--perf-basic-prof-only-functions \S+\n$/ : /^undefined\n$/,
    );
  });

  for (const node of nodePrograms)
    test(`${node}: behind a shell in a directory that cannot be written its output is its own`, {
      skip: !canRecord && 'nothing can be recorded here',
    }, async () => {
      const lines = join(directory, 'lines');
      const fd = openSync(lines, 'w');
      const script = join(directory, 'hot.js');
      writeFileSync(
        script,
        `${SPIN_CPU_SOURCE} function hot(n) { let sum = 0; for (let i = 0; i < n; i++) sum += Math.sqrt(i); return sum; }
         spinCpu(600, () => hot(1e4)); console.log("done")`,
      );
      const output = join(directory, 'shell.data');
      const stdio = ['ignore', fd, 'inherit'] as ['ignore', number, 'inherit'];
      const command = ['sh', '-c', `cd /proc; '${node}' '${script}'`];
      const launch = { cwd: directory, stdio };
      const { notes } = await record({ command, events: 'cpu-clock:u', callGraph: true, output, launch });
      closeSync(fd);
      assert.equal(readFileSync(lines, 'utf8'), 'done\n');
      await using recording = await openRecording(output);
      const { profile } = await recording.profile();
      const { samples } = profile;
      const stacks = Array.from({ length: samples.length }, (_, row) =>
        javascriptStack(profile, samples.stack.at(row)),
      );
      assert.ok(
        stacks.some((stack) => stack.includes('hot')) ||
          notes.some(({ text }) => text.startsWith('/proc cannot be written')),
        JSON.stringify(notes),
      );
    });

  test('a Node does not die of maps that another user has at every number: it has no such flag', {
    skip: noNobody(),
  }, () => {
    const folder = mkdtempSync('/var/tmp/counterpoint-maps-');
    try {
      const temporary = join(folder, 'tmp');
      mkdirSync(temporary);
      chmodSync(temporary, 0o1777);
      const most = Math.min(65_536, Number(readFileSync('/proc/sys/kernel/pid_max', 'utf8')));
      for (let pid = 1; pid <= most; pid++) writeFileSync(join(temporary, `perf-${pid}.map`), '');
      const script = 'console.log("done")';
      for (const command of [
        [process.execPath, '-e', script],
        ['sh', '-c', `'${process.execPath}' -e '${script}'`],
      ]) {
        const verb = ['record', '-e', 'cpu-clock:u', '-o', join(folder, 'x.data'), '--', ...command];
        const { status, stdout, stderr } = nodeAsNobody(
          [...commandLineProcess(), ...verb],
          folder,
          [],
          temporary,
        );
        assert.deepEqual([status, stdout], [0, 'done\n'], stderr);
        assert.match(stderr, /cannot write \/tmp\/perf-\d+\.map/);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('a recorded program loads a module whose path has blanks', {
    skip: !canRecord && 'nothing can be recorded here',
  }, async () => {
    const blank = join(directory, 'a  b');
    mkdirSync(blank);
    const out = join(directory, 'loaded.txt');
    const preload = join(blank, 'x.js');
    writeFileSync(preload, `require('fs').writeFileSync(${JSON.stringify(out)}, process.env.NODE_OPTIONS)`);
    const NODE_OPTIONS = `--require "${preload}"`;
    const result = await record({
      command: [process.execPath, '-e', '0'],
      output: join(directory, 'perf.data'),
      launch: {
        cwd: directory,
        env: { ...process.env, NODE_OPTIONS },
        stdio: ['ignore', 'ignore', 'inherit'],
      },
      onStart: ({ pid }) => after(() => rmSync(`/tmp/perf-${pid}.map`, { force: true })),
    });
    assert.equal(result.exitCode, 0);
    assert.ok(existsSync(out));
    assert.equal(readFileSync(out, 'utf8'), `${NODE_OPTIONS} ${FLAGS}`);
  });
});
