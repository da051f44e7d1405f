/**
 * Traces that name more of the code than any program executes: tables stay as small as they say, and
 * nothing is lost from the totals.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodeImage } from '../../code/image/index.ts';
import { KIND_CALL, KIND_JUMP_INDIRECT, KIND_OTHER } from '../../code/instructions/index.ts';
import { collectByGraph } from '../../test/graph-counts.ts';
import type { CodeGraph } from '../graph/index.ts';
import { PT_IP_SEXT_48 } from '../packets/opcodes.ts';
import { PACKET_PIP, PACKET_TIP } from '../packets/packet-kinds.ts';
import { PacketWriter } from '../packets/packet-writer.ts';
import { AddressTable } from './calls/address-table.ts';
import { ExactProfile } from './exact-profile.ts';
import { AddressHash, profileAnswer, profileTrace, streamInstructions } from './index.ts';
import { NodeCounts } from './node-counts.ts';
import { ProfileCollector } from './profile-trace.ts';
import { type GraphEngines, MOST_GRAPHS, TraceRun } from './run-trace.ts';
import { profileOfExact } from './tables/index.ts';

const ADDRESS = 0x400000;

function imageOf(code: Uint8Array): CodeImage {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: BigInt(ADDRESS), bytes: code });
  return image;
}

/** PSB+ in 64-bit mode at the first address. */
const PSB_PLUS = Uint8Array.from([
  ...new Array(8).fill([0x02, 0x82]).flat(),
  ...[0x99, 0x01, 0x7d, 0x00, 0x00, ADDRESS >> 16, 0, 0, 0, 0x02, 0x23],
]);

/** `jmp *rax`, nothing else. */
function indirectJumps(count: number): Uint8Array {
  return Uint8Array.from({ length: 2 * count }, (_, at) => (at % 2 === 0 ? 0xff : 0xe0));
}

/** TIP packets to jumps, `jumpAt(0)` first. */
function tips(count: number, jumpAt: (index: number) => number): Uint8Array {
  const bytes = new Uint8Array(PSB_PLUS.length + count * 5);
  const view = new DataView(bytes.buffer);
  bytes.set(PSB_PLUS);
  for (let index = 0, at = PSB_PLUS.length; index < count; index++, at += 5) {
    bytes[at] = 0x4d;
    view.setUint32(at + 1, ADDRESS + 2 * jumpAt(index), true);
  }
  return bytes;
}

function hashOf(bytes: Uint8Array, image: CodeImage, exactOnly: boolean): string {
  const hash = new AddressHash();
  streamInstructions(bytes, image, { exactOnly }, hash.add);
  return `${hash} ${hash.count}`;
}

test('a graph has no more nodes than it says, also where nothing ever leaves it', () => {
  const count = 600_000;
  const bytes = tips(count, (index) => index);
  const image = imageOf(indirectJumps(count));
  const sizes: number[] = [];
  const engines: GraphEngines = new Map();
  const { collector, counts } = collectByGraph((graph) => sizes.push(graph.size));
  const { errors } = new TraceRun(bytes, image, {}, collector, engines).run();
  assert.equal(errors.total, 0);
  for (const [graph, own] of counts) {
    sizes.push(graph.size);
    collector.profile.addGraph(own);
  }
  assert.equal(sizes.length, 2);
  for (const size of sizes) assert.ok(size < (1 << 19) + 100, `${size} nodes`);
  const exact = profileTrace(bytes, image, { exactOnly: true });
  assert.equal(exact.profile.rows, count);
  assert.deepEqual(collector.finish().sorted().toColumns(), exact.profile.sorted().toColumns());
});

test('branches between all places and all others: a table that is full goes on to the profile', () => {
  // With a prime number of places each step goes to all of them; another step each
  // time, and every pair is new.
  const jumps = 997;
  const bytes = tips(600_000, (index) => (index * (1 + Math.floor(index / jumps))) % jumps);
  const image = imageOf(indirectJumps(jumps));
  let spills = 0;
  let most = 0;
  const collector = new ProfileCollector((graph) => {
    const own = new NodeCounts(graph, () => {
      spills++;
      most = Math.max(most, own.targets.size);
      collector.profile.addGraph(own.take());
      assert.equal(own.targets.size, 0);
    });
    return own;
  });
  const all: NodeCounts[] = [];
  const { counts } = collector;
  const run = new TraceRun(
    bytes,
    image,
    {},
    Object.assign(collector, {
      counts: (graph: CodeGraph) => {
        const own = counts(graph);
        all.push(own);
        return own;
      },
    }),
  );
  run.run();
  for (const own of all) collector.profile.addGraph(own);
  const exact = profileTrace(bytes, image, { exactOnly: true });
  assert.deepEqual(collector.finish().sorted().toColumns(), exact.profile.sorted().toColumns());
  assert.ok(exact.profile.branches.size > 1 << 19);
  assert.deepEqual([spills, most], [1, 1 << 19]);
});

test('more steps than their table has room for, with nothing between them but outcomes', () => {
  // `je` to the next instruction, with one outcome a byte: each is a row of its own. Then 47 at
  // once. At the end a jump back.
  const branches = 90_000;
  const code = new Uint8Array(2 * branches + 2);
  for (let at = 0; at < branches; at++) code[2 * at] = 0x74;
  code.set([0xff, 0xe0], 2 * branches);
  const long = [0x02, 0xa3, 0x55, 0x55, 0x55, 0x55, 0x55, 0x80];
  const longs = Math.floor(branches / 47);
  const back = tips(1, () => 0).subarray(PSB_PLUS.length);
  const lap = [
    ...Array.from({ length: branches }, (_, at) => (at % 3 === 0 ? 0x04 : 0x06)),
    ...back,
    ...Array.from({ length: longs }, () => long).flat(),
    ...Array.from({ length: branches - 47 * longs }, () => 0x06),
    ...back,
  ];
  const bytes = Uint8Array.from([...PSB_PLUS, ...lap, ...lap]);
  const image = imageOf(code);
  const exact = profileTrace(bytes, image, { exactOnly: true });
  const graph = profileTrace(bytes, image);
  assert.deepEqual(graph.errors, exact.errors);
  assert.equal(exact.profile.totals().instructions, 4 * branches + 4);
  assert.deepEqual(graph.profile.sorted().toColumns(), exact.profile.sorted().toColumns());
  assert.equal(hashOf(bytes, image, false), hashOf(bytes, image, true));
});

test('a profile without room for more keeps its totals, and says what has no rows', () => {
  const profile = new ExactProfile({ rows: 4, edges: 2 });
  const first = profile.add(0x10, 0, 2, KIND_JUMP_INDIRECT, 5);
  profile.addBranch(first, 0x20, 0, 2);
  profile.addBranch(first, 0x30, 0, 3);
  // No third pair, and so no row for where it went.
  profile.addBranch(first, 0x40, 0, 7);
  assert.equal(profile.rows, 3);
  profile.add(0x50, 0, 1, KIND_OTHER, 1);
  assert.equal(profile.leftOut.instructions, 0);
  const none = profile.add(0x60, 0, 5, KIND_CALL, 11);
  assert.ok(none < 0);
  profile.addBranch(none, 0x10, 0, 11);
  profile.add(0x50, 0, 1, KIND_OTHER, 1);
  profile.addBranch(first, 0x20, 0, 1);
  const expected = { instructions: 11, branches: 11, calls: 11, edges: 18 };
  assert.deepEqual(profile.leftOut, expected);
  const totals = { instructions: 18, blocks: 16, branches: 16, calls: 11 };
  assert.deepEqual(profile.totals(), totals);
  const sorted = profile.sorted();
  assert.deepEqual([sorted.totals(), sorted.leftOut], [totals, expected]);
  // Two of them together, as workers' are.
  const joined = new ExactProfile({ rows: 4, edges: 2 });
  joined.addColumns(profile.toColumns());
  joined.addProfile(profile);
  assert.equal(joined.totals().instructions, 36);
  assert.deepEqual(joined.leftOut, { instructions: 22, branches: 22, calls: 22, edges: 36 });
  const answerOf = (one: ExactProfile) =>
    profileAnswer({ totals: one.totals(), leftOut: one.leftOut, errors: [], overflows: 0 });
  const answer = answerOf(joined);
  assert.deepEqual(answer.leftOut, { instructions: '22', branches: '22', calls: '22', edges: '36' });
  // What is made of it says so, too.
  const { loss } = profileOfExact(joined);
  assert.deepEqual(
    loss?.map(({ kind, count }) => [kind, count]),
    [['profile-full', '22']],
  );
  assert.ok(!('leftOut' in answerOf(new ExactProfile())));
});

test('addresses of calls: those without room are unknown, and counted', () => {
  const table = new AddressTable();
  for (let row = 0; row < 1 << 21; row++) table.rowOf(row, 1);
  assert.equal(table.length, 1 << 21);
  assert.equal(table.rowOf(7, 1), 7);
  assert.equal(table.leftOut, 0);
  assert.equal(table.rowOf(-1, 1), -1);
  assert.equal(table.length, 1 << 21);
  assert.equal(table.leftOut, 1);
});

test('of more address spaces than anybody has, the graphs of the latest are kept, and the counts of all', () => {
  // mov cr3, rax; jmp *rax
  const image = imageOf(Uint8Array.of(0x0f, 0x22, 0xd8, 0xff, 0xe0));
  const writer = new PacketWriter();
  const spaces = 1000;
  for (let space = 1; space <= spaces; space++) {
    writer.put(PACKET_PIP, { lo: (space % 400) << 12 });
    writer.put(PACKET_TIP, { type: PT_IP_SEXT_48, lo: ADDRESS, hi: 0 });
  }
  const bytes = Uint8Array.from([...PSB_PLUS, ...writer.bytes()]);
  const engines: GraphEngines = new Map();
  const { collector, counts } = collectByGraph();
  const { errors } = new TraceRun(bytes, image, { useCr3: true }, collector, engines).run();
  assert.equal(errors.total, 0);
  assert.equal(engines.size, MOST_GRAPHS);
  assert.equal(counts.size, MOST_GRAPHS);
  for (const own of counts.values()) collector.profile.addGraph(own);
  const exact = profileTrace(bytes, image, { useCr3: true, exactOnly: true });
  const profile = collector.finish().sorted();
  assert.ok(exact.profile.totals().instructions >= 2 * spaces);
  assert.deepEqual(profile.toColumns(), exact.profile.sorted().toColumns());
});
