import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';

interface Open {
  event: string;
  counter: { kind: string; counters: string[]; share: number | null; reason: string | null };
}

test('a plan names the counters of this PMU, event by event', async () => {
  const { out } = await counterpoint('stat', '--plan', '--json', '-e', 'cycles,instructions,faults', 'true');
  const opens: Open[] = JSON.parse(out).opens;
  assert.deepEqual(
    opens.map(({ event, counter: { kind, counters, share } }) => [event, kind, counters.length, share]),
    [
      ['cycles', 'counter', 1, 1],
      ['instructions', 'counter', 1, 1],
      ['faults', 'software', 0, null],
    ],
  );
});

test('a plan says of a group that is too large that it is never counted', async () => {
  const group = `{${Array.from({ length: 12 }, (_, index) => `cycles/name=g${index}/`).join(',')}}`;
  const { out } = await counterpoint('stat', '--plan', '-e', group, 'true');
  assert.equal(out.match(/never counted: .*12 counters/g)?.length, 12);
});
