/** `script -S` and `--per-event-dump`, against what perf makes of the same recording. */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const skip = perfIsMissing();

describe('parts of script, as perf prints them', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  const data = join(folder, 'perf.data');
  const WORK =
    '/usr/bin/python3 -c "import json; [json.dumps(list(range(60000))) for _ in range(5)]"; git help -a > /dev/null; gzip -9 -c /usr/bin/perf > /dev/null';
  after(() => rmSync(folder, { recursive: true, force: true }));
  before(() => {
    const events = ['-e', 'cpu-clock', '-e', 'page-faults', '-F', '2500'];
    perf('record', '-q', '-g', ...events, '-o', data, '--', 'sh', '-c', WORK);
  });

  // perf 6.1 does not name entries of a PLT whose function is chosen when it is loaded (strlen of libc).
  const linesOf = (text: string) =>
    text.split('\n').map((line) => line.trimEnd().replace(/\S*@plt\b/, '@plt'));
  const script = async (...words: string[]) => {
    const result = await counterpoint('script', '-i', data, ...words);
    assert.equal(result.status, 0, result.err);
    return result.out;
  };
  /** The functions with the most samples, the most frequent first. */
  const hot = async () => {
    const { out } = await counterpoint(
      'report',
      '-i',
      data,
      '--no-js',
      '--no-children',
      '-s',
      'sym',
      '--json',
    );
    const names: string[] = JSON.parse(out).events[0].rows.map((row: { symbol: string }) => row.symbol);
    return names.filter((name) => /^\w+$/.test(name) && !name.startsWith('0x'));
  };

  for (const words of [
    ['-G', '-F', 'comm,tid,time,event,ip,sym,dso'],
    ['-F', 'comm,time,ip,sym'],
    ['-F', 'comm,time,ip,sym', '--max-stack', '2'],
    ['-G', '-F', 'time,ip,sym', '--deltatime'],
    ['-G', '-F', 'comm,time,ip,sym', '--reltime', '--ns'],
  ])
    test(`script -S of two functions ${words.join(' ')}`, async () => {
      const names = (await hot()).slice(0, 2).join(',');
      const theirs = linesOf(perf('script', '-i', data, '-S', names, ...words));
      assert.ok(theirs.length > 5, names);
      assert.deepEqual(linesOf(await script('-S', names, ...words)), theirs);
    });

  test('-S with --limit counts the samples that are printed; --json has the same ones', async () => {
    const [name] = (await hot()) as [string];
    const whole = linesOf(await script('-S', name, '-G', '-F', 'time,sym,ip')).filter((line) => line !== '');
    const cut = await counterpoint(
      'script',
      '-i',
      data,
      '-S',
      name,
      '-G',
      '-F',
      'time,sym,ip',
      '--limit',
      '2',
    );
    assert.ok(whole.length > 2);
    assert.deepEqual(linesOf(cut.out).slice(0, 2), whole.slice(0, 2));
    assert.equal(linesOf(cut.out).filter((line) => line !== '').length, 2);
    assert.match(cut.err, /--limit: .*2 samples/);
    const samples = (await script('-S', name, '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const end = samples.pop();
    assert.deepEqual([end.type, end.samples], ['end', whole.length]);
    assert.ok(samples.every(({ stack }) => stack[0].symbol === name));
    assert.equal(samples.length, whole.length);
  });

  test('a function that no sample is in is said', async () => {
    const { out, err, status } = await counterpoint('script', '-i', data, '-S', 'no_such_function');
    assert.deepEqual([status, out], [0, '']);
    assert.match(err, /Nothing passes -S no_such_function/);
  });

  const dumps = (where: string) =>
    Object.fromEntries(
      readdirSync(where)
        .filter((name) => name.endsWith('.dump'))
        .map((name) => [name, linesOf(readFileSync(join(where, name), 'utf8'))]),
    );

  test('--per-event-dump writes the files that perf writes, and says so', async () => {
    const [ours, theirs] = ['ours', 'theirs'].map((name) => join(folder, name)) as [string, string];
    for (const where of [ours, theirs]) {
      mkdirSync(where);
      copyFileSync(data, join(where, 'perf.data'));
    }
    const words = ['--per-event-dump', '-F', 'comm,tid,time,period,event,ip,sym,dso'];
    const { out, status } = await counterpoint('script', '-i', join(ours, 'perf.data'), ...words);
    assert.equal(status, 0);
    const said = perf('script', '-i', join(theirs, 'perf.data'), ...words);
    const expected = dumps(theirs);
    assert.ok(
      Object.keys(expected).length >= 2 && Object.values(expected).every((lines) => lines.length > 10),
    );
    assert.deepEqual(dumps(ours), expected);
    const counts = (text: string) =>
      [...text.matchAll(/script: Wrote ([\d.]+ MB) .*?([^/ ]+\.dump) \((\d+) samples/g)].map(
        ([, size, name, samples]) => `${name} ${samples} ${size}`,
      );
    assert.equal(counts(out).length, 2);
    assert.deepEqual(
      counts(out)
        .map((line) => line.replace(/ \S+ MB/, ''))
        .sort(),
      counts(said)
        .map((line) => line.replace(/ \S+ MB/, ''))
        .sort(),
    );
  });

  test('--per-event-dump --json: files of NDJSON, and the answer names them', async () => {
    const where = join(folder, 'json');
    mkdirSync(where);
    const copy = join(where, 'perf.data');
    copyFileSync(data, copy);
    const { out } = await counterpoint(
      'script',
      '-i',
      copy,
      '--per-event-dump',
      '--json',
      '-S',
      (await hot())[0]!,
    );
    const { type, samples, files } = JSON.parse(out);
    assert.equal(type, 'end');
    let sum = 0;
    for (const { event, path, samples: own } of files) {
      const lines = readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.ok(lines.every((line) => line.event === event));
      assert.equal(lines.length, own);
      sum += own;
    }
    assert.ok(sum > 0);
    assert.equal(sum, samples);
  });

  test('a file that cannot be made or filled ends it with the reason', async () => {
    const where = join(folder, 'taken');
    mkdirSync(join(where, 'perf.data.cpu-clock.dump'), { recursive: true });
    const copy = join(where, 'perf.data');
    copyFileSync(data, copy);
    const taken = await counterpoint('script', '-i', copy, '--per-event-dump');
    assert.equal(taken.status, 1);
    assert.match(taken.err, /cannot open .*perf\.data\.cpu-clock\.dump: .*directory/);
    rmSync(join(where, 'perf.data.cpu-clock.dump'), { recursive: true });
    symlinkSync('/dev/full', join(where, 'perf.data.cpu-clock.dump'));
    const full = await counterpoint('script', '-i', copy, '--per-event-dump');
    assert.equal(full.status, 1);
    assert.match(full.err, /cannot write .*: no space left on the device/);
  });

  test('a file that is closed before it has told of its full disk tells it once', async () => {
    const { EventDumps } = await import('./event-dumps.ts');
    const where = join(folder, 'full');
    mkdirSync(where);
    symlinkSync('/dev/full', join(where, 'perf.data.some-event.dump'));
    const files = new EventDumps(join(where, 'perf.data'));
    const written = files.write({ name: 'some-event' } as never, new TextEncoder().encode('text\n'));
    // In the moment in which the write has failed.
    const closed = written.catch(() => files[Symbol.asyncDispose]());
    await assert.rejects(written, /no space left on the device/);
    assert.equal(await closed, undefined);
  });

  test('names of events stay names in the folder of the recording', async () => {
    const { EventDumps } = await import('./event-dumps.ts');
    const where = join(folder, 'names');
    mkdirSync(where);
    await using files = new EventDumps(join(where, 'perf.data'));
    for (const name of ['../../evil', '../../evil', 'a\nb', `${'x'.repeat(5000)}`])
      await files.write({ name } as never, new TextEncoder().encode('text\n'));
    const names = readdirSync(where).sort();
    assert.deepEqual(names.slice(0, 3), [
      'perf.data..._.._evil.2.dump',
      'perf.data..._.._evil.dump',
      `perf.data.a_x0ab.dump`,
    ]);
    assert.ok(names.length === 4 && names[3]!.length < 200);
  });
});
