import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { CounterpointError } from '@counterpoint/core/base';
import fc from 'fast-check';
import { until } from '../../../test/until-told.ts';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { Fd, liveHandles, realSys } from '../../kernel/sys/index.ts';
import { connect, listPublished, openCounting, SUMS_PAGE_BYTES, SumsPageReader } from '../counting/index.ts';
import type { Counts } from '../requests/types.ts';
import { publishedAs } from './runtime-directory.ts';
import { SumsPageWriter } from './sums-page.ts';

const runtime = mkdtempSync(join(tmpdir(), 'counterpoint-runtime-'));
process.env['XDG_RUNTIME_DIR'] = runtime;
after(() => rmSync(runtime, { recursive: true }));

/** A process that publishes its page faults and makes some at each line that it reads. */
const PUBLISHER = `
  const { openCounting } = await import(${JSON.stringify(join(import.meta.dirname, '../counting/index.ts'))});
  const session = openCounting({ target: { kind: 'self' }, sets: ['faults:u', { name: 'clock', events: 'task-clock:u' }] });
  await session.publish({ name: 'demo', intervalMs: 20 });
  session.start();
  console.log('up');
  process.stdin.on('data', () => { new Uint8Array(64 << 20).fill(1); console.log('done'); });`;

function startPublisher() {
  const flags = ['--import', 'tsx', '--conditions=counterpoint-source', '--input-type=module'];
  return spawn(process.execPath, [...flags, '-e', PUBLISHER], { stdio: ['pipe', 'pipe', 'inherit'] });
}

test('another process reads the sums and controls the session', async () => {
  const before = liveHandles().length;
  const publisher = startPublisher();
  try {
    await once(publisher.stdout, 'data');
    using remote = await connect(publisher.pid!, 'demo');
    const first = await remote.read();
    assert.deepEqual(
      first.sets.map(({ name }) => name),
      ['faults:u', 'clock'],
    );
    publisher.stdin.write('x');
    await once(publisher.stdout, 'data');
    const second = await remote.read();
    assert.ok(second.sets[0]!.events[0]!.value! > first.sets[0]!.events[0]!.value! + 10_000n);

    // The page follows by itself, and says the same once the session is stopped.
    await remote.stop();
    const stopped = await remote.read();
    const page = remote.sums();
    assert.equal(page.state, 'stopped');
    assert.deepEqual(
      page.sums.map(({ set, event, value }) => [set, event, value]),
      stopped.sets.flatMap(({ name, events }) =>
        events.map(({ requestedName, value }) => [name, requestedName, value]),
      ),
    );
    const { updates, timeNs } = page;
    assert.ok(await until(() => remote.sums().updates > updates && remote.sums().timeNs > timeNs));

    await remote.next('clock');
    await remote.start();
    assert.ok(await until(async () => (await remote.read()).sets[1]!.events[0]!.value! > 0n));
    await remote.reset(['faults:u']);
    assert.equal((await remote.read()).sets[0]!.events[0]!.value, 0n);
    await remote.update({ events: 'faults:u,minor-faults:u' }, 'all');
    assert.equal(remote.sums().sums.length, 2);
    assert.deepEqual((await remote.control()).sets, [
      { name: 'faults:u,minor-faults:u', events: 'faults:u,minor-faults:u' },
    ]);
    await assert.rejects(remote.next('nothing'), { code: 'ERR_NO_EVENT_SET' });
    await assert.rejects(remote.update({ events: 'no-such-event' }), { code: 'ERR_EVENT_SYNTAX' });

    const other = connect(publisher.pid!, 'dmo');
    await assert.rejects(other, /did you mean demo/);
  } finally {
    publisher.kill('SIGKILL');
    await once(publisher, 'exit');
  }
  // What the killed process left is removed by the next who looks.
  assert.deepEqual(listPublished(), []);
  await assert.rejects(connect(publisher.pid!), { code: 'ERR_NOT_PUBLISHED' });
  assert.equal(liveHandles().length, before);
});

test('an answer that is waited for fails when the other process ends', async () => {
  const publisher = startPublisher();
  try {
    await once(publisher.stdout, 'data');
    using remote = await connect(publisher.pid!, 'demo');
    publisher.kill('SIGSTOP');
    const answer = remote.read();
    publisher.kill('SIGKILL');
    await assert.rejects(answer, { code: 'ERR_CLOSED' });
    await assert.rejects(remote.read(), { code: 'ERR_CLOSED' });
  } finally {
    publisher.kill('SIGKILL');
  }
});

test('an answer is waited for so long, or until nobody wants it; the page needs none', async () => {
  const publisher = startPublisher();
  try {
    await once(publisher.stdout, 'data');
    using remote = await connect(publisher.pid!, 'demo', { timeoutMs: 100 });
    publisher.kill('SIGSTOP');
    await assert.rejects(remote.read(), {
      code: 'ERR_REMOTE_TIMEOUT',
      message: new RegExp(`process ${publisher.pid} has not answered .* within 100 ms \\(read\\)`),
    });
    const gone = new AbortController();
    const answer = remote.control({ timeoutMs: Number.POSITIVE_INFINITY, signal: gone.signal });
    gone.abort(new Error('no longer'));
    await assert.rejects(answer, /no longer/);
    await assert.rejects(remote.stop({ signal: gone.signal }), /no longer/);
    await assert.rejects(remote.stop({ timeoutMs: 0 }), { code: 'ERR_INTERVAL' });
    assert.equal(remote.sums().sums.length, 2);
    publisher.kill('SIGCONT');
    // Late answers are nobody's.
    assert.equal((await remote.read({ timeoutMs: 20_000 })).type, 'counts');
    publisher.kill('SIGSTOP');
    const last = remote.read();
    remote.close();
    await assert.rejects(last, { code: 'ERR_CLOSED' });
  } finally {
    publisher.kill('SIGKILL');
  }
});

test('a program in another language reads the page', async (t) => {
  if (spawnSync('python3', ['--version']).status !== 0) return t.skip('python3 is not installed');
  using session = openCounting({ target: { kind: 'self' }, events: 'faults:u' });
  using publication = await session.publish({ name: 'page' });
  session.start();
  new Uint8Array(8 << 20).fill(1);
  session.stop();
  publication.refresh();
  const script = `
import mmap, struct, sys
f = open(sys.argv[1], 'rb'); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
while True:
    s = struct.unpack_from('<I', m, 8)[0]
    at, = struct.unpack_from('<I', m, 48)
    v = struct.unpack_from('<Q', m, at)[0]
    if s % 2 == 0 and s == struct.unpack_from('<I', m, 8)[0]: break
print(v)`;
  const { stdout } = spawnSync('python3', ['-c', script, publication.published.sumsPath], {
    encoding: 'utf8',
  });
  assert.equal(BigInt(stdout.trim()), session.read().sets[0]!.events[0]!.value);
  const { sumsPath, socketPath } = publication.published;
  assert.deepEqual([statSync(sumsPath).mode & 0o777, statSync(socketPath).mode & 0o777], [0o600, 0o600]);
  session.close();
  assert.ok(!existsSync(sumsPath) && !existsSync(socketPath));
});

test('a page that is written all the time is never read torn', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-page-'));
  try {
    const path = join(folder, 'sums');
    writeFileSync(path, new Uint8Array(SUMS_PAGE_BYTES));
    writeFileSync(
      join(folder, 'writer.mjs'),
      `import { openSync, closeSync } from 'node:fs';
      import { parentPort } from 'node:worker_threads';
      (await import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))})).register();
      const { Fd, realSys } = await import(${JSON.stringify(join(import.meta.dirname, '../../kernel/sys/index.ts'))});
      const { SumsPageWriter } = await import(${JSON.stringify(join(import.meta.dirname, 'sums-page.ts'))});
      const fd = new Fd(openSync(${JSON.stringify(path)}, 'r+'), closeSync);
      const mapping = realSys.mapFile(fd, ${SUMS_PAGE_BYTES}, 'write');
      const writer = new SumsPageWriter(mapping.buffer);
      const unit = null, scale = 1, status = 'counted';
      let n = 0n;
      const pause = new Int32Array(new SharedArrayBuffer(4));
      const write = () => {
        n++;
        // Names and their number change now and then, too.
        const size = 20 + Number(n >> 6n) % 5;
        const events = Array.from({ length: size }, (_, at) =>
          ({ requestedName: 'e' + at + ' of ' + size, unit, scale, status, value: n, enabledNs: n, runningNs: n }));
        writer.write({ timeNs: n, elapsedNs: n, sets: [{ name: 'set', events }] }, 'running');
      };
      write();
      parentPort.postMessage('up');
      const end = Date.now() + 20_000;
      let stopped = false;
      parentPort.on('message', () => { stopped = true; });
      const burst = () => { for (let i = 0; i < 200; i++) { write(); Atomics.wait(pause, 0, 0, 0.02); } if (stopped || Date.now() > end) process.exit(); setImmediate(burst); };
      burst();`,
    );
    const worker = new Worker(join(folder, 'writer.mjs'), {
      execArgv: ['--conditions=counterpoint-source'],
    });
    await once(worker, 'message');
    using fd = new Fd(openSync(path, 'r'), closeSync);
    using mapping = realSys.mapFile(fd, SUMS_PAGE_BYTES, 'read');
    const reader = new SumsPageReader(mapping.buffer);
    const seen = new Set<bigint>();
    const end = Date.now() + 5000;
    // Wall time: how long it may take.
    while (seen.size < 300 && Date.now() < end) {
      const { timeNs, elapsedNs, updates, sums } = reader.read();
      assert.deepEqual([elapsedNs, updates], [timeNs, timeNs]);
      assert.equal(sums.length, 20 + (Number(timeNs >> 6n) % 5));
      for (const { event, value, enabledNs, runningNs } of sums) {
        assert.ok(value === timeNs && enabledNs === timeNs && runningNs === timeNs, `${value} at ${timeNs}`);
        assert.ok(event.endsWith(` of ${sums.length}`), event);
      }
      seen.add(timeNs);
    }
    worker.postMessage('stop');
    await once(worker, 'exit');
    assert.ok(seen.size > 100, `only ${seen.size} different readings`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('more events than a page has room for are refused before anything changes', async () => {
  const many = Array.from({ length: 9000 }, (_, index) => `cpu-clock/name=${'x'.repeat(60)}${index}/`);
  const sys = new FakeSys();
  using large = openCounting({ target: { kind: 'self' }, events: many, sys });
  await assert.rejects(large.publish({ name: 'large' }), { code: 'ERR_SUMS_PAGE' });
  using small = openCounting({ target: { kind: 'self' }, events: 'faults:u', sys });
  using publication = await small.publish({ name: 'small', intervalMs: 5 });
  assert.throws(() => small.update({ events: many }), { code: 'ERR_SUMS_PAGE' });
  await sleep(20);
  assert.equal(small.read().sets[0]!.events.length, 1);
  assert.ok(listPublished().some(({ name }) => name === publication.published.name));
  assert.ok(!listPublished().some(({ name }) => name === 'large'));
});

test('a session that cannot be read any more ends its publication with a warning', async () => {
  const sys = new FakeSys();
  sys.mapFile = (fd, sizeBytes, access) => realSys.mapFile(fd, sizeBytes, access);
  using session = openCounting({ target: { kind: 'self' }, events: 'faults:u', sys });
  using publication = await session.publish({ name: 'failing', intervalMs: 5 });
  using remote = await connect(process.pid, 'failing');
  const warned = once(process, 'warning', { signal: AbortSignal.timeout(5000) });
  sys.read = () => {
    throw new Error('the counter is gone');
  };
  // The timer of a publication keeps no program alive.
  const alive = setInterval(() => {}, 1000);
  try {
    const [warning] = await warned;
    assert.match(String(warning), /failing are no longer published: the counter is gone/);
  } finally {
    clearInterval(alive);
  }
  assert.equal(remote.sums().state, 'closed');
  assert.ok(!existsSync(publication.published.sumsPath) && !existsSync(publication.published.socketPath));
});

test('a session of another process is not told to send signals', async () => {
  using session = openCounting({ target: { kind: 'self' }, events: 'faults:u' });
  using _ = await session.publish({ name: 'quiet' });
  using remote = await connect(process.pid, 'quiet');
  const overflows = [{ event: 'faults:u', period: 5, signal: { number: 10, tid: process.pid } }];
  await assert.rejects(remote.update({ events: 'faults:u', overflows }), {
    code: 'ERR_REMOTE_SIGNAL',
    message: /overflow of faults:u/,
  });
  assert.equal((await remote.control()).overflows, undefined);
});

test('a page that a terminated worker left goes when somebody looks; one that is just made stays', () => {
  const left = publishedAs(process.pid, 'left');
  const made = publishedAs(process.pid, 'made');
  for (const { sumsPath } of [left, made]) writeFileSync(sumsPath, '');
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(left.sumsPath, longAgo, longAgo);
  listPublished();
  assert.deepEqual([existsSync(left.sumsPath), existsSync(made.sumsPath)], [false, true]);
  rmSync(made.sumsPath);
});

test('names that cannot be, and a name that is taken', async () => {
  using session = openCounting({ target: { kind: 'self' }, events: 'faults:u' });
  await assert.rejects(session.publish({ name: '../escape' }), { code: 'ERR_PUBLISHED_NAME' });
  using first = await session.publish();
  await assert.rejects(session.publish(), { code: 'ERR_PUBLISHED_NAME' });
  first.close();
  using second = await session.publish();
  assert.equal(second.published.name, 'counters');
});

test('a socket that sends nonsense is closed or told, and the session goes on', async () => {
  using session = openCounting({ target: { kind: 'self' }, events: 'faults:u' });
  using publication = await session.publish({ name: 'nonsense' });
  const talk = async (text: string) => {
    const socket = connectSocket(publication.published.socketPath);
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
      socket.end();
    });
    socket.on('error', () => {});
    socket.write(text);
    await once(socket, 'close');
    return answer;
  };
  assert.equal(await talk('not json\n'), '');
  assert.match(await talk('{"id":7,"do":"fly"}\n'), /"id":7,"error":.*ERR_REQUEST/);
  assert.match(await talk('null\n'), /ERR_REQUEST/);
  assert.match(await talk('{"id":1,"do":"next","set":{}}\n'), /set should be/);
  assert.match(await talk('{"id":1,"do":"update","control":{"sets":3}}\n'), /ERR_CONTROL_DATA/);
  using remote = await connect(process.pid, 'nonsense');
  assert.equal((await remote.read()).type, 'counts');
});

const COUNTS: Counts = {
  type: 'counts',
  version: 1,
  timeNs: 5n,
  elapsedNs: 3n,
  sets: [],
};

test('no page makes its reader throw anything else, or wait for ever', () => {
  const writer = () => {
    const memory = new ArrayBuffer(SUMS_PAGE_BYTES);
    new SumsPageWriter(memory).write(COUNTS, 'running');
    return memory;
  };
  const edits = fc.array(fc.tuple(fc.nat(127), fc.nat(255)), { maxLength: 8 });
  fc.assert(
    fc.property(edits, (changes) => {
      const memory = writer();
      const bytes = new Uint8Array(memory);
      for (const [at, value] of changes) bytes[at] = value;
      // An odd sequence is a writer that died: told after a bound, which is tried once below.
      bytes[8]! &= 0xfe;
      try {
        new SumsPageReader(memory).read();
      } catch (error) {
        assert.ok(error instanceof CounterpointError, String(error));
      }
    }),
  );
  const dead = writer();
  new Uint8Array(dead)[8]! |= 1;
  assert.throws(() => new SumsPageReader(dead).read(), { code: 'ERR_SUMS_PAGE_BUSY' });
  assert.throws(() => new SumsPageReader(new ArrayBuffer(16)), { code: 'ERR_SUMS_PAGE' });
});

test('a directory that others may look into is not used', () => {
  const open = mkdtempSync(join(tmpdir(), 'counterpoint-open-'));
  try {
    writeFileSync(join(open, 'x'), '');
    const script = `
      process.env.XDG_RUNTIME_DIR = ${JSON.stringify(open)};
      const { runtimeDirectory } = await import(${JSON.stringify(join(import.meta.dirname, 'runtime-directory.ts'))});
      (await import('node:fs')).chmodSync(${JSON.stringify(open)}, 0o755);
      console.log(runtimeDirectory());`;
    const flags = ['--import', 'tsx', '--conditions=counterpoint-source', '--input-type=module'];
    const { stdout } = spawnSync(process.execPath, [...flags, '-e', script], { encoding: 'utf8' });
    assert.ok(stdout.trim() !== '' && !stdout.includes(open), stdout);
    assert.equal(readFileSync(join(open, 'x'), 'utf8'), '');
  } finally {
    rmSync(open, { recursive: true });
  }
});
