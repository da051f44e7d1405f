import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzz } from '../../../../../core/src/test/fuzz.ts';
import type { Random } from '../../../../../core/src/test/random.ts';
import { EventPage, readSlowly, type SlowEvent } from '../../../test/event-page.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { PageReader } from './page-reader.ts';
import { makeStub } from './stub.ts';

// Pages with anything in them: the stub comes back, and says what the obvious reading of them says.

const EVENTS = 3;
const HEAD_BYTES = 96;
const skip =
  makeStub(process.arch, {
    resultsAddress: 0n,
    pageAddresses: [],
    clock: { kind: 'page', pageAddress: 0n },
    counterInstruction: 'clock',
  }) === null
    ? `no stub for ${process.arch}`
    : false;

function scribble(page: EventPage, random: Random): void {
  new Uint8Array(page.mapping.buffer).set(random.bytes(HEAD_BYTES));
  if (random.oneIn(8)) return;
  // Mostly what a kernel could have written, so that all of the stub is run.
  page.set({ lock: BigInt(random.u32()) << 1n, capabilities: BigInt(random.below(64)) | 4n });
  page.set({ index: BigInt(random.below(random.oneIn(4) ? 80 : 33)), width: BigInt(random.below(70)) });
  if (random.oneIn(2)) page.set({ running: page.get('enabled') });
}

function checkValue(value: bigint, { offset, width }: SlowEvent, cyc: bigint): void {
  const counter = BigInt.asIntN(64, value - offset);
  assert.equal(counter, BigInt.asIntN(width, counter), 'the sign of the counter');
  if (width >= 40) assert.ok(BigInt.asUintN(width, counter - cyc) < 1n << 38n, 'the counter was read');
}

test('random pages: no hang, no crash, and what a slow reading of them gives', { skip }, async () => {
  const clock = EventPage.clock();
  const pages = Array.from({ length: EVENTS }, () => new EventPage());
  const of = (clockPage: EventPage) =>
    new PageReader(realSys, {
      pages: pages.map(({ mapping }) => mapping),
      clockPage: clockPage.mapping,
      counterInstruction: 'clock',
    });
  const reader = of(clock);
  const hostile = of(pages[0]!);
  const words = new BigUint64Array(reader.results);
  let whole = 0;
  const cases = await fuzz(
    'event pages',
    (random) => {
      for (const page of pages) scribble(page, random);
      const flags = reader.read();
      const cyc = words[0]!;
      const slow = readSlowly(pages, cyc);
      assert.equal(flags, slow.flags);
      slow.events.forEach((event, i) => {
        checkValue(words[1 + i]!, event, cyc);
        assert.equal(words[1 + EVENTS + i], event.enabled);
        assert.equal(words[1 + 2 * EVENTS + i], event.running);
      });
      if (slow.events.length === EVENTS) whole++;
      const last = hostile.read();
      assert.ok(last >= 0 && last <= 15);
    },
    () => Buffer.concat(pages.map(({ mapping }) => new Uint8Array(mapping.buffer, 0, HEAD_BYTES))),
  );
  if (cases !== null) assert.ok(whole > cases / 100, `${whole} of ${cases} cases were read to the end`);
  for (const handle of [reader, hostile, clock, ...pages]) handle.close();
  assert.deepEqual(liveHandles(), []);
});
