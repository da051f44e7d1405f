/**
 * `pt record`: which source it takes, the line of `record` that it is short for, and what perf reads of it.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { noAssembler } from '../../../test/assembled-program.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { PtMachine } from '../../../test/pt-machine.ts';
import { buildLoops } from '../../../test/stepped-branches.ts';

const traced = { skip: noAssembler || perfIsMissing(), timeout: 300_000 };

test('a trace in software: perf decodes each instruction that was stepped', traced, async (t) => {
  const folder = temporaryFolder(t);
  const program = buildLoops(folder, ['-O1', '-static', '-no-pie'])!;
  const output = join(folder, 'perf.data');
  const { status, err } = await counterpoint(
    'pt',
    'record',
    '--source',
    'soft_pt',
    '--on-function',
    'main',
    '-o',
    output,
    '--',
    program,
  );
  assert.equal(status, 0, err);
  assert.match(err, /pt record: by soft_pt: it steps the program, as was asked/);
  const stepped = Number(/Stepped (\d+) instructions/.exec(err.replaceAll(',', ''))?.[1]);
  assert.ok(stepped > 1000, err);
  const lines = perf('script', '-i', output, '--itrace=i1ie', '-F', 'ip').trim().split('\n');
  assert.equal(lines.length, stepped);
  const calls = await counterpoint('script', '--call-trace', '-i', output);
  assert.equal(calls.status, 0, calls.err);
  assert.match(calls.out, /inner/);
});

test('options of the other source are refused, with what there is in their place', async () => {
  for (const [words, said] of [
    [['--source', 'soft_pt', '-S'], /--snapshot is for intel_pt, and .* by soft_pt\n.*--max-size SIZE/],
    [['--source', 'soft_pt', '-a'], /--all-cpus is for intel_pt/],
    [['--source', 'soft_pt', '--kernel'], /--kernel is for intel_pt/],
    [['--source', 'soft_pt', '--filter', 'filter main @ ./prog'], /--on-function NAME/],
    [['--source', 'arm_spe'], /intel_pt/],
  ] as const) {
    const { status, err } = await counterpoint('pt', 'record', ...words, '--', 'true');
    assert.equal(status, 129, err);
    assert.match(err, said);
  }
});

test('a plan runs nothing; its line is that of record, word by word', async () => {
  const { status, out, err } = await counterpoint(
    'pt',
    'record',
    '--source',
    'soft_pt',
    '--plan',
    '--stop-after',
    '2M',
    '-p',
    '12,13',
    '--',
    'sleep',
    "it's",
  );
  assert.equal(status, 0, err);
  assert.equal(
    out,
    'soft_pt: it steps the program, as was asked\n' +
      "counterpoint record -e soft_pt//u --max-size 1G --pid 12,13 --stop-after 2M -- sleep 'it'\\''s'\n",
  );
});

const noMachine =
  spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status !== 0
    ? 'no mount namespace can be made here'
    : perfIsMissing();

test('where the machine has Intel PT, the processor writes the trace', { skip: noMachine }, (t) => {
  const folder = temporaryFolder(t);
  const machine = new PtMachine(folder);
  const run = (...words: string[]) =>
    machine.run([process.execPath, ...commandLineProcess(), ...words], folder);
  const plan = run('pt', 'record', '--plan', '-S', '--', 'true');
  assert.equal(
    plan,
    'intel_pt: the processor writes the trace\n' +
      'counterpoint record -e intel_pt//u -m ,64M --snapshot=e64M --max-size 1G -- true\n',
  );
  // What its line means there.
  const [, line] = plan.trim().split('\n');
  const attrs = run('record', '--plan', ...line!.split(' ').slice(2));
  assert.match(attrs, /intel_pt\/\/u/);
  assert.match(run('pt', 'record', '--stop-after', '5', '--', 'true'), /--stop-after is for soft_pt/);
});
