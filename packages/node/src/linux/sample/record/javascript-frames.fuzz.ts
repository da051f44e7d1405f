import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_CONTEXT_KERNEL,
  PERF_CONTEXT_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from '@counterpoint/core/abi';
import {
  BodyWriter,
  decodeSample,
  encodeSample,
  makeAttr,
  type Sample,
  SampleLayout,
} from '@counterpoint/core/records';
import { fuzz } from '../../../../../core/src/test/fuzz.ts';
import type { Random } from '../../../../../core/src/test/random.ts';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import { INTERPRETED_START, type InterpretedFunctions, walkInterpretedFrames } from '../v8/index.ts';
import { JavascriptFrames } from './javascript-frames.ts';

// Samples, stacks and chains with anything in them: nothing throws, what is written are whole samples, and
// all that is not about interpreted functions is as it was.

const PID = 42;
const ID = 7n;
const WORD = 8;
const HEADER_BYTES = 8;
const STACK_START = 0x7ff0_0000_0000n;
const USER = BigInt.asUintN(64, BigInt(PERF_CONTEXT_USER));
const KERNEL = BigInt.asUintN(64, BigInt(PERF_CONTEXT_KERNEL));
const BYTECODE = 0x1_0000_0001n;
const MOST_WORDS = 40;
const SAMPLE_TYPE =
  PERF_SAMPLE_IDENTIFIER |
  PERF_SAMPLE_IP |
  PERF_SAMPLE_TID |
  PERF_SAMPLE_TIME |
  PERF_SAMPLE_PERIOD |
  PERF_SAMPLE_CALLCHAIN |
  PERF_SAMPLE_STACK_USER;

const functions = {
  space: { frame: { context: -8, function: -16, bytecode: -32, bytecodeOffset: -40 } },
  isGeneratedCode: (address: number) => address % 5 === 0,
  addressOf: (bytecode: number) => (bytecode === Number(BYTECODE) ? INTERPRETED_START + 16 : 0),
} as unknown as InterpretedFunctions;

function eventOf(): SampledEvent {
  const attr = makeAttr({
    sampleType: BigInt(SAMPLE_TYPE),
    sampleStackUser: WORD,
    samplePeriodOrFreq: 1000n,
    flags: { freq: 1 },
  });
  const event = { requestedName: 'x', name: 'x', attr, leader: null, cpus: null, mostPrecise: false };
  return { ...event, tracepoint: null, instances: [{ id: ID, cpu: 0, tid: -1 }] } as unknown as SampledEvent;
}

/** A stack whose frames are interpreted, more or less, and the chain that the kernel makes of it. */
function sampleOf(random: Random): Sample {
  const stackPointer = random.oneIn(6) ? random.u64() : STACK_START;
  const words = 1 + random.below(MOST_WORDS);
  const bytes = new Uint8Array(words * WORD);
  const view = new DataView(bytes.buffer);
  const address = (row: number) => BigInt.asUintN(64, stackPointer + BigInt(row * WORD));
  const set = (row: number, word: bigint) => {
    if (row >= 0 && row < words) view.setBigUint64(row * WORD, word, true);
  };
  const returns: bigint[] = [random.u64() >> 17n];
  const first = 4 + random.below(5);
  for (let row = first; row < words + 3; ) {
    const next = row + random.pick([6, 7, 8, 0, -3, 1]);
    const returnAddress = random.u64() >> 17n;
    const ofFrame = [address(next), returnAddress];
    for (const [index, word] of ofFrame.entries()) set(row + index, word);
    for (const below of [1, 2]) set(row - below, ((random.u64() >> 17n) & ~3n) | 1n);
    set(row - 4, random.oneIn(4) ? random.u64() : BYTECODE);
    set(row - 5, random.oneIn(4) ? random.u64() : BigInt(random.below(1000)) << 32n);
    returns.push(random.oneIn(8) ? random.u64() : returnAddress);
    if (next <= row || random.oneIn(12)) break;
    row = next;
  }
  const callchain = [...(random.oneIn(3) ? [KERNEL, random.u64()] : []), USER, ...returns];
  if (random.oneIn(6)) callchain.splice(random.below(callchain.length), 1, random.pick([USER, KERNEL, 0n]));
  const abi = random.oneIn(8) ? 0 : 2;
  const framePointer = random.oneIn(6) ? random.u64() : address(random.oneIn(6) ? words : first);
  return {
    identifier: ID,
    ip: returns[0]!,
    pid: random.oneIn(8) ? 1 : PID,
    tid: PID,
    time: random.u64(),
    period: random.u64(),
    callchain,
    userRegisters: { abi, registers: abi === 0 ? [] : [framePointer, stackPointer, random.u64()] },
    userStack: {
      bytes: random.oneIn(10) ? new Uint8Array(0) : bytes,
      dynamicSize: random.oneIn(3) ? random.below(bytes.length + 1) : bytes.length,
    },
  };
}

function recordOf(sample: Sample, layout: SampleLayout): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter();
  writer.beginRecord(PERF_RECORD_SAMPLE, 0);
  encodeSample(writer, sample, layout);
  writer.endRecord();
  return writer.take();
}

/** Whether some of its words became functions; the other ones are as they were. */
function checkChain(before: readonly bigint[], after: readonly bigint[]): boolean {
  const kept = after.filter((word) => word !== BigInt(INTERPRETED_START + 16));
  let row = 0;
  for (const word of before) if (kept[row] === word) row++;
  assert.equal(row, kept.length, 'words that the kernel did not write');
  // The innermost one is there twice: the instruction, and the function that it runs in.
  const more = after.length - before.length;
  assert.ok(more === 0 || more === 1, `${more} words more`);
  return kept.length < after.length;
}

test('samples with any chain, registers and stack stay whole samples', async () => {
  let input: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  let named = 0;
  const cases = await fuzz(
    'javascript-frames',
    (random) => {
      const event = eventOf();
      assert.ok(JavascriptFrames.widen([event]));
      const wide = new SampleLayout(event.attr);
      const frames = new JavascriptFrames(new Map([[PID, functions]]));
      const [narrowEvent] = frames.begin([event]);
      const narrow = new SampleLayout(narrowEvent!.attr);
      const samples = Array.from({ length: 1 + random.below(6) }, () => sampleOf(random));
      input = Buffer.concat(samples.map((sample) => recordOf(sample, wide)));
      const damaged = random.oneIn(3);
      for (let flips = damaged ? 1 + random.below(6) : 0; flips > 0; flips--)
        input[random.below(input.length)] = random.below(256);
      const cut = random.below(input.length);
      const output = frames.rewrite([input.subarray(0, cut), input.subarray(cut)], input.length);
      assert.ok(output.length <= input.length + samples.length * WORD);
      if (damaged) return;
      const view = new DataView(output.buffer, output.byteOffset, output.length);
      let at = 0;
      for (const before of samples) {
        const size = view.getUint16(at + 6, true);
        const after = decodeSample(view, at, at + size, narrow, true);
        assert.ok(after !== null && size > HEADER_BYTES && wide.userRegisterCount === 3);
        const { callchain, userStack, ...rest } = after;
        const { callchain: chainBefore, userRegisters: _, userStack: stackBefore, ...restBefore } = before;
        for (const key of Object.keys(rest) as (keyof typeof restBefore)[])
          assert.equal(rest[key], restBefore[key], key);
        if (checkChain(chainBefore!, callchain!)) named++;
        assert.ok(userStack!.bytes.length <= WORD && userStack!.dynamicSize <= stackBefore!.bytes.length);
        at += size;
      }
      assert.equal(at, output.length);
    },
    () => input,
  );
  // Else nothing was tried but what stays as it is.
  assert.ok(cases === null || named > cases / 8, `${named} of ${cases}`);
});

test('a walk reads nothing outside of the copy of the stack', async () => {
  const bytes = new Uint8Array(512);
  await fuzz(
    'interpreted-frames',
    (random) => {
      bytes.set(random.bytes(bytes.length));
      const stackPointer = random.pick([0, 2 ** 47 - 512, 2 ** 63, 2 ** 64 - 2048, Number(random.u64())]);
      const offset = random.below(32) * WORD;
      const size = random.below((bytes.length - offset) / WORD + 1) * WORD;
      // Of exactly these bytes: whoever reads more gets an error.
      const view = new DataView(bytes.buffer, 0, offset + size);
      const framePointer = stackPointer + random.pick([-8, 0, 8, 40, size - 16, size - 8, size, 2 ** 20]);
      const chain = Float64Array.from({ length: 1 + random.below(20) }, () => Number(random.u64()));
      const found = new Float64Array(chain.length);
      const bytecodeOffset = random.pick([-1, 60, 2 ** 64]);
      const stack = {
        view,
        offset,
        bytes: size,
        stackPointer,
        framePointer,
        bytecodeOffset,
        timeUs: 0,
        tid: 1,
      };
      const looked = walkInterpretedFrames(functions, stack, chain, chain.length, found);
      assert.ok(looked >= 0 && looked <= chain.length);
    },
    () => bytes,
  );
});
