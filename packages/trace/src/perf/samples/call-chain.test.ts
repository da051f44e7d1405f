import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PERF_IP_FLAG_ASYNC,
  PERF_IP_FLAG_BRANCH,
  PERF_IP_FLAG_CALL,
  PERF_IP_FLAG_INTERRUPT,
  PERF_IP_FLAG_TRACE_BEGIN,
} from '@counterpoint/core/abi';
import { walkLateChain } from './call-chain.ts';
import { CallStack } from './call-stack.ts';
import { LastBranches } from './last-branches.ts';

const KERNEL = -1;
const USER = 0;
const CALL_BYTES = 5;

/** A call of `to` from `from`, in one half of memory or from one to the other. */
function call(calls: CallStack, from: number, fromHi: number, to: number, toHi: number, flags = 0): void {
  calls.branch(
    PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL | flags,
    from,
    fromHi,
    to,
    toHi,
    flags === 0 ? CALL_BYTES : 0,
  );
}

function chain(calls: CallStack, ip: number, ipHi: number, most = 100): number[] {
  const found: number[] = [];
  walkLateChain(calls, ip, ipHi, most, (lo) => found.push(lo));
  return found;
}

test('a chain of a sample ends where the sample was, not in the handler of its interrupt', () => {
  const calls = new CallStack();
  call(calls, 0x100, USER, 0x200, USER);
  call(calls, 0x200, USER, 0x300, USER);
  assert.deepEqual(chain(calls, 0x304, USER), [-512, 0x304, 0x205, 0x105]);
  call(calls, 0x306, USER, 0x900, KERNEL, PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_INTERRUPT);
  call(calls, 0x910, KERNEL, 0x950, KERNEL);
  // Where the interrupt came (0x306) is no caller of 0x304.
  assert.deepEqual(chain(calls, 0x304, USER), [-512, 0x304, 0x205, 0x105]);
  assert.deepEqual(chain(calls, 0x304, USER, 3), [-512, 0x304, 0x205]);
});

test('a sample of the kernel is where its interrupt came upon it', () => {
  const calls = new CallStack();
  call(calls, 0x100, USER, 0x200, USER);
  call(calls, 0x200, USER, 0x800, KERNEL);
  call(calls, 0x804, KERNEL, 0x900, KERNEL, PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_INTERRUPT);
  call(calls, 0x910, KERNEL, 0x950, KERNEL);
  assert.deepEqual(chain(calls, 0x804, KERNEL), [-128, 0x804, -512, 0x205, 0x105]);
});

test('nothing but the place where no call is known', () => {
  const calls = new CallStack();
  calls.branch(PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_BEGIN, 0, 0, 0x100, 0, 0);
  assert.deepEqual(chain(calls, 0x104, USER), [-512, 0x104]);
});

test('branches since a sample are left out: all of the kernel, up to the stretch where the sample was', () => {
  const branches = new LastBranches(8);
  const add = (from: number, fromHi: number, to: number, toHi: number) =>
    branches.add(from, fromHi, to, toHi, false, false);
  add(0x100, USER, 0x200, USER);
  add(0x210, USER, 0x800, KERNEL);
  add(0x810, KERNEL, 0x820, KERNEL);
  add(0x830, KERNEL, 0x900, KERNEL);
  const from = (ip: number, hi: number, most = 8) =>
    branches.lateEntries(ip, hi, most).map((one) => Number(one.from & 0xffffn));
  assert.deepEqual(from(0x208, USER), [0x100]);
  assert.deepEqual(from(0x824, KERNEL), [0x810, 0x210, 0x100]);
  assert.deepEqual(from(0x824, KERNEL, 2), [0x810, 0x210]);
  // No stretch is known in which that is: from where the kernel was entered.
  assert.deepEqual(from(0x700, KERNEL), [0x210, 0x100]);
  assert.deepEqual(
    branches.entries(2).map((one) => Number(one.from & 0xffffn)),
    [0x830, 0x810],
  );
});
