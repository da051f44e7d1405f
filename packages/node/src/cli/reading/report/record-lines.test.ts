/**
 * Records beside samples: `script --show-*-events`, `report -D`, `--tasks`, `--mmaps`, `-T`, against perf's.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const skip = perfIsMissing();
const SHOWN = ['task', 'mmap', 'switch', 'namespace', 'cgroup', 'lost', 'bpf'].map(
  (kind) => `--show-${kind}-events`,
);

describe('records beside samples, as perf prints them', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  const [own, rich, whole] = ['own', 'rich', 'whole'].map((name) => join(folder, `${name}.data`)) as [
    string,
    string,
    string,
  ];
  after(() => rmSync(folder, { recursive: true, force: true }));
  before(() => {
    const command = [
      'sh',
      '-c',
      'i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; ls / > /dev/null & wait; true',
    ];
    const recorded = (file: string, words: string, ...program: string[]) =>
      perf('record', '-q', ...words.split(' '), '-o', file, '--', ...program);
    recorded(own, '-g -s --switch-events --namespaces --all-cgroups -e cpu-clock,task-clock', ...command);
    recorded(rich, '-d -W --user-regs=ip,sp --sample-cpu -e cpu-clock,page-faults', ...command);
    recorded(whole, '-a --switch-events -e cpu-clock -c 5000000', 'ls', '/');
  });

  const trimmed = (text: string) => text.split('\n').map((line) => line.trimEnd());

  test('script --show-*-events', async () => {
    const words = ['script', '-i', own, '-G', '-F', 'comm,tid,pid,time,ip', ...SHOWN];
    const { out, err, status } = await counterpoint(...words);
    assert.equal(status, 0, err);
    const theirs = trimmed(perf(...words));
    for (const kind of ['COMM', 'FORK', 'EXIT', 'MMAP2', 'SWITCH', 'NAMESPACES', 'CGROUP'])
      assert.ok(
        theirs.some((line) => line.includes(`PERF_RECORD_${kind}`)),
        kind,
      );
    assert.deepEqual(trimmed(out), theirs);
  });

  test('script --show-switch-events of a whole machine: who follows whom', async () => {
    // Without names: those of others on this machine may have line breaks.
    const words = ['script', '-i', whole, '-F', 'tid,pid,cpu,time,ip', '--show-switch-events'];
    const theirs = trimmed(perf(...words));
    assert.ok(theirs.filter((line) => line.includes('PERF_RECORD_SWITCH_CPU_WIDE')).length > 3);
    assert.deepEqual(trimmed((await counterpoint(...words)).out), theirs);
  });

  for (const file of ['own', 'rich'])
    test(`report -D, ${file}`, async () => {
      const words = ['-i', file === 'own' ? own : rich, '-D'];
      const { out, err, status } = await counterpoint('report', ...words);
      assert.equal(status, 0, err);
      const dump = perf('report', ...words).replace(/\nAggregated stats:[\s\S]*/, '');
      // perf says what it does not use, and looks for the code of anonymous memory in files of its own.
      const known = (lines: string[]) =>
        lines
          .map((line) =>
            line
              .replace(/: unhandled!$/, '')
              .replace(/dso: (?:\/tmp\/perf-\d+\.map|\/\/anon.*)$/, 'dso: JIT'),
          )
          .map((line) => line.replace(/dso: \[kernel\.kallsyms\]$|dso: .*\/vmlinux.*$/, 'dso: kernel'))
          .filter(
            (line) => line !== '' && !line.startsWith('# ') && line !== '#' && !/^\.\.\. cgroup: /.test(line),
          );
      const [ours, theirs] = [known(trimmed(out)), known(trimmed(dump))];
      assert.ok(theirs.length > 200);
      // Not as lists: the message would have all of them.
      const first = theirs.findIndex((line, place) => line !== ours[place]);
      assert.equal(
        first < 0 ? null : `${first}: ${ours[first]}`,
        first < 0 ? null : `${first}: ${theirs[first]}`,
      );
      assert.equal(ours.length, theirs.length);
    });

  test('report --tasks and --mmaps', async () => {
    const tasks = trimmed(perf('report', '-i', own, '--tasks'));
    assert.ok(tasks.length > 3);
    assert.deepEqual(trimmed((await counterpoint('report', '-i', own, '--tasks')).out), tasks);
    const ours = trimmed((await counterpoint('report', '-i', own, '--mmaps')).out);
    const theirs = trimmed(perf('report', '-i', own, '--mmaps'));
    // perf leaves what was there before exec: the shell's mappings among those of ls. They are gone.
    const isOfShell = (line: string) => ours.includes(line.replace(/^ /, ''));
    assert.deepEqual(
      ours,
      theirs.filter((line) => ours.includes(line) || !isOfShell(line)),
    );
    assert.ok(ours.some((line) => line.endsWith('/ls')) && ours.some((line) => line.endsWith('/dash')));
    const answer = JSON.parse((await counterpoint('report', '-i', own, '--mmaps', '--json')).out);
    const shell = answer.tasks.find(({ comm }: { comm: string }) => comm === 'sh');
    assert.ok(shell.maps.some(({ path }: { path: string }) => path.includes('/libc')));
  });

  test('report -T: what tasks counted', async () => {
    const rows = (text: string) =>
      trimmed(text)
        .join('\n')
        .replace(/^[\s\S]*?(?=#\s+PID)/, '')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) =>
          line
            .replace(/^[# ]*/, '')
            .split(/\s+/)
            .join(' '),
        )
        .sort();
    const theirs = rows(perf('report', '-i', own, '--stdio', '-T'));
    assert.ok(theirs.length >= 2, theirs.join('\n'));
    assert.deepEqual(rows((await counterpoint('report', '-i', own, '-T')).out), theirs);
    assert.match((await counterpoint('report', '-i', whole, '-T')).out, /record -s records them/);
  });

  test('JSON has the fields of the records, and a filter leaves out those of others', async () => {
    const { out } = await counterpoint('script', '-i', own, '--json', '--show-task-events', '--comms', 'ls');
    const records = out
      .split('\n')
      .filter((line) => line.startsWith('{"type":"record"'))
      .map((line) => JSON.parse(line));
    assert.ok(records.some(({ record, comm }) => record === 'COMM' && comm === 'ls'));
    assert.ok(records.every(({ record, comm }) => record !== 'COMM' || comm === 'ls'));
  });

  test('answers exclude each other', async () => {
    assert.equal((await counterpoint('report', '-i', own, '--tasks', '-D')).status, 129);
    assert.equal((await counterpoint('report', '-i', own, '-D', '--sort', 'dso')).status, 129);
    assert.equal((await counterpoint('script', '-i', own, '-D', '-F', 'ip')).status, 129);
  });
});
