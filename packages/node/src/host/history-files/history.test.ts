/** Histories of fixed-size records, from real recordings and back. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { writePerfData } from '@counterpoint/core/perfdata';
import { makeAttr } from '@counterpoint/core/records';
import { counterpoint } from '../../test/command-line.ts';
import { besideCuts } from '../../test/losses.ts';
import { perf, perfIsMissing } from '../../test/perf.ts';
import { openRecording } from '../open/index.ts';
import { convertRecording, openHistory } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-history-'));
after(() => rmSync(folder, { recursive: true }));
const place = (name: string) => join(folder, name);
const skip = perfIsMissing();

/** What perf prints, without the tip that it chooses by chance. */
const said = (...words: string[]) => perf(...words).replace(/^# \(Tip: .*$/m, '');

describe('a recording of perf', { skip }, () => {
  const [data, history, back] = ['perf.data', 'perf.history', 'back.data'].map(place) as [
    string,
    string,
    string,
  ];
  before(() => {
    const words = ['record', '-q', '-g', '-F', '3000', '-e', 'cpu-clock:u,page-faults', '-o', data];
    const work = ['sh', '-c', 'ls -R /usr/share | sort | wc -l'];
    const { status, stderr } = spawnSync('perf', [...words, '--', ...work], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });

  test('comes back as perf prints it', async () => {
    const made = await counterpoint('convert', data, '-o', history);
    assert.deepEqual([made.status, made.out], [0, ''], made.err);
    assert.match(made.err, /^Wrote .*perf\.history \(a history, [\d,]+ samples, /);
    const { status, out, err } = await counterpoint('convert', '-i', history, '-o', back, '--json', '-q');
    assert.deepEqual([status, err], [0, '']);
    const { kind, damage, bytes } = JSON.parse(out);
    assert.deepEqual([kind, damage, bytes], ['perf.data', [], statSync(back).size]);
    for (const words of [
      ['script'],
      ['report', '--stdio', '--no-children'],
      ['script', '--show-task-events', '--show-mmap-events'],
    ])
      assert.equal(said(...words, '-i', back), said(...words, '-i', data), words.join(' '));
    assert.equal(statSync(history).mode & 0o777, 0o600);
  });

  test('has each of its samples at its number', async () => {
    await convertRecording(data, history);
    const opened = await openHistory(history);
    await using recording = await openRecording(data);
    let number = 0;
    for await (const { record } of recording.records()) {
      if (record.type !== PERF_RECORD_SAMPLE) continue;
      if (number % 37 === 0) {
        const found = (await opened.at(number))!;
        assert.deepEqual([found.sequence, found.record], [number, record]);
      }
      number++;
    }
    assert.ok(number > 100 && opened.count === number, `${number} samples`);
    await opened.close();
    assert.deepEqual(opened.events.map(({ name }) => name).slice(0, 2), ['cpu-clock:u', 'page-faults']);
  });

  test('is reported as itself', async () => {
    await convertRecording(data, history);
    for (const words of [
      ['report', '--no-children'],
      ['script'],
      ['report', '--stats'],
      ['report', '--header-only'],
    ]) {
      const [ours, theirs] = [history, data].map((input) => counterpoint(...words, '-i', input));
      const [one, other] = [await ours!, await theirs!];
      assert.equal(one.status, 0, one.err);
      // A round is a mark in the file, and no record of the history: shares of all records differ. The header
      // also tells of the file itself: its age, where its parts are, how long an attr is.
      const lines = (text: string) =>
        text
          .split('\n')
          .filter(
            (line) => !/FINISHED_ROUND|TOTAL|mode :|captured on |(?:data|feat) (?:offset|size) /.test(line),
          )
          .map((line) => line.replace(/\( *[\d.]+%\)$|, size = \d+/, ''));
      assert.deepEqual(lines(one.out), lines(other.out), words.join(' '));
    }
  });

  test('with damage is reported with it, each time', async () => {
    await convertRecording(data, history);
    const bytes = readFileSync(history);
    const [stride, from] = [bytes.readUInt32LE(12), Number(bytes.readBigUInt64LE(24))];
    bytes.fill(0, from + 5 * stride, from + 7 * stride);
    const spoiled = place('spoiled.history');
    writeFileSync(spoiled, bytes);
    await using recording = await openRecording(spoiled);
    for (let question = 0; question < 2; question++) {
      const { damage, loss } = await recording.stats();
      assert.deepEqual(damage, []);
      assert.deepEqual(
        besideCuts(loss).map(({ kind, count }) => [kind, Number(count)]),
        [['record-damaged', 2]],
      );
    }
    const { out } = await counterpoint('report', '-i', spoiled);
    assert.match(out, /^# Lost: 2 samples damaged in the history/m);
    for (const [words, wanted] of [
      [[], 0],
      [['--fail-on-loss'], 3],
    ] as const) {
      const { status, err } = await counterpoint('convert', spoiled, '-o', back, ...words);
      assert.equal(status, wanted);
      assert.match(err, /damage: a slot of the history does not hold its record, 2 times, the first at byte/);
    }
    assert.match((await counterpoint('report', '-i', back)).out, /^# Lost: 2 samples damaged/m);
  });

  test('without its beginning and its end is read and converted all the same; without its last part it says what is missing', async () => {
    await convertRecording(data, history);
    const bytes = readFileSync(history);
    bytes.fill(0, 0, 8);
    const spoiled = place('beheaded.history');
    writeFileSync(spoiled, bytes);
    assert.match((await counterpoint('report', '-i', spoiled)).out, /^# Lost: damage: .*header.*history/m);
    const made = await counterpoint('convert', spoiled, '-o', back);
    assert.match(made.err, /^Wrote .* \(perf\.data/m);
    assert.equal(said('script', '-i', back), said('script', '-i', data));
    const sideband = Number(bytes.readBigUInt64LE(48));
    bytes.fill(0, 0, 4096);
    bytes.fill(0, bytes.length - 64);
    writeFileSync(spoiled, bytes);
    assert.equal((await counterpoint('convert', spoiled, '-o', back)).status, 0);
    assert.equal(said('script', '-i', back), said('script', '-i', data));
    const cut = bytes.subarray(0, sideband);
    writeFileSync(spoiled, cut);
    const { status, err } = await counterpoint('report', '-i', spoiled);
    assert.equal(status, 1);
    assert.match(err, /lacks its beginning and its last part.*\n.*one by one: openHistory/);
    await using found = await openHistory(spoiled).then((one) => ({
      count: one.count,
      [Symbol.asyncDispose]: () => one.close(),
    }));
    assert.ok(found.count > 100);
    // With page 0 there are the samples, without names of processes and files.
    writeFileSync(spoiled, readFileSync(history).subarray(0, sideband));
    const samplesOnly = await counterpoint('convert', spoiled, '-o', back, '--fail-on-loss');
    assert.equal(samplesOnly.status, 3);
    assert.match(samplesOnly.err, /damage: what the history says of processes and maps cannot be read/);
    assert.match(said('script', '-i', back, '-F', 'event'), /^ *page-faults:/m);
    const fields = ['-F', 'tid,time'];
    assert.equal(said('script', '-i', back, ...fields), said('script', '-i', data, ...fields));
  });
});

test('a recording that was cut off is a history that says so, there and back', async () => {
  const killed = fileURLToPath(new URL('../../../../../fixtures/perfdata/killed.data', import.meta.url));
  const [history, back] = [place('killed.history'), place('killed.data')];
  const { status, err } = await counterpoint('convert', killed, '-o', history, '--fail-on-loss');
  assert.equal(status, 3);
  assert.match(err, /bytes at the end missing/);
  await convertRecording(history, back);
  for (const path of [killed, history, back]) {
    const { out } = await counterpoint('report', '-i', path);
    assert.match(out, /^# Lost: at least 20 bytes at the end missing/m, path);
  }
});

test('what cannot be converted leaves no file', async () => {
  const [text, none] = [place('text'), place('none')];
  writeFileSync(text, 'this is no recording');
  for (const [words, message] of [
    [[text, '-o', none], /perf\.data/],
    [[place('absent'), '-o', none], /no such file/],
    [[text, '-o', text], /is the input/],
    [[text], /there is no output.*\n.*-o FILE/],
    [['-', '-o', none], /as a file/],
    [[text, text, '-o', none], /one input/],
    [['-i', text, text, '-o', none], /two inputs/],
  ] as const) {
    const { status, out, err } = await counterpoint('convert', ...words);
    assert.ok(status > 0 && out === '', words.join(' '));
    assert.match(err, message);
  }
  assert.ok(!existsSync(none));
  assert.equal(readFileSync(text, 'utf8'), 'this is no recording');
  await assert.rejects(openHistory(text), { code: 'ERR_HISTORY' });
});

test('what perf record --threads makes is converted as one recording, and nothing in it is written over', {
  skip,
}, async (t) => {
  const directory = place('threads');
  const words = ['record', '-q', '--threads', '-e', 'cpu-clock:u', '-F', '3000', '-g', '-o', directory];
  const { status, stderr } = spawnSync(
    'perf',
    [...words, '--', 'sh', '-c', 'ls -R /usr/share | sort | wc -l'],
    {
      encoding: 'utf8',
    },
  );
  if (status !== 0 || !existsSync(join(directory, 'data.0')))
    return t.skip(`perf record --threads makes no directory here: ${stderr}`);
  const fields = ['-F', 'comm,tid,time,event,ip,sym'];
  const expected = said('script', '-i', directory, ...fields);
  for (const input of [directory, join(directory, 'data')]) {
    const made = await counterpoint('convert', input, '-o', place('threads.history'));
    assert.equal(made.status, 0, made.err);
    const back = await counterpoint('convert', place('threads.history'), '-o', place('threads.data'));
    assert.equal(back.status, 0, back.err);
    assert.equal(said('script', '-i', place('threads.data'), ...fields), expected);
  }
  const part = join(directory, 'data.0');
  const before = readFileSync(part);
  const { status: refused, err } = await counterpoint('convert', directory, '-o', part);
  assert.equal(refused, 1);
  assert.match(err, /data\.0 is a part of the input/);
  assert.deepEqual(readFileSync(part), before);
});

/** A recording of some megabytes. */
function largeRecording(): string {
  const path = place('large.data');
  const attr = makeAttr({
    type: PERF_TYPE_SOFTWARE,
    config: BigInt(PERF_COUNT_SW_CPU_CLOCK),
    sampleType: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME),
    flags: { sampleIdAll: 1 },
  });
  const records = Array.from({ length: 120_000 }, (_, at) => ({
    ...{ type: PERF_RECORD_SAMPLE as typeof PERF_RECORD_SAMPLE, misc: 2, tail: new Uint8Array() },
    sample: { ip: 0x1000n, pid: 7, tid: 7, time: BigInt(at) },
  }));
  writeFileSync(path, writePerfData({ attrs: [{ attr, ids: [], name: 'cpu-clock' }], records }));
  return path;
}

test('both ways tell how far they are, and can be ended', async () => {
  const [history, back] = [place('progress.history'), place('progress.data')];
  const steps: string[] = [];
  const onProgress = ({ phase, done, total }: { phase: string; done: number; total: number }) => {
    assert.ok(done > 0 && done <= total);
    steps.push(phase);
  };
  const large = largeRecording();
  await convertRecording(large, history, { onProgress });
  const forth = steps.splice(0);
  assert.ok(forth.length > 2, `${forth}`);
  await convertRecording(history, back, { onProgress });
  assert.ok(steps.length > 2, `${steps}`);
  for (const input of [large, history]) {
    const signal = AbortSignal.abort(new Error('enough'));
    await assert.rejects(convertRecording(input, place('ended'), { signal }), /enough/);
    assert.ok(!existsSync(place('ended')));
  }
});
