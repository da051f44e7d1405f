/**
 * When `collect` is woken, on the real kernel: at a fill level, not before, and
 * again when it is as full again.
 */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { noFormats as skip } from '../../../test/format-recording.ts';
import { hitRareTracepoint, RARE_TRACEPOINT, runOwn } from '../../../test/format-runs.ts';
import { type BpfMapDefinition, bpfStruct, r7, r8 } from '../../kernel/bpf/index.ts';
import { liveHandles } from '../../kernel/sys/index.ts';
import { defineFormat, type WakeRule } from './format.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);
/** Numbers of processes that there are not. */
const NOBODY = 1 << 28;

const RING: BpfMapDefinition = {
  name: 'hits',
  type: 'ring-buffer',
  keySizeBytes: 0,
  valueSizeBytes: 0,
  maxEntries: 4096,
};
const Hit = bpfStruct({ who: 'u64' });
const BYTES_OF_HIT = Hit.sizeBytes + 8;
const HASH: BpfMapDefinition = {
  name: 'who',
  type: 'hash',
  keySizeBytes: 4,
  valueSizeBytes: 8,
  maxEntries: 1024,
};

const base = { name: 'filling', version: 1, summary: '', options: {} } as const;

/** Its results are how many records it found at each notification. */
const intoRing = (bytes: number) =>
  defineFormat({
    ...base,
    plan: () => ({ maps: [RING], wake: { kind: 'filled', map: 'hits', bytes } }),
    onOverflow(asm, { onlyTarget, countLoss }) {
      onlyTarget();
      asm.loadContext(r7, 'who');
      const full = () => countLoss('ring-full');
      asm.record(RING, Hit, r8, ({ who }) => asm.store(who, r7), full, 1);
    },
    async *collect(maps, { next, openRing }) {
      using ring = openRing(maps.get('hits')!);
      while ((await next()) === 'notified') {
        let count = 0;
        while (ring.reader.next()) count++;
        ring.reader.commit();
        yield count;
      }
    },
  });

async function notificationsOf(format: Parameters<typeof runOwn>[0], steps: readonly (readonly number[])[]) {
  using own = runOwn(format, RARE_TRACEPOINT);
  const found: unknown[] = [];
  const after: number[] = [];
  const reading = (async () => {
    for await (const result of own.run.results()) found.push(result);
  })();
  await sleep(20);
  for (const step of steps) {
    hitRareTracepoint(step);
    await sleep(50);
    after.push(found.length);
  }
  own.run.stop();
  await reading;
  return { found, after, losses: own.run.finish().losses };
}

test('a ring wakes at its level, once, and again when it was emptied and is as full', { skip }, async () => {
  const records = 20;
  const { found, after, losses } = await notificationsOf(intoRing(records * BYTES_OF_HIT), [
    numbers(NOBODY, records - 1),
    numbers(NOBODY, 1),
    // All of these before anybody reads: one notification.
    numbers(NOBODY, 3 * records),
    numbers(NOBODY, records - 1),
  ]);
  assert.deepEqual(after, [0, 1, 2, 2]);
  assert.deepEqual(found, [records, 3 * records]);
  assert.deepEqual(losses, []);
});

/** Its results are how many entries it found, and took, at each notification. */
const intoHash = (entries: number, isByHand: boolean) =>
  defineFormat({
    ...base,
    plan: () => ({ maps: [HASH], wake: { kind: 'filled', map: 'who', entries } }),
    onOverflow(asm, { onlyTarget, countEntry }) {
      onlyTarget();
      asm.loadContext(r7, 'who');
      if (isByHand) {
        asm.mapUpdate(HASH, r7, 1);
        countEntry();
      } else asm.countInMap(HASH, r7);
    },
    async *collect(maps, { next }) {
      while ((await next()) === 'notified') {
        let taken = 0;
        for (const { count } of maps.get('who')!.batches('lookup-and-delete')) taken += count;
        yield taken;
      }
    },
  });

test('a map wakes at so many new entries; what is there already is none', { skip }, async () => {
  const { found, after } = await notificationsOf(intoHash(10, false), [
    [...numbers(NOBODY, 9), ...numbers(NOBODY, 9), ...numbers(NOBODY, 9)],
    numbers(NOBODY + 9, 1),
    numbers(NOBODY, 9),
    numbers(NOBODY + 100, 1),
  ]);
  assert.deepEqual(after, [0, 1, 1, 2]);
  assert.deepEqual(found, [10, 10]);
});

test('entries that the handler reports itself', { skip }, async () => {
  const { found, after } = await notificationsOf(intoHash(10, true), [
    numbers(NOBODY, 9),
    numbers(NOBODY + 50, 1),
    numbers(NOBODY, 25),
  ]);
  assert.deepEqual(after.slice(0, 2), [0, 1]);
  assert.equal(found[0], 10);
  assert.equal(found[1], 25);
});

test('a rule that cannot be kept is refused, with the reason', { skip }, () => {
  const attempt = (wake: WakeRule, counts = false) => {
    const format = defineFormat({
      ...base,
      plan: () => ({ maps: [RING, HASH], wake }),
      onOverflow: (_, { countEntry }) => (counts ? countEntry() : undefined),
      async *collect() {},
    });
    return () => runOwn(format, RARE_TRACEPOINT);
  };
  const refusedBecause = (message: RegExp) => ({ code: 'ERR_FORMAT_WAKE', message });
  assert.throws(attempt({ kind: 'filled', map: 'none', bytes: 1 }), refusedBecause(/its plan does not have/));
  assert.throws(attempt({ kind: 'filled', map: 'hits', entries: 1 }), refusedBecause(/type ring-buffer/));
  assert.throws(attempt({ kind: 'filled', map: 'who', bytes: 1 }), refusedBecause(/type hash/));
  assert.throws(attempt({ kind: 'filled', map: 'hits', bytes: 4097 }), refusedBecause(/4097 bytes/));
  assert.throws(attempt({ kind: 'filled', map: 'who', entries: 0 }), refusedBecause(/counts to 0/));
  assert.throws(attempt({ kind: 'every', count: 1.5 }), refusedBecause(/counts to 1.5/));
  assert.throws(attempt({ kind: 'every', count: 0 }), refusedBecause(/counts to 0/));
  const unknown = { kind: 'fill', bytes: 4096 } as unknown as WakeRule;
  assert.throws(attempt(unknown), refusedBecause(/of a kind fill, which does not exist/));
  assert.throws(attempt({ kind: 'never' }, true), refusedBecause(/counts no entries/));
});
