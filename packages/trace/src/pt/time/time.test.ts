import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { hiOf, loOf, toBigInt } from '@counterpoint/core/base';
import fc from 'fast-check';
import { corpusUrl } from '../../../../core/src/test/corpus.ts';
import { NO_ERRATA } from '../packets/errata.ts';
import { Packet } from '../packets/packet.ts';
import { PacketCursor } from '../packets/packet-cursor.ts';
import {
  PACKET_CBR,
  PACKET_CYC,
  PACKET_MTC,
  PACKET_OVF,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_TMA,
  PACKET_TNT8,
  PACKET_TSC,
} from '../packets/packet-kinds.ts';
import { perfTimeToTsc, tscToPerfNs, tscToPerfTime } from './perf-clock.ts';
import { TraceClock } from './trace-clock.ts';

const SETTINGS = { mtcFreq: 3, nomFreq: 21, cpuid0x15Eax: 1, cpuid0x15Ebx: 84, errata: NO_ERRATA };

function give(clock: TraceClock, kind: number, lo = 0, extra = 0, hi = 0): boolean {
  return clock.update(Object.assign(new Packet(), { kind, lo, hi, extra }));
}

test('the clock says how sure it is, from exact to not at all', () => {
  const clock = new TraceClock(SETTINGS);
  assert.deepEqual(clock.certainty(), {
    lastTsc: null,
    clock: 'none',
    errorTicks: null,
    sinceTicks: null,
    lostMtc: 0,
    lostCyc: 0,
  });
  assert.equal(give(clock, PACKET_TNT8), false);
  give(clock, PACKET_PSB);
  give(clock, PACKET_TSC, 1_000_000);
  assert.deepEqual(clock.certainty(), {
    lastTsc: 1_000_000n,
    clock: 'wall',
    errorTicks: 0,
    sinceTicks: null,
    lostMtc: 0,
    lostCyc: 0,
  });
  give(clock, PACKET_TMA, 8, 5);
  give(clock, PACKET_CBR, 30);
  give(clock, PACKET_PSBEND);
  give(clock, PACKET_CYC, 100);
  // The fast counter at TSC was 5; 100 cycles at 21/30 are 69 ticks in whole 1/256.
  assert.equal(clock.tscLo, 1_000_000 + 69);
  assert.equal(clock.certainty().errorTicks, 1);
  give(clock, PACKET_MTC, 2);
  assert.equal(clock.tscLo, 1_000_000 - 5 + 8 * 84);
  assert.equal(clock.certainty().errorTicks, 85);
  give(clock, PACKET_OVF);
  give(clock, PACKET_CYC, 100);
  assert.deepEqual(clock.certainty(), {
    lastTsc: 1_000_000n,
    clock: 'wall',
    errorTicks: null,
    sinceTicks: 672,
    lostMtc: 0,
    lostCyc: 1,
  });
  clock.reset();
  give(clock, PACKET_CBR, 30);
  give(clock, PACKET_CYC, 100);
  assert.deepEqual([clock.tscLo, clock.certainty().clock], [69, 'relative']);
});

test('time runs on over the border of 32 bits, and beyond 2^53', () => {
  const clock = new TraceClock(SETTINGS);
  give(clock, PACKET_TSC, -1, 0, 0x00ff_fff0);
  give(clock, PACKET_TMA, 0, 0);
  give(clock, PACKET_MTC, 1);
  assert.deepEqual([clock.tscHi, clock.tscLo], [0x00ff_fff1, 8 * 84 - 1]);
});

test('a trace without CPUID 0x15 keeps to its TSC packets and counts what it could not use', () => {
  const clock = new TraceClock();
  give(clock, PACKET_TSC, 7);
  give(clock, PACKET_TMA, 0, 0);
  give(clock, PACKET_MTC, 1);
  assert.deepEqual([clock.tscLo, clock.errors], [7, 1]);
});

test("the fast way to perf's nanoseconds equals the exact one", () => {
  const clocks = fc.record({
    timeZero: fc.bigInt({ min: 0n, max: 2n ** 50n }),
    timeShift: fc.integer({ min: 0, max: 40 }),
    timeMult: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  });
  fc.assert(
    fc.property(clocks, fc.bigInt({ min: 0n, max: 2n ** 56n - 1n }), (clock, tsc) => {
      const exact = tscToPerfTime(clock, tsc);
      fc.pre(clock.timeZero + ((tsc * BigInt(clock.timeMult)) >> BigInt(clock.timeShift)) < 2n ** 53n);
      assert.equal(tscToPerfNs(clock, loOf(tsc), hiOf(tsc)), Number(exact));
      // One nanosecond is 2^shift / mult ticks.
      const back = perfTimeToTsc(clock, exact);
      const step = 2n + (1n << BigInt(clock.timeShift)) / BigInt(clock.timeMult);
      assert.ok(back <= tsc + 1n && tsc - back <= 2n * step, `${tsc} ${back}`);
    }),
    { numRuns: 2000 },
  );
});

test('a clock of 2.1 GHz: a second is a second', () => {
  // As the kernel makes them: mult / 2^shift nanoseconds per tick.
  const clock = { timeZero: 5_000_000_000n, timeShift: 31, timeMult: Math.round(2 ** 31 / 2.1) };
  const ns = tscToPerfNs(clock, 2_100_000_000, 0);
  assert.ok(Math.abs(ns - 6_000_000_000) <= 1, String(ns));
});

test('at every TSC packet the clock was as near as it said', () => {
  for (const name of ['cyc.pt', 'mtc.pt']) {
    const bytes = new Uint8Array(readFileSync(corpusUrl(`pt/own/${name}`)));
    // One each 4 KiB; at the first the clock begins.
    const leastTimes = Math.floor(bytes.length / 4096) - 4;
    const clock = new TraceClock(SETTINGS);
    let times = 0;
    for (const packet of new PacketCursor(bytes).packets()) {
      const { clock: kind, errorTicks, sinceTicks } = clock.certainty();
      if (packet.kind === PACKET_TSC && kind === 'wall') {
        const ahead = Number(toBigInt(packet.lo >>> 0, packet.hi >>> 0) - toBigInt(clock.tscLo, clock.tscHi));
        const where = `${name}: ${ahead} ticks, said ${errorTicks} and ${sinceTicks}`;
        assert.ok(errorTicks !== null && sinceTicks !== null, where);
        assert.ok(ahead >= -errorTicks && ahead <= errorTicks + sinceTicks, where);
        times++;
      }
      clock.update(packet);
    }
    assert.ok(times >= leastTimes, `${name}: ${times} times`);
    assert.equal(clock.errors, 0);
  }
});
