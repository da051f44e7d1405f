import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/random.ts';
import { CodeSymbols } from './code-symbols.ts';
import { overlapPieces } from './pieces.ts';

interface Range {
  start: number;
  end: number;
  isLabel?: boolean;
}

function tableOf(ranges: Range[]): CodeSymbols {
  const starts = Float64Array.from(ranges, ({ start }) => start);
  const ends = Float64Array.from(ranges, ({ end }) => end);
  const labels = Uint8Array.from(ranges, ({ isLabel }) => (isLabel === true ? 1 : 0));
  const name = (symbol: number) => `s${symbol}`;
  return new CodeSymbols(starts, ends, overlapPieces(starts, ends, labels), { name, rawName: name });
}

/** The rule as it is said: functions before labels that stand in one, then the one that starts last. */
function slowLookup(ranges: Range[], address: number): number {
  const covers = (range: Range) => range.start <= address && address < range.end;
  const lastFunction = ranges.findLastIndex((range) => range.isLabel !== true && covers(range));
  const last = ranges.findLastIndex((range) => covers(range));
  if (lastFunction === -1 || last === lastFunction) return last;
  // A label that starts later has the bytes only where no function that reached over its start has them.
  const label = ranges[last]!;
  const functionsEnd = Math.max(
    ...ranges.slice(0, last).map((range) => (range.isLabel === true ? Number.NEGATIVE_INFINITY : range.end)),
  );
  return address >= Math.max(label.start, functionsEnd) ? last : lastFunction;
}

test('the innermost function has the bytes, the outer one goes on after it', () => {
  const table = tableOf([
    { start: 100, end: 200 },
    { start: 120, end: 130 },
    { start: 124, end: 126 },
    { start: 190, end: 210 },
  ]);
  const at = (address: number) => table.lookup(address);
  assert.deepEqual(
    [99, 100, 119, 120, 124, 126, 129, 130, 189, 190, 209, 210].map(at),
    [-1, 0, 0, 1, 2, 1, 1, 0, 0, 3, 3, -1],
  );
});

test('a label in a function does not interrupt it; after its end the label begins', () => {
  const table = tableOf([
    { start: 0, end: 100 },
    { start: 40, end: 150, isLabel: true },
    { start: 150, end: 160 },
  ]);
  assert.deepEqual(
    [39, 40, 99, 100, 149, 150].map((address) => table.lookup(address)),
    [0, 0, 0, 1, 1, 2],
  );
});

test('lookups agree with the rule for random nests', () => {
  const random = new Random(11);
  for (let round = 0; round < 100; round++) {
    const starts = new Set<number>();
    while (starts.size < 12) starts.add(random.below(120));
    const sorted = [...starts].sort((a, b) => a - b);
    const ranges = sorted.map((start, index): Range => {
      // As symbol tables have them: a label reaches to the next symbol.
      const isLabel = random.oneIn(4);
      const end = isLabel ? (sorted[index + 1] ?? 130) : start + 1 + random.below(random.oneIn(3) ? 60 : 8);
      return { start, end, isLabel };
    });
    const table = tableOf(ranges);
    for (let address = -1; address < 200; address++)
      assert.equal(
        table.lookup(address),
        slowLookup(ranges, address),
        `${address} in ${JSON.stringify(ranges)}`,
      );
  }
});
