/**
 * Branches to themselves, and to what is right behind them: as edges they are nothing special,
 * wherever the trace ends or breaks.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../core/src/test/random.ts';
import { CodeImage } from '../../code/image/index.ts';
import { KIND_CONDITIONAL } from '../../code/instructions/index.ts';
import { imageOfCode, randomCode } from '../../test/random-code.ts';
import { joinChunks } from '../../test/real-programs.ts';
import { type EncodingOptions, ExecutionEncoder, RandomWalk } from '../execution/index.ts';
import { PacketCursor } from '../packets/packet-cursor.ts';
import { localPartWorker, profileInParts } from '../parallel/index.ts';
import { type ExactProfile, profileTrace, type RunTraceOptions } from './index.ts';

const START = 0x1000;
/** l: loop l; nop; nop; nop; nop; ret */
const LOOP_HERE = [0xe2, 0xfe, 0x90, 0x90, 0x90, 0x90, 0xc3];
const PSB = Array<number[]>(8).fill([0x02, 0x82]).flat();
const MODE_64_BITS = [0x99, 0x01];
const PSBEND = [0x02, 0x23];
const HERE = [0x00, 0x10, 0, 0, 0, 0];
const FUP_HERE = [0x7d, ...HERE];
const TIP_HERE = [0x6d, ...HERE];
const TIP_PGE_HERE = [0x71, ...HERE];
const TIP_PGD_HERE = [0x61, ...HERE];
const TIP_PGD_NOWHERE = [0x01];
const OVF = [0x02, 0xf3];
const NO_PACKET = [0x02, 0x7f];
/** Six outcomes: taken. */
const TAKEN = 0xfe;
/** One outcome. */
const NOT_TAKEN_ONCE = 0x04;
const HEADER = [...PSB, ...MODE_64_BITS, ...FUP_HERE, ...PSBEND];
const BEGIN = [...PSB, ...MODE_64_BITS, ...PSBEND, ...TIP_PGE_HERE];

interface Counts {
  readonly executed: number;
  /** Told as edges. */
  readonly here: number;
  readonly behind: number;
  readonly cuts: number;
}

function countsOf(bytes: Uint8Array, code: readonly number[], options: RunTraceOptions): Counts {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: BigInt(START), bytes: Uint8Array.from(code) });
  const { profile } = profileTrace(bytes, image, options);
  const row = profile.rowOf(START, 0);
  let here = 0;
  let behind = 0;
  profile.branches.forEach((from, to, count) => {
    if (from !== row) return;
    if (to === row) here += count;
    else if (profile.loOf(to) === START + 2) behind += count;
  });
  return { executed: profile.executed.at(row), here, behind, cuts: profile.cuts };
}

function check(name: string, packets: readonly number[], expected: Counts, code = LOOP_HERE): void {
  for (const exactOnly of [false, true])
    for (const resume of [false, true])
      assert.deepEqual(
        countsOf(Uint8Array.from(packets), code, { exactOnly, resume }),
        expected,
        `${name}, ${exactOnly ? 'exact' : 'fast'}${resume ? ', resuming' : ''}`,
      );
}

test('a conditional branch to itself: every outcome is an edge, however it ends', () => {
  const counts = (taken: number, notTaken = 0, cuts = 0): Counts => ({
    executed: taken + notTaken,
    here: taken,
    behind: 0,
    cuts,
  });
  check('the trace ends', [...BEGIN, TAKEN], counts(6));
  check('twice as long', [...BEGIN, TAKEN, TAKEN], counts(12));
  check('it ends in a packet', [...BEGIN, TAKEN, TAKEN, 0x6d, 0], counts(12));
  check('damage', [...BEGIN, TAKEN, TAKEN, ...NO_PACKET], counts(12));
  check('a target where an outcome is due', [...BEGIN, TAKEN, ...TIP_HERE], counts(7 - 1, 1));
  check('an interrupt', [...BEGIN, TAKEN, ...FUP_HERE, ...TIP_HERE, TAKEN], counts(12));
  check('overflow', [...BEGIN, TAKEN, ...OVF, ...FUP_HERE, TAKEN], counts(12));
  check('overflow at the end', [...BEGIN, TAKEN, ...OVF], counts(6));
  check('tracing goes off', [...BEGIN, TAKEN, ...TIP_PGD_HERE], counts(6));
  check('asynchronously', [...BEGIN, TAKEN, ...FUP_HERE, ...TIP_PGD_NOWHERE], counts(6));
  check('with a branch that is not told', [...BEGIN, TAKEN, ...TIP_PGD_NOWHERE], counts(6, 1));
  check('and on again', [...BEGIN, TAKEN, ...TIP_PGD_HERE, ...TIP_PGE_HERE, TAKEN], counts(12));
  check('a PSB', [...BEGIN, TAKEN, ...HEADER, TAKEN], counts(12));
  check('a PSB at the end', [...BEGIN, TAKEN, ...HEADER], counts(6));
  check('a PSB that contradicts', [...BEGIN, TAKEN, ...PSB, 0x99, 0x02, ...FUP_HERE, ...PSBEND], counts(6));
  check('left at last', [...BEGIN, TAKEN, NOT_TAKEN_ONCE, ...OVF], counts(6, 1));
});

test('a conditional branch to what is behind it: taken is taken', () => {
  const code = [0x75, 0x00, 0x75, 0xfc, 0x90, 0xc3];
  // jne +0; jne back: taken both, twice; then the first is not taken, and the second is.
  const outcomes = 0b1111_1010;
  check('whole bytes', [...BEGIN, outcomes, ...HEADER], { executed: 3, here: 0, behind: 2, cuts: 0 }, code);
});

test('a loop by targets that were deferred behind an outcome: it goes round with trace, and is not endless', () => {
  // nop; jmp *rax; jne +0; ret
  const code = [0x90, 0xff, 0xe0, 0x75, 0x00, 0xc3];
  const tipBehind = [0x6d, 0x03, 0x10, 0, 0, 0, 0];
  const targets = Array<number[]>(300).fill(TIP_HERE).flat();
  const packets = [...BEGIN, NOT_TAKEN_ONCE, ...targets, ...tipBehind, ...TIP_PGD_NOWHERE];
  check('deferred', packets, { executed: 301, here: 0, behind: 0, cuts: 0 }, code);
});

function takenIn(profile: ExactProfile): number {
  let taken = 0;
  profile.branches.forEach((from, _to, count) => {
    if (profile.kind.at(from) === KIND_CONDITIONAL) taken += count;
  });
  return taken;
}

const CODE = 0x401000;
/** To itself, twice; to what is behind it; and one that is no such thing. */
const JUMPS = [
  [0x75, 0xfe],
  [0xe2, 0xfe],
  [0x75, 0],
  [0x75, 3, 0x48, 0x89, 0xc3],
];
const ENCODINGS: EncodingOptions[] = [
  { psbBytes: 256 },
  { returnCompression: false, psbBytes: 300 },
  { longTnt: true, deferTips: true },
  { tsc: true, mtc: true, cyc: true, psbBytes: 512 },
];

test('walks over such branches, cut and damaged anywhere: both engines, in one piece and in parts', async () => {
  const random = new Random(20261121);
  for (let round = 0; round < 16; round++) {
    const code = randomCode(random, CODE, false, 30, JUMPS);
    const image = imageOfCode(code, CODE);
    const path = new RandomWalk({ seed: round + 1, entries: code.entries, interruptEvery: 3 + (round % 20) });
    const encoder = new ExecutionEncoder(image, path, ENCODINGS[round % 4]);
    const whole = joinChunks(encoder.chunks({ instructions: 3000 }));
    const packets = new PacketCursor(whole);
    const ends: number[] = [];
    while (packets.next() > 0) ends.push(packets.position);
    for (let variant = 0; variant < 8; variant++) {
      const bytes = whole.slice(0, variant === 0 ? whole.length : random.pick(ends));
      for (let flips = variant < 4 ? 0 : random.below(4); flips > 0; flips--)
        bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
      const options = { resume: variant % 2 === 1 };
      const exact = profileTrace(bytes, image, { ...options, exactOnly: true });
      if (variant === 0) assert.equal(takenIn(exact.profile), encoder.truth.taken);
      const expected = [exact.profile.sorted().toColumns(), exact.errors];
      const name = `round ${round}, variant ${variant}`;
      const fast = profileTrace(bytes, image, options);
      assert.deepEqual([fast.profile.sorted().toColumns(), fast.errors], expected, name);
      const parts = await profileInParts(bytes, image, {
        ...options,
        partBytes: 1 + random.below(1500),
        workers: [localPartWorker(), localPartWorker()],
      });
      assert.deepEqual([parts.profile.sorted().toColumns(), parts.errors], expected, `${name}, in parts`);
    }
  }
});
