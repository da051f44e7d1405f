import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { inflateSync } from 'node:zlib';
import {
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
} from '@counterpoint/core/abi';
import { memorySource } from '@counterpoint/core/base';
import { decodeRecordedFiles, RECORDED_PERF_MAP } from '@counterpoint/core/jit';
import { openPerfData, readRecords } from '@counterpoint/core/perfdata';
import {
  BodyWriter,
  encodeRecord,
  makeAttr,
  type PerfRecord,
  SampleLayout,
} from '@counterpoint/core/records';
import { WaitingWriter } from '../../../test/waiting-writer.ts';
import type { Note, SampledEvents } from '../../kernel/perf-events/index.ts';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { BuildIdCollector } from './build-ids.ts';
import { CommandNames } from './command-names.ts';
import { FileOutput } from './file-output.ts';
import { type RecordResult, record } from './index.ts';
import { machineFeatures } from './machine-features.ts';
import { MapWatch } from './map-watch.ts';
import { PerfMapKeeper } from './perf-maps.ts';
import { synthesizeStart } from './synthesis.ts';

const directory = mkdtempSync(join(tmpdir(), 'counterpoint-fake-'));
after(() => rmSync(directory, { recursive: true }));
afterEach(() => assert.deepEqual(liveHandles(), []));

const tail = new Uint8Array(0);
const base = { misc: 0, tail } as const;

/** Record this process with a kernel by script; `act` is the kernel, and the target ends when it returns. */
async function recordWithFake(
  path: string,
  act: (write: (record: PerfRecord) => void) => void,
): Promise<RecordResult> {
  const sys = new FakeSys();
  const run = record({
    pids: [process.pid],
    cpus: [0],
    events: 'cpu-clock',
    output: path,
    sys,
    onStart: () => {
      const [event] = sys.events;
      const layout = new SampleLayout(event!.attr);
      act((one) => {
        const writer = new BodyWriter();
        encodeRecord(writer, one, layout);
        sys.rings.get(event!.fd)!.write(writer.take());
      });
      sys.wake(sys.events.map(({ fd }) => fd));
    },
  });
  return await run;
}

const sample = (time: bigint): PerfRecord => ({
  ...base,
  type: PERF_RECORD_SAMPLE,
  misc: PERF_RECORD_MISC_USER,
  sample: { ip: 1n, pid: process.pid, tid: process.pid, time, period: 1n },
});

describe('a recording on a kernel by script', () => {
  test('what the kernel wrote is in the file, and what it lost in the ledger', async () => {
    const path = join(directory, 'loss.data');
    const id = 103n;
    const at = (time: bigint) => ({ pid: 1, tid: 1, time, id });
    const result = await recordWithFake(path, (write) => {
      write(sample(100n));
      write({ ...base, type: PERF_RECORD_LOST, id, lost: 7n, sampleId: at(150n) });
      write({ ...base, type: PERF_RECORD_THROTTLE, time: 200n, id, streamId: id, sampleId: at(200n) });
      write({ ...base, type: PERF_RECORD_UNTHROTTLE, time: 450n, id, streamId: id, sampleId: at(450n) });
      write({ ...base, type: PERF_RECORD_LOST_SAMPLES, lost: 2n, sampleId: at(460n) });
      write({ ...base, type: PERF_RECORD_THROTTLE, time: 500n, id, streamId: id, sampleId: at(500n) });
      write(sample(600n));
    });
    assert.deepEqual([result.stopped, result.samples, result.wakeups], ['target-ended', 2, 2]);
    assert.deepEqual(
      result.loss.map(({ kind, count, fromNs, toNs, cpu, exact }) => [kind, count, fromNs, toNs, cpu, exact]),
      [
        ['ring-full', '7', null, '150', 0, true],
        ['throttled', '250', '200', '450', 0, true],
        ['lost-samples', '2', null, '460', 0, true],
        ['throttled', '0', '500', null, 0, false],
      ],
    );
    assert.equal(result.loss[0]!.event, 'cpu-clock');
    const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
    const types: number[] = [];
    for await (const { record: one } of readRecords(reader)) types.push(one.type);
    assert.equal(types.filter((type) => type === PERF_RECORD_SAMPLE).length, 2);
    assert.equal(types.filter((type) => type === PERF_RECORD_LOST).length, 1);
    assert.deepEqual(reader.features.sampleTime, { first: 100n, last: 600n });
  });

  test('a target that never does anything leaves a complete file', async () => {
    const path = join(directory, 'empty.data');
    const result = await recordWithFake(path, () => {});
    assert.deepEqual([result.samples, result.loss, result.error], [0, [], null]);
    const reader = await openPerfData(memorySource(new Uint8Array(readFileSync(path))));
    assert.equal(reader.isUnfinished, false);
    assert.equal(reader.features.sampleTime, undefined);
  });

  test('a kernel that hides its addresses is said where its code is sampled', () => {
    for (const [excludeKernel, kinds] of [
      [0, ['kernel-names']],
      [1, []],
    ] as const) {
      const attr = makeAttr({ flags: { excludeKernel } });
      const sampled = { events: [{ attr, instances: [] }] } as unknown as SampledEvents;
      const notes: Note[] = [];
      const target = { scope: { kind: 'command' }, tasks: [1], cpus: [0], command: null } as const;
      synthesizeStart(sampled, target, new MapWatch(null, new PerfMapKeeper(), null), notes, null);
      assert.deepEqual(
        notes.map(({ kind }) => kind),
        kinds,
      );
      // Root in a container may lack the right, too.
      for (const { text } of notes) assert.match(text, /CAP_SYSLOG|sysctl kernel.kptr_restrict=1/);
    }
  });

  test('refused by the kernel: nothing is written', async () => {
    const sys = new FakeSys();
    sys.refuseOpen = () => 'EBUSY';
    const output = join(directory, 'refused.data');
    await assert.rejects(record({ pids: [process.pid], events: 'cpu-clock', output, sys }), {
      code: 'ERR_EVENT_BUSY',
    });
    assert.ok(!existsSync(output));
  });
});

describe('FileOutput', () => {
  test('an earlier file becomes .old, an empty one does not; the size in the header grows with the rounds', () => {
    const path = join(directory, 'file.data');
    for (const expected of [null, 'earlier']) {
      writeFileSync(path, expected ?? '');
      const output = new FileOutput(path);
      output.begin([]);
      output.writeRound([Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)]);
      output.close();
      assert.equal(existsSync(`${path}.old`) ? readFileSync(`${path}.old`, 'utf8') : null, expected);
      const [dataOffset, dataSize] = [40, 48].map((at) => Number(readFileSync(path).readBigUInt64LE(at)));
      assert.equal(dataOffset! + dataSize!, output.sizeBytes);
      assert.equal(statSync(path).size, output.sizeBytes);
    }
  });
});

describe('FileOutput where another user was first', {
  skip: process.geteuid?.() === 0 ? false : 'only root can give files to another user',
}, () => {
  const written = (path: string) => {
    const output = new FileOutput(path);
    output.begin([]);
    output.close();
    return lstatSync(path);
  };

  test('their file is not filled, even where it is empty, and their link is not followed', () => {
    const path = join(directory, 'theirs.data');
    const victim = join(directory, 'victim');
    writeFileSync(path, '', { mode: 0o666 });
    chownSync(path, 65534, 65534);
    const made = written(path);
    assert.deepEqual([made.uid, made.mode & 0o777], [0, 0o600]);
    for (const content of ['', 'important']) {
      rmSync(path);
      writeFileSync(victim, content);
      symlinkSync(victim, path);
      lchownSync(path, 65534, 65534);
      assert.ok(written(path).isFile());
      assert.equal(readFileSync(victim, 'utf8'), content);
    }
  });

  test('a name of an open descriptor, as /dev/stdout, stays what it is', () => {
    const given = join(directory, 'given.data');
    writeFileSync(given, 'earlier');
    const fd = openSync(given, 'r+');
    const path = join(directory, 'stdout');
    symlinkSync(`/proc/self/fd/${fd}`, path);
    assert.ok(written(path).isSymbolicLink());
    closeSync(fd);
    assert.equal(readFileSync(given, 'latin1').slice(0, 8), 'PERFILE2');
  });
});

describe('build ids', () => {
  test('a pipe in the place of a mapped file is not opened, and nothing waits for it', async () => {
    const writer = await WaitingWriter.at(join(directory, 'mapped'));
    const collector = new BuildIdCollector();
    collector.add({ pid: process.pid, path: writer.path, inode: 0n });
    assert.deepEqual(await collector.finish(), []);
    await writer.assertUnopened();
  });

  test('of files, the kernel and the vdso; not of what was replaced, or is no file', async () => {
    const collector = new BuildIdCollector();
    const pid = process.pid;
    const node = process.execPath;
    collector.add({ pid, path: node, inode: statSync(node, { bigint: true }).ino });
    collector.add({ pid, path: '/bin/sh', inode: 1n });
    for (const path of ['//anon', '[heap]', '[vdso]', '/memfd:x (deleted)', '/no/such/file', 'anon_inode:x'])
      collector.add({ pid, path, inode: 0n });
    const entries = await collector.finish();
    assert.match(collector.notes().join(), /^\/bin\/sh was replaced while it ran, so .* no build id for it$/);
    const paths = entries.map(({ path }) => path);
    assert.ok(
      paths.every((path) => path === '[vdso]' || path === node),
      paths.join(),
    );
    if (spawnSync('readelf', ['--version']).status !== 0) return;
    const notes = spawnSync('readelf', ['-n', node], { encoding: 'utf8' }).stdout;
    const expected = /Build ID: ([0-9a-f]+)/.exec(notes)?.[1];
    assert.equal(entries.find(({ path }) => path === node)?.buildId, expected);
  });
});

test('a program that is replaced while it runs: its build id is that of what ran', async (t) => {
  if (spawnSync('gcc', ['--version']).status !== 0) return t.skip('needs gcc');
  const [program, next] = [join(directory, 'program'), join(directory, 'next')];
  const build = (path: string, code: number) =>
    spawnSync('gcc', ['-Wl,--build-id', '-x', 'c', '-', '-o', path], {
      input: `int main(void) { return ${code}; }`,
    });
  build(program, 1);
  build(next, 2);
  const idOf = (path: string) =>
    /Build ID: ([0-9a-f]+)/.exec(spawnSync('readelf', ['-n', path], { encoding: 'utf8' }).stdout)![1];
  const [ran, other] = [idOf(program), idOf(next)];
  assert.notEqual(ran, other);
  const collector = new BuildIdCollector();
  collector.add({ pid: process.pid, path: program, inode: statSync(program, { bigint: true }).ino });
  renameSync(next, program);
  assert.equal(idOf(program), other);
  assert.deepEqual(
    (await collector.finish()).map(({ path, buildId }) => [path, buildId]),
    [[program, ran]],
  );
  assert.match(collector.notes().join(), /program was replaced while it ran: names are those of what ran/);
});

test('features of the machine, as far as /proc and /sys have them', () => {
  const features = machineFeatures();
  assert.ok(features.cpusOnline! >= 1 && features.cpusAvailable! >= features.cpusOnline!);
  assert.ok(features.totalMemoryKb! > 0n);
  assert.ok(features.pmuMappings!.some(({ name, type }) => name === 'software' && type === 1));
  assert.equal(features.cpuTopology?.cpus?.length ?? features.cpusOnline, features.cpusOnline);
  assert.ok(Object.values(features).every((value) => value !== undefined));
});

test("V8's empty logs of recorded processes are removed, and nothing else", () => {
  const gone = 99_999_999;
  const names = {
    [`isolate-0x1f-${gone}-v8.log`]: 'v8-version,11\nnew,CodeRange,0x1,0\ndelete,Memo',
    [`isolate-0x2f-${gone}-v8.log`]: 'v8-version,11\ncode-creation,LazyCompile,10\n',
    'isolate-0x1f-78-v8.log': 'v8-version,11\n',
    [`other-${gone}-v8.log`]: 'v8-version,11\n',
  };
  for (const [name, text] of Object.entries(names)) writeFileSync(join(directory, name), text);
  const logs = new CommandNames(directory, null);
  // A process that is gone: its directory is that of the launch.
  logs.consider(gone);
  logs.finish();
  const left = Object.keys(names).filter((name) => existsSync(join(directory, name)));
  assert.deepEqual(left, Object.keys(names).slice(1));
});

test('perf maps of a container are kept; what its owner put there to mislead is not followed', async (t) => {
  if (spawnSync('unshare', ['--pid', '--mount', '--fork', '--mount-proc', 'true']).status !== 0)
    return t.skip('needs root and namespaces');
  const target = mkdtempSync(join(directory, 'maps-'));
  const inside = (prepare: string) => {
    const script = `mount -t tmpfs none /tmp; ${prepare}; echo ready; sleep 60`;
    const held = join(directory, `held-${prepare.length}`);
    const start = `unshare --pid --mount --fork --mount-proc sh -c '${script}' > ${held} & echo $!`;
    const outer = Number(
      spawnSync('sh', ['-c', start], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).stdout,
    );
    while (!readFileSync(held, 'utf8').includes('ready'))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    const children = readFileSync(`/proc/${outer}/task/${outer}/children`, 'utf8').trim();
    return { outer, pid: Number(children.split(' ')[0]) };
  };
  const honest = inside('echo 10 5 name > /tmp/perf-1.map');
  const hostile = [
    inside('ln -s /etc/passwd /tmp/perf-1.map'),
    inside('echo 10 5 name > /tmp/perf-1.map; chown 4242 /tmp/perf-1.map'),
    inside('mkfifo /tmp/perf-1.map'),
    // A size, and nothing in it.
    inside('truncate -s 2G /tmp/perf-1.map'),
  ];
  const keeper = new PerfMapKeeper(target);
  for (const { pid } of [honest, ...hostile]) keeper.consider(pid);
  keeper.consider(process.pid);
  for (const { outer, pid } of [honest, ...hostile]) {
    process.kill(pid, 'SIGKILL');
    spawnSync('sh', ['-c', `while kill -0 ${outer} 2>/dev/null; do sleep 0.01; done`]);
  }
  const notes: Parameters<PerfMapKeeper['finish']>[0] = [];
  const packed = decodeRecordedFiles((await keeper.pack(notes))!);
  const maps = packed.filter(({ kind }) => kind === RECORDED_PERF_MAP);
  assert.deepEqual(
    maps.map(({ pid, packed: bytes }) => [pid, inflateSync(bytes).toString()]),
    [[honest.pid, '10 5 name\n']],
  );
  // Of the others it has only when they began: eight bytes each.
  const rest = packed.filter((file) => !maps.includes(file));
  assert.deepEqual(
    rest.map(({ pid, packed: bytes }) => [pid, bytes.length]),
    [...hostile.map(({ pid }) => [pid, 8]), [process.pid, 8]],
  );
  keeper.finish(notes);
  assert.equal(readFileSync(join(target, `perf-${honest.pid}.map`), 'utf8'), '10 5 name\n');
  for (const { pid } of hostile) assert.ok(!existsSync(join(target, `perf-${pid}.map`)), String(pid));
  const texts = notes.map(({ text }) => text);
  assert.equal(texts.length, 2, texts.join('\n'));
  assert.match(texts[0]!, /perf-1\.map is a link: it names nothing of process/);
  assert.match(texts[1]!, new RegExp(`^process ${honest.pid} is process 1 of its container`));
});
