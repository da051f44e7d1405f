import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { memorySource } from '@counterpoint/core/base';
import { readCounts } from '@counterpoint/core/counts';
import { openPerfData } from '@counterpoint/core/perfdata';
import { recordedRuns, rowsOf } from '../../../linux/count/stat/index.ts';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

const EVENTS = ['-e', '{task-clock,page-faults},cs,duration_time'];
const isRoot = process.getuid?.() === 0;
const whole = isRoot ? false : 'counting whole CPUs needs root here';
/** Words of `stat record`, and why they cannot be tried. */
const RUNS: readonly (readonly [readonly string[], string | false])[] = [
  [[...EVENTS, '--', 'ls', '/'], false],
  [['-e', 'task-clock,cycles', '-r', '3', '--', 'true'], false],
  [['-e', 'task-clock,cs', '-I', '40', '--', 'sleep', '0.1'], false],
  [['-e', 'task-clock', '-r', '2', '-I', '40', '--', 'sleep', '0.1'], false],
  [['-p', String(process.pid), '--per-thread', '-e', 'task-clock,cs', '--', 'sleep', '0.05'], false],
  [['-a', '-A', '-I', '30', '-e', 'cpu-clock,cs', '--', 'sleep', '0.07'], whole],
  [['-a', '--per-core', ...EVENTS, '--', 'sleep', '0.05'], whole],
  [['-a', '--per-socket', '-e', 'cs,page-faults', '--', 'sleep', '0.05'], whole],
  [['-a', '--per-thread', '-e', 'task-clock', '--', 'sleep', '0.05'], whole],
];

/** What perf 6.1 does not record. */
const PERF_REFUSES = [['-r'], ['-a', '--per-thread']];
const perfRecords = (words: readonly string[]) =>
  !PERF_REFUSES.some((some) => some.every((word) => words.includes(word)));

/**
 * The rows of a table: counts and names, without the figures behind `#`, in which perf's
 * report and its live table differ.
 */
function countsIn(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => /^.{10,}(?:[\d.]+|>) (?:\w+)? +[\w:-]+ {2}/.test(line) && !line.includes('events'))
    .map((line) =>
      line
        .replace(/ #.*/, '')
        .replace(/\( \+-.*/, '')
        .replaceAll(/ +/g, ' ')
        .trim(),
    );
}

/**
 * Of the whole machine: a thread takes another name when it executes another program,
 * between one look at it and the next.
 */
function withoutNames(fields: string): string {
  return fields.replaceAll(/^[^;]*(-\d+;)/gm, 'thread$1');
}

function seconds(text: string): string[] {
  return text.match(/[\d.]+ (?=seconds time elapsed)/g) ?? [];
}

describe('stat record and stat report', () => {
  for (const [words, skip] of RUNS)
    test(`gives the rows that were printed live, and so does perf: ${words.join(' ')}`, {
      skip,
    }, async (t) => {
      const file = join(temporaryFolder(t), 'counts.data');
      const argv = process.argv;
      t.after(() => {
        process.argv = argv;
      });
      // What the recording says of itself.
      process.argv = ['node', 'counterpoint', 'stat', 'record', '-x', ';', '-o', file, ...words];
      const live = await counterpoint(...process.argv.slice(2));
      assert.equal(live.status, 0, live.err);
      const report = await counterpoint('stat', 'report', '-x', ';', '-i', file);
      assert.deepEqual([report.status, report.err], [0, '']);
      assert.ok(report.out.trim() !== '');
      if (words.includes('-a')) assert.equal(withoutNames(report.out), withoutNames(live.err));
      else assert.equal(report.out, live.err);
      if (perfIsMissing() !== false) return;
      // Of several runs perf prints a table for each, of threads those of its own choice, and a time of the
      // tool once for each place.
      if (words.includes('-r') || words.includes('--per-thread')) return;
      const table = (await counterpoint('stat', 'report', '-i', file)).out;
      const theirs = spawnSync('perf', ['stat', 'report', '-i', file], { encoding: 'utf8' }).stderr;
      const withoutTool = (lines: string[]) => lines.filter((line) => !line.includes('duration_time'));
      assert.ok(countsIn(table).length > 1, table);
      assert.deepEqual(withoutTool(countsIn(theirs)), withoutTool(countsIn(table)));
      assert.deepEqual(seconds(theirs), seconds(table));
    });

  for (const [words, skip] of RUNS.filter(([words]) => perfRecords(words)))
    test(`reads what perf recorded: ${words.join(' ')}`, {
      skip: skip || perfIsMissing(),
    }, async (t) => {
      const file = join(temporaryFolder(t), 'perf.data');
      perf('stat', 'record', '-o', file, ...words);
      const theirs = spawnSync('perf', ['stat', 'report', '-i', file], { encoding: 'utf8' }).stderr;
      const ours = await counterpoint('stat', 'report', '-i', file);
      assert.deepEqual([ours.status, ours.err], [0, '']);
      const withoutTool = (lines: string[]) => lines.filter((line) => !line.includes('duration_time'));
      assert.ok(countsIn(ours.out).length > 0, ours.out);
      assert.deepEqual(withoutTool(countsIn(ours.out)), withoutTool(countsIn(theirs)));
      assert.deepEqual(seconds(ours.out), seconds(theirs));
    });

  test('threads that did nothing are left out of a recording of all, as the options say', {
    skip: whole,
  }, async (t) => {
    const file = join(temporaryFolder(t), 'threads.data');
    const argv = process.argv;
    t.after(() => {
      process.argv = argv;
    });
    // This machine emulates nothing: every thread did nothing.
    const event = 'emulation-faults';
    const own = ['-p', String(process.pid), '-e', event, '--per-thread'];
    for (const [words, isOfAll] of [
      [['-ae', event, '--per-thread', '--', 'true'], true],
      [[...own, 'ls', '-a'], false],
      [[...own, '--', 'ls', '-a'], false],
    ] as const) {
      process.argv = ['node', 'counterpoint', 'stat', 'record', '-q', '-o', file, ...words];
      assert.equal((await counterpoint(...process.argv.slice(2))).status, 0);
      const { rows } = JSON.parse((await counterpoint('stat', 'report', '--json', '-i', file)).out);
      assert.equal(rows.length === 0, isOfAll, words.join(' '));
    }
  });

  test('several runs are several rounds, which perf reads one by one', {
    skip: perfIsMissing(),
  }, async (t) => {
    const file = join(temporaryFolder(t), 'runs.data');
    const words = ['-e', 'page-faults:u', '-r', '3', '--', 'true'];
    await counterpoint('stat', 'record', '-o', file, ...words);
    const theirs = spawnSync('perf', ['stat', 'report', '-i', file], { encoding: 'utf8' }).stderr;
    const counts = countsIn(theirs).map((line) => Number(line.split(' ')[0]));
    assert.equal(counts.length, 3, theirs);
    const answer = JSON.parse((await counterpoint('stat', 'report', '--json', '-i', file)).out);
    assert.equal(answer.runs.length, 3);
    // perf prints each run by itself.
    const sum = counts.reduce((before, count) => before + count, 0);
    assert.equal(Math.round(3 * answer.rows[0].value), sum);
  });

  test('through a pipe, both ways', { skip: perfIsMissing() }, () => {
    const ours = [process.execPath, ...commandLineProcess()].map(
      (word) => `'${word.replaceAll("'", "'\\''")}'`,
    );
    const [record, report] = ['stat record -o - -e task-clock true 2>/dev/null', 'stat report -i - 2>&1'];
    const shell = (line: string) => spawnSync('sh', ['-c', line], { encoding: 'utf8' }).stdout;
    for (const line of [
      `${ours.join(' ')} ${record} | perf ${report}`,
      `perf ${record} | ${ours.join(' ')} ${report}`,
      `${ours.join(' ')} ${record} | ${ours.join(' ')} ${report}`,
    ])
      assert.match(shell(line), /[\d.]+ msec task-clock(?::u)? .*\n\n +[\d.]+ seconds time elapsed/, line);
  });

  test('the answer in JSON; other places than were recorded', { skip: whole }, async (t) => {
    const file = join(temporaryFolder(t), 'cpus.data');
    await counterpoint('stat', 'record', '-q', '-a', '-e', 'cs', '-o', file, '--', 'sleep', '0.05');
    const read = async (...words: string[]) =>
      JSON.parse((await counterpoint('stat', 'report', '--json', '-i', file, ...words)).out);
    const all = await read();
    assert.deepEqual([all.type, all.by, all.rows.length, all.damage], ['stat-report', 'all', 1, []]);
    const apart = await read('-A');
    const sum = apart.rows.reduce((total: bigint, { count }: { count: string }) => total + BigInt(count), 0n);
    assert.equal(sum, BigInt(all.rows[0].count));
    const sockets = await read('--per-socket');
    assert.equal(sockets.rows[0].place.by, 'socket');
    const { status, err } = await counterpoint('stat', 'report', '-i', file, '--per-thread');
    assert.equal(status, 1);
    assert.match(err, /has whole CPUs, not threads/);
  });

  test('the status of the command is passed on; what cannot be kept is refused before anything runs', async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, 'counts.data');
    const record = (...words: string[]) => counterpoint('stat', 'record', '-o', file, ...words);
    assert.equal((await record('-q', '-e', 'cs', '--', 'sh', '-c', 'exit 7')).status, 7);
    for (const [words, message] of [
      [['--set', 'cs', 'true'], /--set: a recording of counts has no place for event sets/],
      [['-G', '/', 'true'], /-G: .* control groups/],
      [['-M', 'ipc', 'true'], /-M: .* figures/],
      [['-n', 'true'], /-n: /],
    ] as const) {
      const { status, err } = await record(...words);
      assert.equal(status, 129);
      assert.match(err, message);
    }
    const marker = join(folder, 'ran');
    const nowhere = await counterpoint(
      'stat',
      'record',
      '-o',
      join(folder, 'no', 'x'),
      '--',
      'touch',
      marker,
    );
    assert.equal(nowhere.status, 1);
    assert.match(nowhere.err, /no such directory/);
    assert.throws(() => readFileSync(marker));
    const inside = await counterpoint('stat', '-e', 'cs', 'record', 'true');
    assert.equal(inside.status, 129);
    assert.match(inside.err, /stat record has two words/);
  });

  test('a recording of counts has no samples, and the other way round', async (t) => {
    const folder = temporaryFolder(t);
    const [counts, samples] = [join(folder, 'counts.data'), join(folder, 'samples.data')];
    await counterpoint('stat', 'record', '-q', '-e', 'task-clock', '-o', counts, 'true');
    for (const words of [['report'], ['script'], ['export', '-f', 'folded', '-o', '-']]) {
      const { status, err } = await counterpoint(...words, '-i', counts);
      assert.equal(status, 1, words.join(' '));
      assert.match(err, /has counts, not samples/);
    }
    writeFileSync(
      samples,
      readFileSync(new URL('../../../../../../fixtures/perfdata/plain.data', import.meta.url)),
    );
    const { status, err } = await counterpoint('stat', 'report', '-i', samples);
    assert.equal(status, 1);
    assert.match(err, /has no counts: it is a recording of samples/);
  });

  test('damage is said, and what is there is shown; cut anywhere, nothing else is thrown', async (t) => {
    const file = join(temporaryFolder(t), 'counts.data');
    await counterpoint('stat', 'record', '-q', '-e', 'task-clock,cs', '-I', '20', '-o', file, 'sleep', '0.1');
    const bytes = new Uint8Array(readFileSync(file));
    let shown = 0;
    for (let seed = 1, case_ = 0; case_ < 300; case_++) {
      const damaged = bytes.slice();
      for (let n = 0; n < 3; n++) {
        seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
        damaged[104 + ((seed >>> 8) % Math.min(damaged.length - 104, 1500))] = seed >>> 24;
      }
      try {
        const reader = await openPerfData(memorySource(damaged));
        const counts = await readCounts(reader);
        if (counts === null) continue;
        const { intervals, totals } = recordedRuns(counts);
        for (const by of ['all', 'cpu', 'thread'] as const) {
          for (const interval of intervals) rowsOf([interval], { by });
          if (totals.length > 0) shown += rowsOf(totals, { by }).length;
        }
      } catch (error) {
        assert.match(String((error as { code?: string }).code), /^(ERR_|bad-)/, String(error));
      }
    }
    assert.ok(shown > 300, `${shown} rows`);
    // A count of an event that nobody knows.
    const view = new DataView(bytes.buffer);
    let at = Number(view.getBigUint64(40, true));
    while (view.getUint32(at, true) !== 76) at += view.getUint16(at + 6, true);
    view.setBigUint64(at + 8, 99n, true);
    writeFileSync(file, bytes);
    const { status, out, err } = await counterpoint('stat', 'report', '-i', file);
    assert.equal(status, 0);
    assert.match(err, /damage: a record is of an event that the recording does not have, at byte \d+$/m);
    assert.match(out, /task-clock/);
  });
});
