import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER } from '../abi/index.ts';
import { isChainAtLimit, limitedLength } from './chain-limit.ts';

/** A chain of a part of the kernel and one of the user, each after its mark. */
function chain(kernel: number, user: number): { view: DataView; count: number } {
  const words = [
    PERF_CONTEXT_KERNEL,
    ...Array(kernel).fill(0x1000),
    PERF_CONTEXT_USER,
    ...Array(user).fill(0x2000),
  ];
  const view = new DataView(new ArrayBuffer(words.length * 8));
  words.forEach((word, at) => {
    view.setBigInt64(at * 8, BigInt(word), true);
  });
  return { view, count: words.length };
}

test('a chain is cut where it has as many addresses as its limit, or where one of its parts has', () => {
  const rows: [kernel: number, user: number, length: number, isCut: boolean][] = [
    [3, 10, 13, false],
    [30, 34, 64, true],
    [0, 64, 64, true],
    // Each part by itself, as programs in the kernel put them together.
    [30, 40, 40, false],
    [4, 64, 64, true],
    [64, 9, 64, true],
    [64, 64, 64, true],
  ];
  for (const [kernel, user, length, isCut] of rows) {
    const { view, count } = chain(kernel, user);
    assert.equal(limitedLength(view, 0, count, 64, true), length, `${kernel}+${user}`);
    assert.equal(isChainAtLimit(view, 0, count, 64, true), isCut, `${kernel}+${user}`);
  }
});
