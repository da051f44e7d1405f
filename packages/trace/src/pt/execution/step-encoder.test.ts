import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { corpusFiles, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import {
  decodeInstruction,
  Instruction,
  KIND_CALL,
  KIND_OTHER,
  MODE_64,
} from '../../code/instructions/index.ts';
import { LibiptOracle } from '../../test/libipt-oracle.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { dumpPackets } from '../dump/dump-packets.ts';
import {
  BlockTable,
  type ExecutionBlock,
  type ExecutionCode,
  ExecutionEncoder,
  type ExecutionPath,
  type NextStep,
  RandomWalk,
  StepEncoder,
  type StepEncodingOptions,
  type SteppedInstruction,
} from './index.ts';

const OWN_ADDRESS = 0x401000;
const HIGH = 0x1_0000_0000;

/** The instructions of a program, by where they stand. */
function instructionReader(code: Uint8Array, base: number) {
  const known = new Map<number, { pc: number; length: number; kind: number; is32Bit: boolean }>();
  const decoded = new Instruction();
  return (pc: number) => {
    let found = known.get(pc);
    if (found === undefined) {
      const length = decodeInstruction(code, pc - base, code.length, MODE_64, decoded);
      found = { pc, length, kind: decoded.kind, is32Bit: false };
      known.set(pc, found);
    }
    return found;
  };
}

/** Tells an encoder of blocks, in pieces of `pieceBlocks`, as a log of blocks that is read now and then. */
class BlockedSteps {
  readonly encoder: StepEncoder;
  readonly #instructionAt: (pc: number) => SteppedInstruction;
  readonly #pieceBlocks: number;
  readonly #table = new BlockTable();
  readonly #ids = new Map<number, number>();
  readonly #lengths: number[] = [];
  /** The last is being executed: `#done` are its instructions so far. */
  #log: number[] = [];
  #done: SteppedInstruction[] = [];
  #after = -1;

  constructor(encoder: StepEncoder, instructionAt: (pc: number) => SteppedInstruction, pieceBlocks: number) {
    this.encoder = encoder;
    this.#instructionAt = instructionAt;
    this.#pieceBlocks = pieceBlocks;
  }

  step(done: SteppedInstruction, pcAfter: number): void {
    if (done.pc !== this.#after) this.settle();
    const last = this.#log.at(-1);
    if (last === undefined || this.#done.length === this.#lengths[last]) this.#begin(done.pc);
    this.#done.push(done);
    this.#after = pcAfter;
  }

  /** Of the last block, only what was done is told. */
  settle(): void {
    const last = this.#done.at(-1);
    if (last === undefined) return;
    this.#tell();
    this.encoder.run(this.#done[0]!, last, this.#after);
    this.#log = [];
    this.#done = [];
  }

  #begin(pc: number): void {
    if (this.#log.length > this.#pieceBlocks) this.#tell();
    this.#log.push(this.#ids.get(pc) ?? this.#add(pc));
    this.#done = [];
  }

  #tell(): void {
    const count = this.#log.length - 1;
    if (count > 0) this.encoder.blocks(this.#table, Int32Array.from(this.#log), count);
    this.#log = this.#log.slice(count);
  }

  #add(pc: number): number {
    let next = pc;
    let length = 0;
    let kind: number;
    do {
      const instruction = this.#instructionAt(next);
      kind = instruction.kind;
      next += instruction.length;
      length++;
    } while (kind < KIND_CALL && length < 64);
    const id = this.#table.add(pc, next, kind);
    this.#ids.set(pc, id);
    this.#lengths[id] = length;
    return id;
  }
}

test('a real run, instruction by instruction: byte for byte what another encoder of the same model wrote', {
  skip: lacksCorpus('pt/own/golden-ptxed-insn-base.txt.gz'),
}, () => {
  const files = new Map(corpusFiles('pt/own').map((file) => [file.name, file.bytes]));
  const golden = gunzipSync(files.get('golden-ptxed-insn-base.txt.gz')!).toString();
  const addresses = golden
    .split('\n')
    .filter((line) => /^[0-9a-f]{16}$/.test(line.trim()))
    .map((line) => Number.parseInt(line, 16));
  assert.equal(addresses.length, 951_482);
  const at = instructionReader(files.get('code.bin')!, OWN_ADDRESS);
  const encoder = new StepEncoder();
  for (const [index, pc] of addresses.entries()) encoder.step(at(pc), addresses[index + 1] ?? 0);
  const bytes = joinChunks(encoder.chunks(true));
  const expected = files.get('base.pt')!;
  assert.equal(
    bytes.findIndex((byte, offset) => byte !== expected[offset]),
    -1,
  );
  assert.ok(bytes.length > 0.999 * expected.length);

  // In blocks, the same bytes but for where a decoder may begin.
  for (const returnCompression of [true, false]) {
    const options = { returnCompression, psbBytes: Number.POSITIVE_INFINITY };
    const stepwise = new StepEncoder(options);
    const blocked = new BlockedSteps(new StepEncoder(options), at, 5000);
    for (const [index, pc] of addresses.entries()) {
      stepwise.step(at(pc), addresses[index + 1] ?? 0);
      blocked.step(at(pc), addresses[index + 1] ?? 0);
    }
    blocked.settle();
    assert.deepEqual(joinChunks(blocked.encoder.chunks(true)), joinChunks(stepwise.chunks(true)));
  }
});

/**
 * A walk whose steps are also encoded one by one: what comes behind an interrupt is told by where it stands.
 */
class SteppedWalk implements ExecutionPath {
  readonly #walk: RandomWalk;
  readonly #instructionAt: (pc: number) => SteppedInstruction;
  readonly #steps: Pick<StepEncoder, 'step'>;

  constructor(
    walk: RandomWalk,
    instructionAt: (pc: number) => SteppedInstruction,
    steps: Pick<StepEncoder, 'step'>,
  ) {
    this.#walk = walk;
    this.#instructionAt = instructionAt;
    this.#steps = steps;
  }

  start(code: ExecutionCode, step: NextStep): void {
    this.#walk.start(code, step);
  }

  next(block: ExecutionBlock, code: ExecutionCode, step: NextStep): number {
    const event = this.#walk.next(block, code, step);
    const { addresses } = block;
    for (let index = 0; index < addresses.length; index += 2) {
      const isLast = index + 2 === addresses.length;
      const after = isLast
        ? addressOf(step.lo, step.hi)
        : addressOf(addresses[index + 2]!, addresses[index + 3]!);
      this.#steps.step(this.#instructionAt(addressOf(addresses[index]!, addresses[index + 1]!)), after);
    }
    return event;
  }
}

function addressOf(lo: number, hi: number): number {
  return (hi >>> 0) * HIGH + (lo >>> 0);
}

test('random walks with interrupts and system calls, decoded by libipt: the same instructions', async (context) => {
  const programs = await loadPrograms();
  if (programs === null) return context.skip('no gzip and libc for x86-64 here');
  const oracle = LibiptOracle.open();
  if (typeof oracle === 'string') return context.skip(oracle);
  const { image, code, entries } = programs;
  const readers = code.map(({ path, offset, sizeBytes, address }) => ({
    from: Number(address),
    to: Number(address) + sizeBytes,
    read: instructionReader(readFileSync(path).subarray(offset, offset + sizeBytes), Number(address)),
  }));
  const at = (pc: number) => readers.find(({ from, to }) => pc >= from && pc < to)!.read(pc);
  let tsc = 1_000_000;
  // With `pieceBlocks`, they are encoded block by block.
  const options: (StepEncodingOptions & { pieceBlocks?: number })[] = [
    {},
    { psbBytes: 256, chunkBytes: 100 },
    { tsc: () => (tsc += 300) },
    { tsc: () => (tsc += 300), tscTicks: 0, psbBytes: 512 },
    { pieceBlocks: 3, chunkBytes: 100, tsc: () => (tsc += 300) },
    { pieceBlocks: 4000, psbBytes: 256, tsc: () => (tsc += 300), tscTicks: 0 },
  ];
  try {
    for (const [seed, one] of options.entries()) {
      const name = JSON.stringify({ seed, ...one });
      const walk = new RandomWalk({ seed: seed + 1, entries, interruptEvery: seed % 2 === 0 ? 0 : 50 });
      const encoder = new StepEncoder(one);
      const blocked = one.pieceBlocks === undefined ? null : new BlockedSteps(encoder, at, one.pieceBlocks);
      const path = new SteppedWalk(walk, at, blocked ?? encoder);
      const whole = new ExecutionEncoder(image, path, { psbBytes: 4096 });
      for (const _ of whole.chunks({ instructions: 300_000 }));
      blocked?.settle();
      encoder.stop();
      const { truth } = whole;
      assert.ok(truth.interrupts > 0 && truth.farTransfers > 0 && truth.compressedReturns > 100, name);
      const found = oracle.decode(joinChunks(encoder.chunks(true)), code);
      assert.equal(found.errors, 0, `${name}: ${found.firstCode} at ${found.firstError}`);
      assert.equal(found.instructions, truth.instructions, name);
      assert.equal(found.hash, truth.addressHash, name);
    }
  } finally {
    oracle.close();
  }
});

test('code of 32 bits, and what nobody can read, are told', () => {
  const encoder = new StepEncoder();
  const nop = { length: 1, kind: KIND_OTHER, is32Bit: false };
  encoder.step({ ...nop, pc: 0x1000 }, 0x1001);
  encoder.step({ ...nop, pc: 0x2000, is32Bit: true }, 0x2001);
  encoder.step({ ...nop, pc: 0x2001, length: 0, is32Bit: true }, 0x2003);
  encoder.step({ ...nop, pc: 0x2003, is32Bit: true }, 0x2004);
  encoder.stop();
  const lines: string[] = [];
  dumpPackets(joinChunks(encoder.chunks(true)), { noOffset: true, lastIp: true, execMode: true }, (line) =>
    lines.push(line.replace(/ +/g, ' ').trim()),
  );
  const where = lines.filter((line) => /^(?:mode\.exec|fup|tip)/.test(line));
  assert.deepEqual(
    where.slice(1).map((line) => line.replace(/ .*(?= (?:em|ip) )/, '')),
    [
      'mode.exec em 64-bit',
      'tip.pge ip 0000000000001000',
      'fup ip 0000000000001001',
      'tip.pgd ip <suppressed>',
      'mode.exec em 32-bit',
      'tip.pge ip 0000000000002000',
      'fup ip 0000000000002001',
      'tip.pgd ip <suppressed>',
      'mode.exec em 32-bit',
      'tip.pge ip 0000000000002003',
      'fup ip 0000000000002004',
      'tip.pgd ip <suppressed>',
    ],
  );
});
