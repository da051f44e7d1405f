import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fitTogether, type Match, matchCounters } from './match.ts';
import type { EventRequirement } from './types.ts';

/** Every choice of places in turn: slow, and plainly right. */
function slowFits(requirements: readonly EventRequirement[], taken: readonly number[] = []): boolean {
  const [first, ...rest] = requirements;
  if (first === undefined) return true;
  return first.places.some(
    (place) => place.every((counter) => !taken.includes(counter)) && slowFits(rest, [...taken, ...place]),
  );
}

function slowRegistersAgree(requirements: readonly EventRequirement[]): boolean {
  const resources = new Set(requirements.flatMap(({ shared }) => shared?.resource ?? []));
  return [...resources].every((resource) => {
    const users = requirements.flatMap(({ shared }) => (shared?.resource === resource ? [shared] : []));
    return new Set(users.map(({ value }) => value)).size <= users[0]!.capacity;
  });
}

const single = fc.uniqueArray(fc.nat(5), { maxLength: 5 }).map((list) => list.map((counter) => [counter]));
const pair = fc
  .uniqueArray(fc.nat(2), { minLength: 1, maxLength: 3 })
  .map((list) => list.map((half) => [2 * half, 2 * half + 1]));
const mixed = fc.tuple(single, pair).map(([a, b]) => [...a, ...b]);
const shared = fc.option(
  fc.record({
    resource: fc.constantFrom('offcore', 'latency'),
    value: fc.nat(2).map(BigInt),
  }),
  { nil: undefined, freq: 3 },
);
const requirement: fc.Arbitrary<EventRequirement> = fc
  .record({ places: fc.oneof(single, single, pair, mixed), shared })
  .map(({ places, shared }) => ({
    places,
    ...(shared && { shared: { ...shared, capacity: shared.resource === 'offcore' ? 2 : 1 } }),
  }));

function assertPlaced(requirements: readonly EventRequirement[], match: Match): void {
  assert.equal(match.kind, 'found');
  const { places } = match as Match & { kind: 'found' };
  for (const [event, counters] of places.entries()) {
    assert.ok(requirements[event]!.places.some((place) => place.join() === counters.join()));
  }
  const all = places.flat();
  assert.equal(new Set(all).size, all.length);
}

test('events fit where the slow way says so, each on counters of its own', () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 7 }), (requirements) => {
      const match = matchCounters(requirements);
      const agree = slowRegistersAgree(requirements);
      const fits = agree && slowFits(requirements);
      assert.equal(fitTogether(requirements), fits);
      if (fits) return assertPlaced(requirements, match);
      if (!agree) return assert.equal(match.kind, 'register');
      assert.equal(match.kind, 'counters');
      // The reason given is one, and none of its events could be left out of it.
      const reason = (match as Match & { kind: 'counters' }).events.map((event) => requirements[event]!);
      assert.ok(!slowFits(reason));
      for (const leftOut of reason) assert.ok(slowFits(reason.filter((event) => event !== leftOut)));
    }),
    { numRuns: 3000 },
  );
});

test('an event moves to its second choice for one that has no other', () => {
  const requirements = [{ places: [[1], [0]] }, { places: [[1]] }];
  assert.deepEqual(matchCounters(requirements), { kind: 'found', places: [[0], [1]] });
});

test('many equal pairs are decided at once', () => {
  const pairs = Array.from({ length: 15 }, (_, half) => [2 * half, 2 * half + 1]);
  const all = Array.from({ length: 31 }, (_, counter) => [counter]);
  const full = [...Array<EventRequirement>(15).fill({ places: pairs }), { places: all }];
  assertPlaced(full, matchCounters(full));
  const tooMany = [...full, { places: all }];
  const match = matchCounters(tooMany);
  assert.equal(match.kind, 'counters');
});
