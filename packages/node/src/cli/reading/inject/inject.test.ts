/** What inject adds, beside perf's on the same recordings, and as perf reads it. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { commandLineProcess, counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { until } from '../../../test/until-told.ts';

const inject = (...words: string[]) => counterpoint('inject', ...words);

/** perf adds a tip, and tells where the file was. */
const plain = (text: string) => text.replace(/^# (?:\(?Tip|cmdline|captured).*\n/gm, '');

/** Lines with a build id. */
const idsIn = (path: string) =>
  perf('buildid-list', '-i', path)
    .split('\n')
    .filter((line) => /^[0-9a-f]{40} /.test(line))
    .sort();

const script = (path: string) => plain(perf('script', '-i', path, '-F', 'comm,tid,time,event,ip,sym,period'));

/** A process of its own, with its standard input and output. */
function through(input: string, ...words: string[]): Buffer {
  const stdin = openSync(input, 'r');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...commandLineProcess(), 'inject', ...words],
    {
      stdio: [stdin, 'pipe', 'pipe'],
      maxBuffer: 1 << 28,
    },
  );
  assert.equal(status, 0, stderr.toString());
  return stdout;
}

describe('inject', { skip: perfIsMissing() }, () => {
  test('-b adds the build ids that perf adds, and leaves records alone', async (t) => {
    const folder = temporaryFolder(t);
    const [data, ours, theirs] = ['data', 'ours', 'theirs'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    perf('record', '-q', '-B', '-N', '-g', '-e', 'cpu-clock', '-o', data, '--', 'ls', '-R', '/usr/share');
    assert.deepEqual(idsIn(data), []);
    assert.deepEqual(await inject('-b', '-i', data, '-o', ours), { status: 0, out: '', err: '' });
    perf('inject', '-b', '-i', data, '-o', theirs);
    const added = idsIn(ours);
    assert.ok(idsIn(theirs).length > 0);
    // perf 6.1 adds the vdso though nothing ran there.
    for (const line of idsIn(theirs)) assert.ok(line.endsWith('[vdso]') || added.includes(line), line);
    assert.equal(script(ours), script(data));
    const all = join(folder, 'all');
    await inject('--buildid-all', '-i', data, '-o', all);
    for (const line of added) assert.ok(idsIn(all).includes(line), line);
    // What is there already is not added again.
    const again = join(folder, 'again');
    await inject('-b', '-i', ours, '-o', again);
    assert.deepEqual(readFileSync(again), readFileSync(ours));
  });

  test('without options, a compressed recording is decompressed, as by perf', async (t) => {
    const folder = temporaryFolder(t);
    const place = (name: string) => join(folder, name);
    const record = ['-q', '-g', '-z', '-e', 'cpu-clock:u', '-F', '5000'];
    const command = ['sh', '-c', 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done'];
    await counterpoint('record', ...record, '-o', place('packed'), '--', ...command);
    const types = (path: string) => perf('report', '--stats', '-i', path);
    assert.match(types(place('packed')), /COMPRESSED events/);
    const header = (await counterpoint('report', '-i', place('packed'), '--header', '--stats')).out;
    assert.match(
      header,
      /^# ={8}\n[\s\S]*# compressed : Zstd, level = 1, ratio = \d+\n[\s\S]*COMPRESSED events: +[1-9]/,
    );
    assert.match(
      perf('report', '--header-only', '-i', place('packed')),
      /# compressed : Zstd, level = 1, ratio = /,
    );

    assert.deepEqual(await inject('-i', place('packed'), '-o', place('plain')), {
      status: 0,
      out: '',
      err: '',
    });
    assert.doesNotMatch(types(place('plain')), /COMPRESSED events/);
    perf('inject', '-i', place('packed'), '-o', place('theirs'));
    const lines = script(place('packed'));
    assert.ok(lines.split('\n').length > 20);
    for (const one of ['plain', 'theirs']) assert.equal(script(place(one)), lines, one);
    const report = async (name: string) => (await counterpoint('report', '-i', place(name))).out;
    assert.equal(await report('plain'), await report('packed'));
    // A stream stays one, and what is not compressed stays as it is.
    writeFileSync(place('stream'), through(place('packed')));
    assert.equal(script(place('stream')), lines);
    await inject('-i', place('plain'), '-o', place('again'));
    assert.deepEqual(readFileSync(place('again')), readFileSync(place('plain')));
  });

  test('streams and files, each to each', async (t) => {
    const folder = temporaryFolder(t);
    const place = (name: string) => join(folder, name);
    perf('record', '-q', '-B', '-N', '-e', 'cpu-clock', '-o', place('file'), '--', 'ls', '-R', '/usr/share');
    const command = `perf record -q -B -N -e cpu-clock -o - -- ls -R /usr/share 2>/dev/null`;
    // What ls prints is not a part of it.
    execFileSync('sh', [
      '-c',
      `${command.replace('ls -R /usr/share', "sh -c 'ls -R /usr/share >/dev/null'")} > ${place('stream')}`,
    ]);
    writeFileSync(place('from-file'), through('/dev/null', '-b', '-i', place('file')));
    writeFileSync(place('from-stream'), through(place('stream'), '-b'));
    assert.equal((await inject('-b', '-i', place('stream'), '-o', place('stream-file'))).status, 0);
    assert.deepEqual(readFileSync(place('stream-file')), readFileSync(place('from-stream')));
    for (const [from, to] of [
      ['file', 'from-file'],
      ['stream', 'from-stream'],
    ] as const) {
      assert.equal(script(place(to)), script(place(from)));
      const { out } = await counterpoint('buildid-list', '-i', place(to));
      assert.match(out, /^[0-9a-f]{40} \/usr\/bin\/ls$/m);
      assert.match(perf('report', '-D', '-i', place(to)), /PERF_RECORD_BUILD_ID|build id/);
    }
  });

  test('-s puts waits where perf puts them', async (t) => {
    const folder = temporaryFolder(t);
    const [data, ours, theirs] = ['data', 'ours', 'theirs'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const events = ['sched:sched_switch', 'sched:sched_process_exit', 'sched:sched_stat_runtime'];
    try {
      perf(
        'record',
        '-q',
        '-a',
        ...events.flatMap((one) => ['-e', one]),
        '-o',
        data,
        '--',
        'sh',
        '-c',
        'ls; sleep 0.1; ls',
      );
    } catch (error) {
      return t.skip(`tracepoints may not be recorded here: ${(error as Error).message.split('\n')[0]}`);
    }
    assert.deepEqual(await inject('-s', '-i', data, '-o', ours), { status: 0, out: '', err: '' });
    perf('inject', '-s', '-i', data, '-o', theirs);
    // Samples as perf dumps them, without their places in the file; perf script 6.1
    // crashes on what perf wrote.
    const rows = (path: string) =>
      perf('report', '-D', '-i', path)
        .split('\n')
        .filter((line) => line.includes('PERF_RECORD_SAMPLE'))
        .map((line) => line.replace(/0x[0-9a-f]+ \[0x[0-9a-f]+\]: /, ''))
        .sort()
        .join('\n');
    assert.ok(rows(theirs).split('\n').length > 10);
    assert.equal(rows(ours), rows(theirs));
    assert.notEqual(rows(ours), rows(data));
  });

  test('a killed process leaves nothing of the stream that it was reading', async (t) => {
    const folder = temporaryFolder(t);
    const child = spawn(process.execPath, [...commandLineProcess(), 'inject', '-b'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    const sent = 100_000;
    child.stdin.write(new Uint8Array(sent));
    const place = `/proc/${child.pid}/fd`;
    const isWritten = (fd: string) => {
      try {
        return readlinkSync(`${place}/${fd}`).startsWith(folder) && statSync(`${place}/${fd}`).size === sent;
      } catch {
        return false;
      }
    };
    assert.ok(await until(() => readdirSync(place).some(isWritten)));
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.deepEqual(readdirSync(folder), []);
  });

  test('what cannot be done leaves no file', async (t) => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'data');
    perf('record', '-q', '-e', 'cpu-clock', '-o', data, '--', 'true');
    const before = readFileSync(data);
    const same = await inject('-b', '-i', data, '-o', data);
    assert.equal(same.status, 1);
    assert.match(same.err, /is the input/);
    assert.deepEqual(readFileSync(data), before);
    const waits = await inject('-s', '-i', data, '-o', join(folder, 'out'));
    assert.equal(waits.status, 1);
    assert.match(waits.err, /no event sched:sched_stat/);
    assert.throws(() => readFileSync(join(folder, 'out')));
    assert.equal((await inject('-i', data, 'another')).status, 129);
  });
});
