import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { corpusFiles, lacksCorpus } from '../../../../core/src/test/corpus.ts';
import { decodeInstruction, Instruction, KIND_OTHER, MODE_64 } from '../../code/instructions/index.ts';
import { LibiptOracle } from '../../test/libipt-oracle.ts';
import { joinChunks, loadPrograms } from '../../test/real-programs.ts';
import { dumpPackets } from '../dump/dump-packets.ts';
import {
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
});

/**
 * A walk whose steps are also encoded one by one: what comes behind an interrupt is told by where it stands.
 */
class SteppedWalk implements ExecutionPath {
  readonly encoder: StepEncoder;
  readonly #walk: RandomWalk;
  readonly #instructionAt: (pc: number) => SteppedInstruction;

  constructor(
    walk: RandomWalk,
    instructionAt: (pc: number) => SteppedInstruction,
    options: StepEncodingOptions,
  ) {
    this.#walk = walk;
    this.#instructionAt = instructionAt;
    this.encoder = new StepEncoder(options);
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
      this.encoder.step(this.#instructionAt(addressOf(addresses[index]!, addresses[index + 1]!)), after);
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
  const options: StepEncodingOptions[] = [
    {},
    { psbBytes: 256, chunkBytes: 100 },
    { tsc: () => (tsc += 300) },
    { tsc: () => (tsc += 300), tscTicks: 0, psbBytes: 512 },
  ];
  try {
    for (const [seed, one] of options.entries()) {
      const name = JSON.stringify({ seed, ...one });
      const walk = new RandomWalk({ seed: seed + 1, entries, interruptEvery: seed % 2 === 0 ? 0 : 50 });
      const path = new SteppedWalk(walk, at, one);
      const whole = new ExecutionEncoder(image, path, { psbBytes: 4096 });
      for (const _ of whole.chunks({ instructions: 300_000 }));
      path.encoder.stop();
      const { truth } = whole;
      assert.ok(truth.interrupts > 0 && truth.farTransfers > 0 && truth.compressedReturns > 100, name);
      const found = oracle.decode(joinChunks(path.encoder.chunks(true)), code);
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
