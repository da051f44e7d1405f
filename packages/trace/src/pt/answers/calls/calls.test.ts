/**
 * Calls of whole traces against a slow twin over addresses, in every encoding, by both
 * engines, and of damaged traces.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { hiOf, loOf, toBigInt } from '@counterpoint/core/base';
import { corpusFiles, lacksCorpus } from '../../../../../core/src/test/corpus.ts';
import { Random } from '../../../../../core/src/test/random.ts';
import { CodeImage } from '../../../code/image/index.ts';
import { Instruction, KIND_FAR_CALL, MODE_64 } from '../../../code/instructions/index.ts';
import { callLine, NaiveCalls } from '../../../test/naive-calls.ts';
import { joinChunks, loadPrograms } from '../../../test/real-programs.ts';
import {
  type EncodingOptions,
  type ExecutionBlock,
  type ExecutionCode,
  ExecutionEncoder,
  type ExecutionPath,
  KIND_STOPS,
  type NextStep,
  RandomWalk,
  STEP_ASYNC,
} from '../../execution/index.ts';
import { NO_ERRATA } from '../../packets/errata.ts';
import { PT_IP_SEXT_48, PT_MODE_EXEC_CS_L } from '../../packets/opcodes.ts';
import {
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TIP,
} from '../../packets/packet-kinds.ts';
import { PacketWriter } from '../../packets/packet-writer.ts';
import { parseTraceProgram } from '../../text/index.ts';
import { type CallRecord, CallTrace, NO_ROW, type TraceCalls, type TraceCallsOptions } from './index.ts';

const OWN = ['base', 'noret', 'long', 'mtc', 'cyc', 'tsc'];
const SETTINGS = { mtcFreq: 3, nomFreq: 21, cpuid0x15Eax: 1, cpuid0x15Ebx: 84, errata: NO_ERRATA };
const files = new Map(corpusFiles('pt/own').map(({ name, bytes }) => [name, bytes]));

function ownImage(): CodeImage {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x401000n, bytes: files.get('code.bin')! });
  return image;
}

interface Told {
  lines: string[];
  times: string[];
  found: TraceCalls;
}

/** Every call as a line; checks on the way that they lie inside each other, in time as well. */
function callsOf(bytes: Uint8Array, image: CodeImage, options: TraceCallsOptions = {}): Told {
  const lines: string[] = [];
  const times: string[] = [];
  const open: { depth: number; ticks: number }[] = [];
  let lastTicks = Number.NEGATIVE_INFINITY;
  let restarts = 0;
  const goOn = (ticks: number) => {
    if (trace.clock.restarts !== restarts) lastTicks = Number.NEGATIVE_INFINITY;
    restarts = trace.clock.restarts;
    assert.ok(Number.isNaN(ticks) || Number.isNaN(lastTicks) || ticks >= lastTicks, 'time went back');
    lastTicks = ticks;
  };
  const address = (row: number) =>
    row === NO_ROW ? null : toBigInt(trace.addresses.loOf(row) >>> 0, trace.addresses.hiOf(row) >>> 0);
  const trace = new CallTrace(bytes, image, options, {
    onEnter(call: Readonly<CallRecord>) {
      goOn(call.enterTicks);
      open.push({ depth: call.depth, ticks: call.enterTicks });
    },
    onLeave(call: Readonly<CallRecord>) {
      goOn(call.leaveTicks);
      if (call.leftName !== 'too-deep') assert.equal(open.pop()!.depth, call.depth);
      assert.ok(call.ownInstructions >= 0 && call.ownInstructions <= call.instructions);
      assert.ok(call.branches <= call.instructions);
      lines.push(
        callLine(
          call.kindName,
          call.leftName,
          address(call.functionRow),
          address(call.callerRow),
          call.depth,
          call.instructions,
          trace.tracker.instructions,
        ),
      );
      times.push(`${call.enterTicks} ${call.leaveTicks} ${call.enterErrorTicks} ${call.leaveErrorTicks}`);
    },
  });
  return { lines, times, found: trace.run() };
}

/** The twin over a listing of another decoder: an address a line, events in brackets. */
function naiveCallsOf(listing: string, code: Uint8Array): NaiveCalls {
  const naive = new NaiveCalls();
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x401000n, bytes: code });
  const instruction = new Instruction();
  for (const line of listing.trimEnd().split('\n')) {
    const event = /^\[(\w+)(?:, ip: ([0-9a-f]+))?/.exec(line);
    if (event === null) {
      const at = BigInt(`0x${line}`);
      const size = image.decode(loOf(at) | 0, hiOf(at) | 0, MODE_64, instruction);
      naive.execute(at, instruction.kind, size);
    } else if (event[1] === 'disabled') naive.off();
    else naive.on(BigInt(`0x${event[2]}`));
  }
  return naive;
}

test('pt/own in six encodings: the calls of the golden listing', {
  skip: lacksCorpus('pt/own/golden-ptxed-insn-base.txt.gz'),
}, () => {
  const listing = gunzipSync(files.get('golden-ptxed-insn-base.txt.gz')!).toString();
  const naive = naiveCallsOf(listing, files.get('code.bin')!);
  const expected = naive.end();
  assert.ok(expected.length > 9000, `${expected.length} calls`);
  assert.ok(
    expected.some((line) => line.includes('unwound')),
    'no longjmp',
  );
  for (const encoding of OWN) {
    const bytes = files.get(`${encoding}.pt`)!;
    const { lines, found } = callsOf(bytes, ownImage(), { settings: SETTINGS });
    assert.equal(found.instructions, naive.instructions, encoding);
    assert.deepEqual(lines, expected, encoding);
    assert.equal(found.baseTsc !== null, ['mtc', 'cyc', 'tsc'].includes(encoding), encoding);
  }
});

// Before a PSB the exact decoder knows the time of the PSB, and the graph that of the packet behind it.
test('both engines give the same times, but for calls right before a PSB', () => {
  for (const encoding of ['tsc', 'mtc', 'cyc']) {
    const bytes = files.get(`${encoding}.pt`)!;
    const graph = callsOf(bytes, ownImage(), { settings: SETTINGS });
    const exact = callsOf(bytes, ownImage(), { settings: SETTINGS, exactOnly: true });
    assert.deepEqual(graph.lines, exact.lines, encoding);
    const others = graph.times.filter((line, at) => line !== exact.times[at]);
    assert.ok(others.length < (encoding === 'cyc' ? 5 : 1), `${encoding}: ${others.join('; ')}`);
    assert.equal(graph.found.clockRestarts, 0);
  }
});

test('damaged traces: no call ends where it did not return to, and both engines agree', () => {
  const random = new Random(77);
  let lost = 0;
  for (let round = 0; round < 60; round++) {
    const whole = files.get(`${OWN[round % OWN.length]!}.pt`)!;
    const from = random.below(whole.length - 9000);
    const bytes = whole.slice(from, from + 9000);
    for (let flips = random.below(6); flips >= 0; flips--)
      bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
    const options = { settings: SETTINGS, resume: round % 2 === 1 };
    const graph = callsOf(bytes, ownImage(), options);
    const exact = callsOf(bytes, ownImage(), { ...options, exactOnly: true });
    assert.deepEqual(graph.lines, exact.lines, `round ${round}`);
    lost += graph.lines.filter((line) => line.includes(' lost ')).length;
  }
  assert.ok(lost > 60, `only ${lost} calls were lost: nothing was damaged`);
});

/** Tells the twin what a path does, as it does it. */
class WatchedPath implements ExecutionPath {
  readonly naive = new NaiveCalls();
  readonly #path: ExecutionPath;

  constructor(path: ExecutionPath) {
    this.#path = path;
  }

  start(code: ExecutionCode, step: NextStep): void {
    this.#path.start(code, step);
    this.naive.on(wide(step.lo, step.hi));
  }

  next(block: ExecutionBlock, code: ExecutionCode, step: NextStep): number {
    const { naive } = this;
    const { addresses } = block;
    for (let at = 0; at < addresses.length; at += 2) {
      const isLast = at + 2 === addresses.length;
      const lo = isLast ? block.nextLo : addresses[at + 2]!;
      const size = lo - addresses[at]!;
      naive.execute(
        wide(addresses[at]!, addresses[at + 1]!),
        isLast && block.kind !== KIND_STOPS ? block.kind : 0,
        size,
      );
    }
    const event = this.#path.next(block, code, step);
    const next = wide(step.lo, step.hi);
    if (block.kind === KIND_FAR_CALL) {
      naive.off();
      naive.on(next);
    }
    if (event === STEP_ASYNC) {
      naive.interrupt(next);
      naive.on(wide(step.resumeLo, step.resumeHi));
    }
    return event;
  }
}

function wide(lo: number, hi: number): bigint {
  return toBigInt(lo >>> 0, hi >>> 0);
}

test('random walks through gzip and libc: what the walk called', async (context) => {
  const programs = await loadPrograms();
  if (programs === null) return context.skip('no gzip and libc for x86-64 here');
  const encodings: EncodingOptions[] = [
    {},
    { returnCompression: false, tsc: true },
    { longTnt: true, psbBytes: 512 },
    { tsc: true, mtc: true, cyc: true },
    { deferTips: true },
  ];
  for (const [seed, encoding] of encodings.entries()) {
    const name = JSON.stringify(encoding);
    const walk = new RandomWalk({ seed: seed + 31, entries: programs.entries, interruptEvery: 70 });
    const path = new WatchedPath(walk);
    const encoder = new ExecutionEncoder(programs.image, path, encoding);
    const trace = joinChunks(encoder.chunks({ instructions: 120_000 }));
    const { lines, found } = callsOf(trace, programs.image, { settings: SETTINGS });
    assert.deepEqual(found.errors, [], name);
    assert.equal(found.instructions, path.naive.instructions, name);
    // What is open at the end is not the walk's.
    const expected = path.naive.lines;
    assert.ok(expected.length > 1000, name);
    assert.deepEqual(lines.slice(0, expected.length), expected, name);
    for (const line of lines.slice(expected.length)) assert.match(line, / end at /, name);
  }
});

test('a transaction that is aborted into code that is not traced: its calls are gone, the next interrupt is one', () => {
  const program = parseTraceProgram(`title t
code 0x1000
  start: nop
  begin: xbegin abort
  work:  call f
  abort: nop
  after: nop
  more:  nop
         ret
code 0x2000
  f: nop
  g: ret
code 0x3000
  handler: iretq
trace
  psb; mode.exec 64; fup start; psbend
  mode.tsx begin; fup work /16
  mode.tsx abort; fup g; tip.pgd abort
  mode.exec 64; tip.pge after
  fup more; tip handler
  tip more
  fup more+1; tip.pgd -
`);
  const image = new CodeImage();
  for (const { address, bytes } of program.code) image.addSection({ name: 'code', address, bytes });
  const told: string[] = [];
  const name = ({ kindName, functionRow }: Readonly<CallRecord>) =>
    `${kindName} ${functionRow === NO_ROW ? '-' : trace.addresses.loOf(functionRow).toString(16)}`;
  const trace = new CallTrace(
    program.trace,
    image,
    {},
    {
      onEnter: (call) => {
        assert.equal(call.leaveErrorTicks, Number.POSITIVE_INFINITY);
        told.push(`${name(call)} {`);
      },
      onLeave: (call) => told.push(`} ${name(call)} ${call.leftName}`),
    },
  );
  assert.deepEqual(trace.run().errors, []);
  const after = [...program.labels].find(([label]) => label === 'after')![1].toString(16);
  const abort = [...program.labels].find(([label]) => label === 'abort')![1].toString(16);
  assert.deepEqual(told.slice(0, 9), [
    'root 1000 {',
    'call 2000 {',
    '} call 2000 unwound',
    `untraced ${abort} {`,
    `} untraced ${abort} elsewhere`,
    `entered ${after} {`,
    'async 3000 {',
    '} async 3000 return',
    'untraced - {',
  ]);
});

test('addresses of damage that lead nowhere are not kept', () => {
  const writer = new PacketWriter();
  for (let at = 0; at < 1000; at++) {
    writer.put(PACKET_PSB);
    writer.put(PACKET_MODE_EXEC, { flags: PT_MODE_EXEC_CS_L });
    writer.put(PACKET_FUP, { type: PT_IP_SEXT_48, lo: 0x10000 + at, hi: 0 });
    writer.put(PACKET_PSBEND);
    writer.put(PACKET_TIP, { type: PT_IP_SEXT_48, lo: 0x20000 + at, hi: 0 });
  }
  const trace = new CallTrace(writer.bytes(), new CodeImage(), {}, {});
  const { errors, addresses } = trace.run();
  assert.deepEqual(
    errors.map(({ code, count }) => [code, count]),
    [['no-map', 1000]],
  );
  assert.ok(addresses.length < 10, `${addresses.length} addresses`);
});
