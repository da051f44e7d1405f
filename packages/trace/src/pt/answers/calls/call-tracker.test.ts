/** The stack itself: what branches and events do to it, one by one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodeFunctions } from '../tables/code-functions.ts';
import { AddressTable } from './address-table.ts';
import { CallClock } from './call-clock.ts';
import { CALL_FAR, CALL_NEAR } from './call-kinds.ts';
import { MOST_CALLS } from './call-stack.ts';
import { CallTracker } from './call-tracker.ts';
import { FunctionRows } from './function-rows.ts';

/** Functions of 0x100 bytes from 0x1000 to 0x1fff: `startOf` is all that the tracker asks. */
class Hundreds extends CodeFunctions {
  override startOf(lo: number): number {
    return lo >= 0x1000 && lo < 0x2000 ? lo & ~0xff : Number.NaN;
  }
}

function make(functions?: CodeFunctions) {
  const addresses = new AddressTable();
  const told: string[] = [];
  const tracker = new CallTracker(
    addresses,
    new FunctionRows(addresses, functions),
    new CallClock(),
    {
      onLeave: (call) =>
        told.push(
          `${call.kindName} ${addresses.loOf(call.functionRow).toString(16)} ${call.leftName}${call.isUnsure ? ' unsure' : ''}`,
        ),
    },
    null,
  );
  const row = (address: number) => addresses.rowOf(address, 0);
  const call = (target: number, from: number) =>
    tracker.call(CALL_NEAR, row(target), row(from), row(from + 5));
  return { tracker, told, row, call };
}

test('a PLT stub: the jump to another function returns for the call', () => {
  const { tracker, told, row, call } = make(new Hundreds());
  tracker.at(row(0x1000));
  call(0x1100, 0x1010);
  tracker.jump(row(0x1200), row(0x1104));
  // A second one takes the place of the first, and a loop in it is none.
  tracker.jump(row(0x1300), row(0x1210));
  tracker.jump(row(0x1340), row(0x1350));
  tracker.return(row(0x1015));
  assert.deepEqual(told, ['tail 1200 return', 'tail 1300 return', 'call 1100 return']);
  assert.equal(tracker.stack.depth, 1);
});

test('an exception: a return into a function that is open unwinds to it', () => {
  const { tracker, told, row, call } = make(new Hundreds());
  tracker.at(row(0x1000));
  call(0x1100, 0x1010);
  call(0x1200, 0x1110);
  tracker.return(row(0x1080));
  assert.deepEqual(told, ['call 1200 unwound', 'call 1100 unwound']);
});

test('setjmp without symbols: known by its call, and unsure where its function is open twice', () => {
  const { tracker, told, row, call } = make();
  tracker.at(row(0x1000));
  call(0x2000, 0x1010);
  call(0x3000, 0x2010);
  tracker.return(row(0x2015));
  call(0x4000, 0x2020);
  call(0x2000, 0x4010);
  call(0x5000, 0x2030);
  told.length = 0;
  tracker.jump(row(0x2015), row(0x5010));
  assert.deepEqual(told, ['call 5000 unwound']);
  tracker.return(row(0x4015));
  tracker.return(row(0x2025));
  tracker.return(row(0x1015));
  assert.deepEqual(told.slice(1), [
    'call 2000 return unsure',
    'call 4000 return unsure',
    'call 2000 return unsure',
  ]);
});

test('a retpoline returns to a function; without symbols that is a root', () => {
  for (const functions of [new Hundreds(), undefined]) {
    const { tracker, told, row, call } = make(functions);
    tracker.at(row(0x1000));
    call(0x1100, 0x1010);
    call(0x1130, 0x1104);
    tracker.return(row(0x1400));
    tracker.return(row(0x1015));
    const end =
      functions === undefined
        ? ['root 1400 unwound', 'call 1100 late']
        : ['tail 1400 return', 'call 1100 return'];
    assert.deepEqual(told.slice(1), end);
  }
});

test('system calls and interrupts, and a signal that is delivered on the way back', () => {
  const { tracker, told, row } = make();
  tracker.at(row(0x1000));
  tracker.call(CALL_FAR, row(0x9000), row(0x1010), row(0x1012));
  tracker.interrupt(row(0x9500), row(0x9010));
  tracker.farReturn(row(0x9010));
  tracker.farReturn(row(0x7000));
  tracker.call(CALL_FAR, row(0x9000), row(0x7010), row(0x7012));
  tracker.farReturn(row(0x1012));
  assert.deepEqual(told, [
    'async 9500 return',
    'far 9000 elsewhere',
    'far 9000 unwound',
    'entered 7000 late',
  ]);
  assert.equal(tracker.stack.depth, 1);
});

test('an aborted transaction takes its calls with it', () => {
  const { tracker, told, row, call } = make();
  tracker.at(row(0x1000));
  tracker.transaction(true, false);
  call(0x2000, 0x1010);
  call(0x3000, 0x2010);
  tracker.abort();
  assert.deepEqual(told, ['call 3000 unwound', 'call 2000 unwound']);
});

test('endless recursion: bounded, and each call is told once', () => {
  const { tracker, told, row, call } = make();
  tracker.at(row(0x1000));
  for (let depth = 0; depth < 3 * MOST_CALLS; depth++) call(0x1000, 0x1010);
  assert.ok(tracker.stack.depth <= MOST_CALLS);
  tracker.close();
  assert.equal(told.length, 3 * MOST_CALLS + 1);
  assert.ok(told[0]!.endsWith('too-deep') && told.at(-1)!.endsWith('lost'));
});
