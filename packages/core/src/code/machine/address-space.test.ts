import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AddressSpace, type Mapping } from './address-space.ts';

function mapping(start: number, end: number, path: string): Mapping {
  return { start, end, pageOffset: 1000, path, buildId: '', pid: 1, symbol: null, binary: -1 };
}

test('a new mapping cuts what it covers, and offsets move with the cut', () => {
  const space = new AddressSpace();
  space.add(mapping(0, 10, 'a'));
  space.add(mapping(10, 14, 'b'));
  space.add(mapping(3, 12, 'x'));
  assert.deepEqual(
    space.all().map(({ start, end, path, pageOffset }) => [start, end, path, pageOffset]),
    [
      [0, 3, 'a', 1000],
      [3, 12, 'x', 1000],
      [12, 14, 'b', 1002],
    ],
  );
});

test('a mapping inside another leaves both ends of it', () => {
  const space = new AddressSpace();
  space.add(mapping(0, 10, 'a'));
  space.add(mapping(4, 6, 'x'));
  assert.deepEqual(
    space.all().map(({ start, end, path, pageOffset }) => [start, end, path, pageOffset]),
    [
      [0, 4, 'a', 1000],
      [4, 6, 'x', 1000],
      [6, 10, 'a', 1006],
    ],
  );
});

test('finds what a plain array of bytes would hold', () => {
  const ranges = fc.tuple(fc.integer({ min: -40, max: 40 }), fc.integer({ min: 0, max: 30 }));
  fc.assert(
    fc.property(fc.array(ranges, { maxLength: 30 }), (added) => {
      const space = new AddressSpace();
      const bytes = new Map<number, string>();
      added.forEach(([start, length], index) => {
        space.add(mapping(start, start + length, `m${index}`));
        for (let at = start; at < start + length; at++) bytes.set(at, `m${index}`);
      });
      for (let at = -45; at < 75; at++) assert.equal(space.find(at)?.path ?? null, bytes.get(at) ?? null);
      const sorted = space.all();
      for (let i = 1; i < sorted.length; i++) assert.ok(sorted[i - 1]!.end <= sorted[i]!.start);
    }),
  );
});
