import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ThreadLoop } from './thread-loop.ts';

const MS = 1e6;
const OUTER = { epollFd: 13, timeoutMs: 100 };
const LOOK = { epollFd: 13, timeoutMs: 0 };
const INNER = { epollFd: 20, timeoutMs: -1 };

/** `[enter at, exit at, call, events found]`, in milliseconds. */
function loopOf(
  waits: readonly (readonly [number, number, typeof OUTER, number?])[],
  isNew = true,
): ThreadLoop {
  const loop = new ThreadLoop(1, 1, 0, isNew);
  for (const [enter, exit, call, found = 1] of waits) {
    loop.enter(enter * MS, call);
    loop.exit(exit * MS, found);
  }
  return loop;
}

const turnsOf = (loop: ThreadLoop) =>
  loop.kept.list.map(({ kind, startNs, endNs }) => [kind, startNs / MS, endNs / MS]);

test('turns are from the return of a wait to the next wait; the first and the last are told apart', () => {
  const loop = loopOf([
    [50, 60, OUTER],
    [61, 100, OUTER],
    [300, 310, OUTER],
  ]);
  loop.end(320 * MS, true);
  assert.deepEqual(turnsOf(loop), [
    ['start', 0, 50],
    ['turn', 60, 61],
    ['turn', 100, 300],
    ['end', 310, 320],
  ]);
  assert.equal(loop.turns, 2);
  assert.equal(loop.busyNs + loop.idleNs, 320 * MS);
  assert.equal(loop.idleNs, 59 * MS);
  assert.equal(loop.lengths.maxNs, 200 * MS);
});

test('a thread that was there before the recording: its first turn, or its first wait, is cut', () => {
  const inTurn = loopOf([[5, 9, OUTER]], false);
  inTurn.end(10 * MS, false);
  assert.deepEqual(turnsOf(inTurn), [
    ['cut', 0, 5],
    ['cut', 9, 10],
  ]);
  const inWait = new ThreadLoop(1, 1, 0, false);
  inWait.exit(7 * MS, 1);
  inWait.enter(8 * MS, OUTER);
  inWait.end(20 * MS, false);
  assert.deepEqual(turnsOf(inWait), [['turn', 7, 8]]);
  assert.equal(inWait.idleNs, 19 * MS);
});

test('a look without waiting, and the wait after it, are one wait; a turn between them stays one', () => {
  const looked = loopOf([
    [1, 1.001, LOOK, 0],
    [1.002, 9, OUTER],
    [9.5, 9.501, LOOK, 0],
    // An immediate ran for 5 ms.
    [14.501, 20, OUTER],
  ]);
  assert.deepEqual(turnsOf(looked), [
    ['start', 0, 1],
    ['turn', 9, 9.5],
    ['turn', 9.501, 14.501],
  ]);
  // Events were found: what handled them is a turn, however short.
  const found = loopOf([
    [1, 1.001, LOOK, 3],
    [1.002, 9, OUTER],
  ]);
  assert.equal(found.turns, 1);
});

test('the loop that spawnSync runs belongs to the turn', () => {
  const loop = loopOf([
    [1, 2, OUTER],
    [3, 50, INNER],
    [51, 90, INNER],
    [100, 101, OUTER],
  ]);
  assert.deepEqual(turnsOf(loop), [
    ['start', 0, 1],
    ['turn', 2, 100],
  ]);
  assert.equal(loop.nestedWaits, 2);
});

test('spawnSync before the first wait of the loop is part of the start', () => {
  const loop = loopOf([
    [10, 50, INNER],
    [51, 90, INNER],
    [100, 150, OUTER],
    [151, 160, OUTER],
  ]);
  assert.deepEqual(turnsOf(loop), [
    ['start', 0, 100],
    ['turn', 150, 151],
  ]);
  assert.equal(loop.nestedWaits, 2);
  assert.equal(loop.idleNs, 59 * MS);
});

test('where records were lost, a turn may be several: it is left out, and counted', () => {
  const loop = loopOf([[1, 2, OUTER]]);
  loop.lose();
  loop.enter(500 * MS, OUTER);
  loop.exit(501 * MS, 1);
  loop.enter(502 * MS, OUTER);
  // Its return was lost.
  loop.enter(900 * MS, OUTER);
  loop.exit(901 * MS, 1);
  loop.enter(902 * MS, OUTER);
  assert.deepEqual([loop.doubtfulTurns, loop.doubtfulNs], [2, 499 * MS]);
  assert.equal(loop.lengths.maxNs, 1 * MS);
});

test('percentiles of a million turns are right to a percent, in bounded memory', () => {
  const loop = new ThreadLoop(1, 1, 0, false);
  let at = 0;
  for (let turn = 1; turn <= 1_000_000; turn++) {
    loop.enter(at, OUTER);
    at += 1000;
    loop.exit(at, 1);
    at += turn;
  }
  loop.enter(at, OUTER);
  for (const percent of [50, 90, 99]) {
    const seen = loop.lengths.percentileNs(percent)!;
    assert.ok(Math.abs(seen / (percent * 10_000) - 1) < 0.011, `${percent} % is ${seen}`);
  }
  assert.equal(loop.lengths.maxNs, 1_000_000);
  assert.ok(loop.kept.list.length <= 65_536);
  const longest = loop.kept.list.map(({ startNs, endNs }) => endNs - startNs).sort((a, b) => b - a);
  assert.deepEqual(longest.slice(0, 3), [1_000_000, 999_999, 999_998]);
  const { busyNs, timeline } = loop;
  const sum = timeline.list(at).reduce((total, value) => total + value, 0);
  assert.ok(Math.abs(sum / busyNs - 1) < 1e-6);
});

test('a short program that looks into another, older loop as it ends keeps its turns', () => {
  const loop = loopOf([
    [50, 60, OUTER],
    [140, 200, OUTER],
    // As Node does before it exits; it does not wait there.
    [280, 281, { epollFd: 3, timeoutMs: 0 }, 0],
  ]);
  loop.end(290 * MS, true);
  assert.deepEqual(turnsOf(loop), [
    ['start', 0, 50],
    ['turn', 60, 140],
    ['end', 200, 290],
  ]);
  assert.equal(loop.nestedWaits, 1);
  assert.equal(loop.idleNs, 70 * MS);
});
