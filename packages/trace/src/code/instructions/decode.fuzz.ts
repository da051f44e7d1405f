import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzz } from '../../../../core/src/test/fuzz.ts';
import { decodeInstruction, INSN_INVALID, INSN_TRUNCATED, Instruction, MODE_64 } from './index.ts';

/** First bytes that lead to the rare ways. */
const INTERESTING = [
  0x62, 0xc4, 0xc5, 0x8f, 0xd5, 0x0f, 0x66, 0xf2, 0xf3, 0x48, 0x40, 0x67, 0xc7, 0xff, 0xa1, 0x01,
];

test('random bytes: a length of 1 to 15, the same whatever stands outside, truncated at every cut', async () => {
  const all = new Uint8Array(64);
  const instruction = new Instruction();
  const again = new Instruction();
  await fuzz(
    'instructions',
    (random) => {
      for (let at = 0; at < all.length; at++)
        all[at] = random.oneIn(3) ? random.pick(INTERESTING) : random.u32() >>> 24;
      const mode = random.below(3);
      const offset = random.below(24);
      const end = offset + 15;
      const length = decodeInstruction(all, offset, all.length, mode, instruction);
      assert.ok(length === INSN_INVALID || (length >= 1 && length <= 15), `length ${length}`);
      for (let at = 0; at < all.length; at++) if (at < offset || at >= end) all[at] = random.u32() >>> 24;
      // With exactly 15 bytes everything is known that can be.
      assert.equal(decodeInstruction(all, offset, end, mode, again), length);
      if (length > 0) assert.deepEqual(again, instruction);
      // A prefix that says nothing in 64-bit mode: the short way does not know it, the
      // long one must say the same.
      if (offset > 0 && length !== 15 && mode === MODE_64) {
        const before = all[offset - 1]!;
        all[offset - 1] = 0x2e;
        const longer = decodeInstruction(all, offset - 1, all.length, mode, again);
        assert.equal(longer, length < 0 ? length : length + 1);
        if (length > 0) assert.deepEqual({ ...again, length }, { ...instruction });
        all[offset - 1] = before;
      }
      for (let cut = offset; cut < end; cut++) {
        const found = decodeInstruction(all, offset, cut, mode, again);
        if (length < 0) assert.ok(found === INSN_INVALID || found === INSN_TRUNCATED);
        else if (cut - offset < length) assert.equal(found, INSN_TRUNCATED);
        else {
          assert.equal(found, length);
          assert.deepEqual(again, instruction);
        }
      }
    },
    () => all,
  );
});
