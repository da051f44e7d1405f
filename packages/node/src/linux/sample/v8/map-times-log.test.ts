import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MapTimesLog } from './map-times-log.ts';

/** Looks at a map whose size the list tells, one entry for each time that it is asked for. */
class Looks {
  readonly log = new MapTimesLog();
  #nowUs = 0;

  at(timeUs: number, ...sizes: number[]): void {
    this.#nowUs = timeUs;
    this.log.look(
      () => sizes.shift()!,
      () => BigInt(this.#nowUs++) * 1000n,
    );
    assert.equal(sizes.length, 0, 'more looks than were needed');
  }

  get list(): number[][] {
    return this.log.list().map(({ timeUs, sizeBytes }) => [timeUs, sizeBytes]);
  }
}

test('of each size the first look and the last one are kept', () => {
  const looks = new Looks();
  assert.deepEqual(looks.list, []);
  looks.at(1, 0, 0);
  looks.at(10, 0);
  looks.at(20, 50, 50);
  looks.at(30, 50);
  looks.at(900, 50);
  looks.at(910, 70, 70);
  // The map grew between 10 and 21, and between 900 and 911: not from 21 to 900.
  assert.deepEqual(looks.list, [
    [2, 0],
    [10, 0],
    [21, 50],
    [900, 50],
    [911, 70],
  ]);
});

test('a time at which the map may have grown is no time of its size', () => {
  const looks = new Looks();
  looks.at(1, 0, 0);
  looks.at(10, 40, 60, 60);
  assert.deepEqual(looks.list.at(-1), [12, 60]);
  looks.at(20, 70, 80, 90, 100, 110, 120);
  assert.deepEqual(looks.list.at(-1), [12, 60], 'of one that grows all the time nothing is known');
  looks.at(30, 120, 120);
  assert.deepEqual(looks.list.at(-1), [31, 120]);
});

test('a map that is shorter than before was begun anew: what was known before says nothing of it', () => {
  const looks = new Looks();
  looks.at(1, 50, 50);
  looks.at(3, 20, 20);
  looks.at(5, 30, 30);
  assert.deepEqual(looks.list, [
    [4, 20],
    [6, 30],
  ]);
});

test('of more looks than there is room for, some are left out, in order', () => {
  const { log } = new Looks();
  for (let row = 0; row < 100_000; row++)
    log.look(
      () => row,
      () => BigInt(row) * 10_000n,
    );
  const times = log.list();
  assert.ok(times.length < 100_000, `${times.length}`);
  for (let row = 1; row < times.length; row++) {
    assert.ok(times[row]!.timeUs >= times[row - 1]!.timeUs);
    assert.ok(times[row]!.sizeBytes >= times[row - 1]!.sizeBytes);
  }
});
