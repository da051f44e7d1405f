/**
 * System calls, interrupts and where tracing is off: the compiled graph goes over them, and tells
 * what the exact decoder would.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memorySource, toFloat } from '@counterpoint/core/base';
import { Random } from '../../../../core/src/test/random.ts';
import { CodeImage } from '../../code/image/index.ts';
import { collectByGraph } from '../../test/graph-counts.ts';
import { imageOfCode, randomCode } from '../../test/random-code.ts';
import { joinChunks } from '../../test/real-programs.ts';
import { type EncodingOptions, ExecutionEncoder, RandomWalk } from '../execution/index.ts';
import {
  EVENT_ASYNC_BRANCH,
  EVENT_ASYNC_DISABLED,
  EVENT_DISABLED,
  EVENT_ENABLED,
  EVENT_PAGING,
  type ExecutedInstruction,
  FLOW_END,
  type FlowEvent,
} from '../flow/index.ts';
import type { CodeGraph } from '../graph/index.ts';
import { errataOf, NO_ERRATA } from '../packets/errata.ts';
import { PacketCursor } from '../packets/packet-cursor.ts';
import { PACKET_CBR, PACKET_FUP, PACKET_TNT8, PACKET_TSC } from '../packets/packet-kinds.ts';
import { CallTrace, profileTrace, type RunTraceOptions, type TraceListener, TraceRun } from './index.ts';
import { NodeAddresses } from './node-addresses.ts';
import type { GraphEngines } from './run-trace.ts';

const ADDRESS = 0x401000;
const SETTINGS = { mtcFreq: 3, nomFreq: 21, cpuid0x15Eax: 1, cpuid0x15Ebx: 84 };
const TSX_ABORT = [0x99, 0x22];
const CBR = [0x02, 0x03, 30, 0];
const CYC_CUT_BY_OVERFLOW = [0x0f, 0x02, 0xf3];
const CHANGES: ReadonlySet<number> = new Set([
  EVENT_ENABLED,
  EVENT_DISABLED,
  EVENT_ASYNC_BRANCH,
  EVENT_ASYNC_DISABLED,
]);

/** Everything in its order, as lines. */
class Listing implements TraceListener {
  readonly lines: string[] = [];
  readonly #addresses = new Map<CodeGraph, NodeAddresses>();

  onNodes = (graph: CodeGraph, nodes: Int32Array, count: number): void => {
    const known = this.#addresses.get(graph) ?? new NodeAddresses(graph);
    this.#addresses.set(graph, known);
    for (const node of nodes.subarray(0, count)) {
      const first = known.firstOf(node);
      for (let at = first; at < first + graph.instructions.at(node); at++)
        this.lines.push(`${known.hi.at(at)}:${known.lo.at(at)}`);
    }
  };

  onInstruction({ ipLo, ipHi }: ExecutedInstruction): void {
    this.lines.push(`${ipHi}:${ipLo}`);
  }

  onEvent(
    { kind, isStatus, isIpSuppressed, isResumed, ...event }: FlowEvent,
    ipLo: number,
    ipHi: number,
  ): void {
    if (isStatus || !CHANGES.has(kind)) return;
    const { ipLo: lo, ipHi: hi, toLo, toHi } = event;
    this.lines.push(
      `event ${kind} at ${ipHi}:${ipLo}, ${isIpSuppressed} ${isResumed} ${hi}:${lo} ${toHi}:${toLo}`,
    );
  }

  onBreak(code: number, ipLo: number, ipHi: number): void {
    this.lines.push(`break ${code} ${ipHi}:${ipLo}`);
  }
}

function listingOf(bytes: Uint8Array, image: CodeImage, options: RunTraceOptions): string[] {
  const listing = new Listing();
  const { errors } = new TraceRun(bytes, image, options, listing).run();
  return [...listing.lines, JSON.stringify(errors.list())];
}

function profileOf(bytes: Uint8Array, image: CodeImage, options: RunTraceOptions): unknown {
  const { profile, errors, overflows } = profileTrace(bytes, image, options);
  return [profile.sorted().toColumns(), errors, overflows];
}

function callsOf(bytes: Uint8Array, image: CodeImage, options: RunTraceOptions): string[] {
  const lines: string[] = [];
  const trace = new CallTrace(bytes, image, options, {
    onLeave: ({ kindName, leftName, functionRow, callerRow, depth, instructions }) => {
      // Rows are numbered as they are met: only their addresses are the same.
      const [at, from] = [functionRow, callerRow].map((row) => (row < 0 ? '' : trace.addresses.loOf(row)));
      lines.push(`${kindName} ${leftName} ${at} ${from} ${depth} ${instructions}`);
    },
  });
  const { instructions, branches } = trace.run();
  return [...lines, `${instructions} ${branches}`];
}

/** Whole listings are long: where they part is what matters. */
function assertSame(found: string[], expected: string[], name: string): void {
  const at = expected.findIndex((line, index) => found[index] !== line);
  if (at >= 0 || found.length !== expected.length)
    assert.deepEqual(found.slice(at - 3, at + 3), expected.slice(at - 3, at + 3), `${name}, line ${at}`);
}

function compare(bytes: Uint8Array, image: CodeImage, options: RunTraceOptions, name: string): string[] {
  const exact = { ...options, exactOnly: true };
  const listing = listingOf(bytes, image, options);
  assertSame(listing, listingOf(bytes, image, exact), name);
  assert.deepEqual(profileOf(bytes, image, options), profileOf(bytes, image, exact), name);
  assertSame(callsOf(bytes, image, options), callsOf(bytes, image, exact), `${name}, calls`);
  return listing;
}

const ENCODINGS: EncodingOptions[] = [
  {},
  { returnCompression: false, psbBytes: 256 },
  { longTnt: true, deferTips: true },
  { tsc: true, mtc: true, cyc: true, psbBytes: 512 },
];

function traceOf(seed: number, encoding: EncodingOptions, instructions: number): [Uint8Array, CodeImage] {
  const code = randomCode(new Random(seed), ADDRESS);
  const image = imageOfCode(code, ADDRESS);
  const path = new RandomWalk({ seed, entries: code.entries, interruptEvery: 4 + (seed % 20) });
  return [joinChunks(new ExecutionEncoder(image, path, encoding).chunks({ instructions })), image];
}

for (const [seed, encoding] of ENCODINGS.entries())
  test(`system calls and interrupts all the time, ${JSON.stringify(encoding)}`, () => {
    const [bytes, image] = traceOf(seed + 1, encoding, 30_000);
    const listing = compare(
      bytes,
      image,
      { settings: { ...SETTINGS, errata: errataOf({ family: 6, model: 0x55, stepping: 0 })! } },
      'whole',
    );
    const count = (kind: number) => listing.filter((line) => line.startsWith(`event ${kind} `)).length;
    assert.ok(count(EVENT_DISABLED) > 500 && count(EVENT_ASYNC_DISABLED) > 200, 'nothing happened');
    let single = 0;
    const counter: TraceListener = { onNodes() {}, onInstruction: () => single++, onBreak() {} };
    new TraceRun(bytes, image, {}, counter).run();
    assert.ok(single < 30_000 / 2, `${single} instructions were told one by one`);
  });

const KERNEL_ADDRESS = -0x7f00_0000;

/** System calls and interrupts lead into a kernel that writes CR3 on its way in and out. */
function kernelTraceOf(
  seed: number,
  encoding: EncodingOptions,
  instructions: number,
): [Uint8Array, CodeImage] {
  const code = randomCode(new Random(seed), ADDRESS);
  const kernel = randomCode(new Random(seed + 1), KERNEL_ADDRESS, true);
  const image = imageOfCode(code, ADDRESS);
  image.addSection({ name: 'kernel', address: BigInt(KERNEL_ADDRESS), bytes: kernel.bytes });
  const { entries } = code;
  const { handlers } = kernel;
  const path = new RandomWalk({ seed, entries, handlers, interruptEvery: 10 + (seed % 20) });
  const encoder = new ExecutionEncoder(image, path, { ...encoding, withKernel: true });
  const bytes = joinChunks(encoder.chunks({ instructions }));
  if (instructions > 10_000) assert.ok(encoder.truth.interrupts > 100 && encoder.truth.farTransfers > 500);
  return [bytes, image];
}

for (const [seed, encoding] of ENCODINGS.entries())
  test(`with the kernel, which writes CR3, ${JSON.stringify(encoding)}`, () => {
    const [bytes, image] = kernelTraceOf(seed + 70, encoding, 30_000);
    compare(bytes, image, { interruptFlags: seed === 1 }, 'whole');
    compare(bytes, image, { useCr3: true }, 'by address space');
    const told = [0, 0];
    for (const [at, exactOnly] of [true, false].entries())
      new TraceRun(
        bytes,
        image,
        { exactOnly },
        {
          onNodes() {},
          onInstruction() {},
          onEvent: ({ kind, lo }) => {
            if (kind === EVENT_PAGING) told[at]! += lo;
          },
          onBreak() {},
        },
      ).run();
    assert.ok(told[0]! > 0);
    assert.equal(told[1], told[0]);
  });

/**
 * Aborted transactions before interrupts, some with the branch before them told wrong, and
 * overflows in the middle of CYC.
 */
function withErrata(bytes: Uint8Array, random: Random): Uint8Array {
  const out: number[] = [];
  let lastTnt = -1;
  const cursor = new PacketCursor(bytes);
  while (cursor.next() > 0) {
    const { kind } = cursor.packet;
    if (kind === PACKET_TNT8 && random.oneIn(60)) out.push(...CYC_CUT_BY_OVERFLOW);
    if (kind === PACKET_CBR) lastTnt = -1;
    if (kind === PACKET_FUP && random.oneIn(3)) {
      if (lastTnt >= 0 && random.oneIn(2)) out[lastTnt]! ^= 2;
      if (random.oneIn(4)) out.push(...CBR);
      out.push(...TSX_ABORT);
    }
    if (kind === PACKET_TNT8) lastTnt = out.length;
    out.push(...bytes.subarray(cursor.offset, cursor.position));
  }
  return Uint8Array.from(out);
}

test('errata of the processor: as the exact decoder mends them', () => {
  const random = new Random(8);
  const mended = { bdm64: 0, skd007: 0, skl168: 0 };
  for (let round = 0; round < 40; round++) {
    const [whole, image] = traceOf(round + 400, ENCODINGS[round % ENCODINGS.length]!, 1500);
    const bytes = withErrata(whole, random);
    for (const name of ['bdm64', 'skd007', 'skl168'] as const) {
      const options = { resume: true, settings: { ...SETTINGS, errata: { ...NO_ERRATA, [name]: true } } };
      const errata = options.settings.errata;
      const listing = compare(bytes, image, { ...options, errata }, `${name}, round ${round}`);
      const without = listingOf(bytes, image, { ...options, errata: NO_ERRATA });
      if (listing.join() !== without.join()) mended[name]++;
    }
  }
  // SKL168 is about the time alone.
  assert.ok(mended.bdm64 > 12 && mended.skd007 > 12 && mended.skl168 === 0, JSON.stringify(mended));
});

/** The same code as before or another, over some of it, for some of the time of the trace. */
function changeCode(
  image: CodeImage,
  bytes: Uint8Array,
  code: Uint8Array,
  random: Random,
  share: number,
): void {
  const times: number[] = [];
  const cursor = new PacketCursor(bytes);
  while (cursor.next() > 0)
    if (cursor.packet.kind === PACKET_TSC) times.push(toFloat(cursor.packet.lo >>> 0, cursor.packet.hi));
  const first = times[0]!;
  const length = times.at(-1)! - first;
  const moment = () => first + Math.floor((length * random.below(1000)) / 1000);
  for (let changes = 12; changes > 0; changes--) {
    const at = random.below(code.length - 1);
    const part = code.slice(at, at + 1 + random.below(200));
    if (random.oneIn(share)) part.fill(0x90);
    const from = moment();
    const to = from + 1 + random.below(length);
    const placement = { name: 'later', address: BigInt(ADDRESS + at), from, to };
    if (random.oneIn(8)) image.addHole({ ...placement, sizeBytes: BigInt(part.length) });
    // Where nothing else is: what a compiler at run time does most of the time.
    else if (random.oneIn(3)) image.addSection({ ...placement, address: 0x700000n, bytes: part });
    else image.addSection({ ...placement, bytes: part });
  }
}

const codeTime = (lo: number, hi: number) => toFloat(lo, hi);

test('code that changes with time: as by the exact decoder', () => {
  const random = new Random(91);
  let broken = 0;
  for (let round = 0; round < 40; round++) {
    const encoding = [
      { tsc: true, psbBytes: 128 },
      { tsc: true, mtc: true, cyc: true, psbBytes: 300 },
    ][round % 2]!;
    const code = randomCode(new Random(round + 900), ADDRESS);
    const [bytes, image] = traceOf(round + 900, encoding, 4000);
    changeCode(image, bytes, code.bytes, random, round % 3 === 0 ? 1 : 1000);
    const settings = { ...SETTINGS, errata: NO_ERRATA };
    const listing = compare(bytes, image, { settings, codeTime, resume: round % 4 > 1 }, `round ${round}`);
    if (listing.some((line) => line.startsWith('break') && !line.startsWith(`break ${FLOW_END}`))) broken++;
  }
  assert.ok(broken > 10 && broken < 35, `${broken} traces were broken`);
});

test('code that is added while a trace is decoded is seen', () => {
  const [bytes, whole] = traceOf(3, { psbBytes: 256 }, 5000);
  const code = randomCode(new Random(3), ADDRESS);
  const image = new CodeImage();
  // After the first error somebody finds the code.
  class Finder extends Listing {
    override onBreak(errorCode: number, ipLo: number, ipHi: number): void {
      super.onBreak(errorCode, ipLo, ipHi);
      if (image.layerCount === 0)
        image.addSection({ name: 'code', address: BigInt(ADDRESS), bytes: code.bytes });
    }
  }
  const found = new Finder();
  new TraceRun(bytes, image, {}, found).run();
  const expected = listingOf(bytes, whole, {});
  const breaks = found.lines.filter((line) => line.startsWith('break'));
  assert.equal(breaks.length, 2, breaks.join());
  // From the next PSB on.
  assert.deepEqual(found.lines.slice(-1000), expected.slice(-1001, -1));
});

test('code that is loaded between two runs over the same graphs is seen', async () => {
  const [bytes, whole] = traceOf(4, {}, 3000);
  const code = randomCode(new Random(4), ADDRESS);
  const image = new CodeImage();
  // The first half is there: something is executed, and a graph is made.
  const half = code.bytes.length >>> 1;
  image.addSection({ name: 'first', address: BigInt(ADDRESS), bytes: code.bytes.subarray(0, half) });
  image.addSource({
    name: 'second',
    address: BigInt(ADDRESS + half),
    sizeBytes: code.bytes.length - half,
    offset: half,
    source: memorySource(code.bytes),
  });
  const engines: GraphEngines = new Map();
  const listing = new Listing();
  const blind = new TraceRun(bytes, image, {}, listing, engines).run();
  assert.ok(blind.errors.total > 0, 'the second half is missing');
  assert.ok(image.isWaiting, 'it can be loaded');
  assert.equal(engines.size, 1);
  await image.load();
  listing.lines.length = 0;
  const { errors } = new TraceRun(bytes, image, {}, listing, engines).run();
  assert.deepEqual([...listing.lines, JSON.stringify(errors.list())], listingOf(bytes, whole, {}));
});

test('where a trace leads to no code, the graph does not grow', () => {
  // One PSB+ each, at places of its own, and an outcome there.
  const count = 20_000;
  const unit = [
    ...new Array(8).fill([0x02, 0x82]).flat(),
    0x99,
    0x01,
    0x7d,
    0,
    0,
    0,
    0,
    0,
    0,
    0x02,
    0x23,
    0x04,
  ];
  const bytes = new Uint8Array(count * unit.length);
  for (let at = 0; at < count; at++) {
    bytes.set(unit, at * unit.length);
    new DataView(bytes.buffer).setUint32(at * unit.length + 19, 0x1000_0000 + 64 * at, true);
  }
  const [, image] = traceOf(4, {}, 3000);
  const engines: GraphEngines = new Map();
  const { errors } = new TraceRun(bytes, image, { resume: true }, new Listing(), engines).run();
  const exact = new TraceRun(bytes, image, { resume: true, exactOnly: true }, new Listing()).run();
  assert.ok(errors.total >= count);
  assert.deepEqual(errors.list(), exact.errors.list());
  for (const { engine } of engines.values()) assert.ok(engine.graph.size < 100, `${engine.graph.size} nodes`);
});

test('addresses that a trace invents behind a real branch do not make the graph grow for ever', () => {
  // PSB+ before `jmp *rax`, and then somewhere else. Behind an error the PSB at hand is used
  // up: each second unit counts.
  const count = 80_000;
  const code = Uint8Array.of(0x90, 0xff, 0xe0);
  const image = new CodeImage();
  image.addSection({ name: 'code', address: BigInt(ADDRESS), bytes: code });
  const start = [ADDRESS & 0xff, (ADDRESS >> 8) & 0xff, (ADDRESS >> 16) & 0xff, 0, 0, 0];
  const psb = new Array(8).fill([0x02, 0x82]).flat();
  const unit = [...psb, 0x99, 0x01, 0x7d, ...start, 0x02, 0x23, 0x4d, 0, 0, 0, 0];
  const bytes = new Uint8Array(count * unit.length);
  for (let at = 0; at < count; at++) {
    bytes.set(unit, at * unit.length);
    new DataView(bytes.buffer).setUint32(
      (at + 1) * unit.length - 4,
      0x1000_0000 + 16 * (at & ~(at & 2)),
      true,
    );
  }
  const engines: GraphEngines = new Map();
  let ended = 0;
  const { collector, counts } = collectByGraph((graph) => {
    ended++;
    assert.ok(graph.size < 17_000, `${graph.size} nodes`);
  });
  const { errors } = new TraceRun(bytes, image, {}, collector, engines).run();
  assert.equal(errors.total, count / 2);
  assert.equal(ended, 1);
  assert.equal(counts.size, 1);
  for (const graph of counts.keys()) assert.ok(graph.size < 17_000);
  for (const own of counts.values()) collector.profile.addGraph(own);
  const exact = profileTrace(bytes, image, { exactOnly: true });
  assert.deepEqual(errors.list(), exact.errors);
  const graph = collector.finish();
  assert.deepEqual(graph.totals(), exact.profile.totals());
  assert.deepEqual(graph.sorted().toColumns(), exact.profile.sorted().toColumns());
});

test('damaged: the same path, events and errors', () => {
  const random = new Random(55);
  let errors = 0;
  for (let round = 0; round < 150; round++) {
    const make = round % 3 === 0 ? kernelTraceOf : traceOf;
    const [whole, image] = make(round + 1, ENCODINGS[round % ENCODINGS.length]!, 1500);
    const bytes = whole.slice();
    for (let flips = random.below(5); flips >= 0; flips--)
      bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
    const errata = errataOf({ family: 6, model: random.pick([0x3a, 0x3d, 0x4e, 0x55, 0x8d]), stepping: 0 });
    const options = { resume: round % 2 === 1, ...(errata === null ? {} : { errata }) };
    const listing = compare(bytes, image, options, `round ${round}`);
    errors += listing.filter((line) => line.startsWith('break')).length - 1;
  }
  assert.ok(errors > 60, `only ${errors} errors: nothing was damaged`);
});
