/**
 * What begins and ends when, in both formats, against the stacks of the samples. Chrome's is read by the
 * rules of its Trace Event Format, Perfetto's by its .proto files.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NONE, type Profile } from '../../../profile/tables/index.ts';
import { collectBytes, collectText } from '../../../test/collect.ts';
import { bigProfile, ExampleBuilder, hostileProfile, smallProfile } from '../../../test/example-profile.ts';
import { one, type PerfettoMessage, readPerfetto } from '../../../test/read-perfetto.ts';
import { lossLine } from '../loss-words.ts';
import { labelFrames } from '../stacks/frame-labels.ts';
import { writeChromeTrace } from './chrome-trace.ts';
import { writePerfetto } from './perfetto.ts';

interface Edge {
  tid: number;
  /** Since the profile's base. */
  timeNs: number;
  /** Null: the innermost one ends. */
  name: string | null;
}

/** An object of the Trace Event Format, as far as it is used here. */
interface TraceEvent {
  ph: string;
  pid: number;
  tid: number;
  ts?: number;
  name?: string;
  cat?: string;
  args?: { name: string };
}

function chromeEvents(text: string): TraceEvent[] {
  const { traceEvents } = JSON.parse(text) as { traceEvents: TraceEvent[] };
  for (const { ph, pid, tid, ts, name } of traceEvents) {
    assert.ok(Number.isInteger(pid) && Number.isInteger(tid));
    assert.ok(['B', 'E', 'M'].includes(ph), ph);
    assert.equal(typeof ts, ph === 'M' ? 'undefined' : 'number');
    assert.equal(typeof name, ph === 'E' ? 'undefined' : 'string');
  }
  return traceEvents;
}

function chromeEdges(profile: Profile): Edge[] {
  const text = collectText(writeChromeTrace(profile));
  // Microseconds; JSON's numbers are too coarse for the nanoseconds of large times:
  // digits are read as they stand.
  const digits = [...text.matchAll(/"ts":(\d+)\.(\d{3})[,}]/g)].map(([, us, ns]) => BigInt(us! + ns!));
  const edges = chromeEvents(text).filter(({ ph }) => ph !== 'M');
  assert.equal(edges.length, digits.length);
  return edges.map(({ tid, ph, name }, at) => ({
    tid,
    timeNs: Number(digits[at]! - profile.baseTimeNs),
    name: ph === 'B' ? name! : null,
  }));
}

/** Of the tracks that Perfetto gives to threads, by their numbers. */
function perfettoEdges(profile: Profile): { edges: Edge[]; notes: string[] } {
  const { events } = readPerfetto(collectBytes(writePerfetto(profile)));
  const notes = events.filter(({ type }) => type === 'INSTANT').map(({ name }) => name!);
  const edges = events
    .filter(({ type }) => type !== 'INSTANT')
    .map(({ type, timestampNs, name, track }) => {
      assert.ok(type === 'SLICE_BEGIN' ? name !== null : type === 'SLICE_END', type);
      const thread = one<PerfettoMessage>(track, 'thread')!;
      return { tid: Number(one(thread, 'tid')), timeNs: Number(timestampNs - profile.baseTimeNs), name };
    });
  return { edges, notes };
}

/** Outermost first; of a row of `Profile.stacks`. */
function stackNames(profile: Profile): (stack: number) => string[] {
  const { labels, ofFrame } = labelFrames(profile);
  return (stack) => {
    const names: string[] = [];
    for (let row = stack; row !== NONE; row = profile.stacks.prefix.at(row))
      names.unshift(labels[ofFrame[profile.stacks.frame.at(row)]!]!.text);
    return names;
  };
}

/** At the time of each sample, what is open on its thread is the stack of the last sample of that time. */
function assertStacks(profile: Profile, edges: readonly Edge[]): void {
  const { samples, threads } = profile;
  const namesOf = stackNames(profile);
  let checked = 0;
  for (const tid of new Set(edges.map((edge) => edge.tid))) {
    const own = edges.filter((edge) => edge.tid === tid);
    const rows = Array.from({ length: samples.length }, (_, row) => row)
      .filter((row) => samples.event.at(row) === 0 && threads.tid.at(samples.thread.at(row)) === tid)
      .sort((one, other) => samples.timeNs.at(one) - samples.timeNs.at(other));
    const open: string[] = [];
    let at = 0;
    const replayUntil = (timeNs: number) => {
      for (; at < own.length && own[at]!.timeNs <= timeNs; at++)
        if (own[at]!.name === null) assert.notEqual(open.pop(), undefined, 'what ends has begun');
        else open.push(own[at]!.name!);
    };
    for (const [place, row] of rows.entries()) {
      const timeNs = Math.round(samples.timeNs.at(row));
      const next = rows[place + 1];
      // The last ones end at once.
      if (next === undefined || Math.round(samples.timeNs.at(next)) === timeNs) continue;
      replayUntil(timeNs);
      assert.deepEqual(open, namesOf(samples.stack.at(row)), `tid ${tid} at ${timeNs}`);
      checked++;
    }
    replayUntil(Number.POSITIVE_INFINITY);
    assert.deepEqual(open, [], 'all that began has ended');
  }
  assert.ok(checked > 0);
}

for (const [what, profile] of [
  ['the small profile', smallProfile()],
  ['a profile of many samples', bigProfile(300, 60)],
] as const)
  test(`${what}: what is open at a time is the stack of then, in both formats`, () => {
    const edges = chromeEdges(profile);
    assertStacks(profile, edges);
    const perfetto = perfettoEdges(profile);
    assert.deepEqual(perfetto.edges, edges);
    assert.equal(perfetto.notes.length, 1);
    assert.ok(perfetto.notes[0]!.endsWith(lossLine(profile)));
  });

test('a function that is called twice is two slices; one that stays is one', () => {
  const example = new ExampleBuilder();
  const event = example.event({ name: 'calls' });
  const program = example.binary('/bin/program', 'user');
  const thread = example.thread(7, 8, 'program');
  const [main, parse] = ['main', 'parse'].map((name, at) => example.frame(program, name, BigInt(at)));
  const outer = example.stack([main!]);
  const inner = example.stack([main!, parse!]);
  for (const [timeNs, stack] of [
    [10, outer],
    [20, inner],
    [30, outer],
    [40, inner],
    [50, inner],
  ] as const)
    example.sample({ timeNs, thread, event, stack });
  // Not to be had in a number of JSON.
  example.profile.baseTimeNs = 2n ** 60n + 999n;
  assert.deepEqual(
    chromeEdges(example.profile).map(({ timeNs, name }) => [timeNs, name]),
    [
      [10, 'main'],
      [20, 'parse'],
      [30, null],
      [40, 'parse'],
      [50, null],
      [50, null],
    ],
  );
  assert.deepEqual(perfettoEdges(example.profile).edges, chromeEdges(example.profile));
});

test('processes and threads have their names and numbers; what nobody knows is a track with a name', () => {
  const example = new ExampleBuilder();
  const event = example.event({ name: 'calls' });
  const stack = example.stack([example.frame(example.binary('/bin/program', 'user'), 'main', 1n)]);
  const threads = [
    example.thread(7, 7, 'program'),
    example.thread(7, 8, 'worker'),
    // Who runs where nobody runs, and samples that say nothing of it.
    example.thread(0, 0, 'swapper'),
    example.thread(-1, -1, 'unknown'),
  ];
  for (const thread of threads) example.sample({ timeNs: 0, thread, event, stack });
  const { tracks, events } = readPerfetto(collectBytes(writePerfetto(example.profile)));
  const [note, ...others] = tracks;
  assert.deepEqual(note!['name'], ['counterpoint']);
  const described = others.map(({ uuid: _, parent_uuid: __, ...rest }) => rest);
  const process = (pid: bigint, process_name: string) => ({
    process: [{ pid: [pid], process_name: [process_name] }],
  });
  const thread = (pid: bigint, tid: bigint, thread_name: string) => ({
    thread: [{ pid: [pid], tid: [tid], thread_name: [thread_name] }],
  });
  assert.deepEqual(described, [
    process(7n, 'program'),
    process(0n, 'swapper'),
    thread(7n, 7n, 'program'),
    thread(7n, 8n, 'worker'),
    thread(0n, 0n, 'swapper'),
    { name: ['unknown'] },
  ]);
  const uuids = tracks.map((track) => one<bigint>(track, 'uuid')!);
  assert.equal(new Set(uuids).size, uuids.length);
  assert.ok(!uuids.includes(0n));
  for (const track of others.filter((track) => track['thread'] !== undefined)) {
    const parent = others.find((other) => other['uuid']![0] === track['parent_uuid']![0])!;
    const pid = (message: PerfettoMessage, name: string) => one(one<PerfettoMessage>(message, name)!, 'pid');
    assert.equal(pid(parent, 'process'), pid(track, 'thread'));
  }
  const begins = events.filter(({ type }) => type === 'SLICE_BEGIN');
  assert.deepEqual(
    begins.map(({ name, categories, timestampNs }) => [name, categories, timestampNs]),
    threads.map(() => ['main', ['/bin/program'], 0n]),
  );
  const named = chromeEvents(collectText(writeChromeTrace(example.profile))).filter(({ ph }) => ph === 'M');
  assert.deepEqual(
    named.map(({ name, pid, tid, args }) => [name, pid, tid, args!.name]),
    [
      ['process_name', 7, 7, 'program'],
      ['process_name', 0, 0, 'swapper'],
      ['process_name', -1, -1, 'unknown'],
      ['thread_name', 7, 7, 'program'],
      ['thread_name', 7, 8, 'worker'],
      ['thread_name', 0, 0, 'swapper'],
      ['thread_name', -1, -1, 'unknown'],
    ],
  );
});

test('names that are hostile stay names', () => {
  const profile = hostileProfile();
  const { events } = readPerfetto(collectBytes(writePerfetto(profile)));
  assert.equal(events.filter(({ type }) => type !== 'INSTANT').length, chromeEdges(profile).length);
});
