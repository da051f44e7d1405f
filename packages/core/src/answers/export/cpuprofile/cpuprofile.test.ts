import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NONE, Profile } from '../../../profile/tables/index.ts';
import { collectText } from '../../../test/collect.ts';
import { bigProfile, ExampleBuilder, hostileProfile, smallProfile } from '../../../test/example-profile.ts';
import { threadOfCpuProfile, writeCpuProfile } from './cpuprofile.ts';

interface CpuProfile {
  nodes: {
    id: number;
    callFrame: {
      functionName: string;
      scriptId: string;
      url: string;
      lineNumber: number;
      columnNumber: number;
    };
    hitCount: number;
    children?: number[];
  }[];
  startTime: number;
  endTime: number;
  samples: number[];
  timeDeltas: number[];
  counterpoint: { thread: { tid: number } | null; otherThreads: number; loss: unknown[] };
}

/**
 * What readers of the format stand on: a tree, whose nodes have the samples, at times that do not go back.
 */
function written(profile: Profile): CpuProfile {
  const file: CpuProfile = JSON.parse(collectText(writeCpuProfile(profile)));
  const byId = new Map(file.nodes.map((node) => [node.id, node]));
  assert.equal(byId.size, file.nodes.length);
  const parents = new Map<number, number>();
  for (const { id, children = [] } of file.nodes)
    for (const child of children) {
      assert.ok(byId.has(child), `node ${id} has a child ${child} that is not there`);
      assert.ok(!parents.has(child), `node ${child} has two parents`);
      parents.set(child, id);
    }
  assert.deepEqual(
    file.nodes.filter(({ id }) => !parents.has(id)).map(({ callFrame }) => callFrame.functionName),
    ['(root)'],
  );
  const hits = new Map<number, number>();
  for (const id of file.samples) {
    assert.ok(byId.has(id));
    hits.set(id, (hits.get(id) ?? 0) + 1);
  }
  for (const { id, hitCount } of file.nodes) assert.equal(hitCount, hits.get(id) ?? 0);
  assert.equal(file.timeDeltas.length, file.samples.length);
  assert.ok(file.timeDeltas.every((delta) => Number.isSafeInteger(delta) && delta >= 0));
  const sum = file.timeDeltas.reduce((all, delta) => all + delta, 0);
  assert.ok(file.startTime + sum <= file.endTime, `${sum} us of ${file.endTime - file.startTime}`);
  return file;
}

/** A thread's samples: end in milliseconds, length, function. */
function timelineProfile(
  rows: readonly (readonly [number, number, string])[],
  unit = 'nanoseconds',
): Profile {
  const builder = new ExampleBuilder();
  const jit = builder.binary('/tmp/perf-1.map', 'jit');
  const event = builder.event({ name: 'cpu-clock', unit });
  const thread = builder.thread(1, 1, 'node');
  for (const [endMs, ms, name] of rows) {
    const stack = name === '' ? NONE : builder.stack([builder.frame(jit, name, BigInt(name.length))]);
    builder.sample({ timeNs: endMs * 1e6, thread, stack, event, weight: ms * 1e6, cpu: 0 });
  }
  return builder.profile;
}

/** `name at`, in milliseconds from the start. */
function moments({ nodes, samples, timeDeltas }: CpuProfile): string[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, callFrame.functionName]));
  let timeUs = 0;
  return samples.map((id, at) => `${names.get(id)} ${(timeUs += timeDeltas[at]!) / 1000}`);
}

test('profiles of all kinds give a file that readers can stand on', () => {
  for (const profile of [smallProfile(), hostileProfile(), bigProfile(5000, 2000), new Profile()])
    written(profile);
});

test('a sample of a clock is the time before it, and gaps are idle', () => {
  const file = written(
    timelineProfile([
      [101, 1, 'JS:a /a.js:1:1'],
      [102, 1, 'JS:b /a.js:2:1'],
      [106, 1, 'JS:a /a.js:1:1'],
      [107, 1, ''],
    ]),
  );
  assert.deepEqual(moments(file), ['a 0', 'b 1', '(idle) 2', '(idle) 3', '(idle) 4', 'a 5', '(program) 6']);
  assert.equal(file.endTime - file.startTime, 7000);
});

test('events that count something else than time have no idle time', () => {
  const rows = [
    [1, 5, 'JS:a /a.js:1:1'],
    [9, 5, 'JS:b /a.js:2:1'],
  ] as const;
  assert.deepEqual(moments(written(timelineProfile(rows, 'faults'))), ['a 0', 'b 8']);
});

test('places are those of the protocol: from 0, and -1 where there is none', () => {
  const file = written(
    timelineProfile([
      [1, 1, 'JS:work file:///app/a.js:3:7'],
      [2, 1, 'JS:(anonymous) /app/ä b.js:1:1'],
      [3, 1, 'JS:read node:fs:10:2'],
    ]),
  );
  const frames = file.nodes.slice(3).map(({ callFrame }) => callFrame);
  assert.deepEqual(frames, [
    { functionName: 'work', scriptId: '1', url: 'file:///app/a.js', lineNumber: 2, columnNumber: 6 },
    { functionName: '', scriptId: '2', url: 'file:///app/%C3%A4%20b.js', lineNumber: 0, columnNumber: 0 },
    { functionName: 'read', scriptId: '3', url: 'node:fs', lineNumber: 9, columnNumber: 1 },
  ]);
});

test('a long pause does not make a long file', () => {
  const file = written(
    timelineProfile([
      [1, 1, 'JS:a /a.js:1:1'],
      [100_000_000, 1, 'JS:a /a.js:1:1'],
    ]),
  );
  assert.ok(file.samples.length < 300_000, `${file.samples.length} samples`);
  assert.ok(Math.abs(file.endTime - file.startTime - 1e11) < 1e7);
});

test('the thread that JavaScript ran on is shown, and the others are counted', () => {
  const builder = new ExampleBuilder();
  const jit = builder.binary('/tmp/perf-1.map', 'jit');
  const native = builder.binary('/bin/node', 'user');
  const event = builder.event({ name: 'cpu-clock', unit: 'nanoseconds' });
  const script = builder.stack([builder.frame(jit, 'JS:a /a.js:1:1', 1n)]);
  const other = builder.stack([builder.frame(native, 'compile', 2n)]);
  const sample = (tid: number, timeNs: number, stack: number) =>
    builder.sample({ timeNs, thread: builder.thread(1, tid, 'node'), stack, event, weight: 1e6, cpu: 0 });
  for (let n = 1; n <= 9; n++) sample(2, n * 1e6, other);
  sample(1, 1e6, script);
  const { thread, otherThreads } = written(builder.profile).counterpoint;
  assert.deepEqual([thread?.tid, otherThreads], [1, 1]);
  assert.deepEqual(threadOfCpuProfile(builder.profile, 0), { comm: 'node', pid: 1, tid: 1, others: 1 });
  assert.equal(threadOfCpuProfile(new Profile(), 0), null);
});
