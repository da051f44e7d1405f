/**
 * Dumps of damaged traces, with time and records: every line is text, and the dump ends. Cuts at
 * every offset of a small trace.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Random } from '../../../../core/src/test/random.ts';
import { errataOf } from '../packets/errata.ts';
import { PacketCursor } from '../packets/packet-cursor.ts';
import { parseTraceProgram } from '../text/index.ts';
import { TraceClock } from '../time/trace-clock.ts';
import { dumpPackets } from './dump-packets.ts';
import { sidebandLines } from './sideband-text.ts';

const PROGRAMS = new URL('../text/programs/', import.meta.url);
const TRACES = readdirSync(PROGRAMS).map(
  (name) => parseTraceProgram(readFileSync(new URL(name, PROGRAMS), 'utf8')).trace,
);
const seconds = Number(process.env.FUZZ_SECONDS ?? 1);
const ERRATA = errataOf({ family: 6, model: 0x4e, stepping: 0 })!;

function dump(bytes: Uint8Array, random: Random): number {
  const settings = {
    mtcFreq: random.below(16),
    nomFreq: random.below(256),
    cpuid0x15Eax: random.below(3),
    cpuid0x15Ebx: random.below(2 ** 31),
    errata: ERRATA,
  };
  const file = {
    name: 'records',
    bytes: bytes.slice(random.below(20)),
    sampleType: BigInt(random.below(2 ** 20)),
    clock: { timeZero: 0n, timeShift: random.below(64), timeMult: 1 + random.below(1000) },
    tscOffset: BigInt(random.below(5)),
  };
  let lines = 0;
  const result = dumpPackets(
    bytes,
    {
      settings,
      track: random.below(2) === 0 ? 'time' : 'calibration',
      delta: random.below(2) === 0,
      noSync: random.below(2) === 0,
      raw: true,
      lastIp: true,
      execMode: true,
      json: random.below(3) === 0,
      sideband: sidebandLines([file], {
        offset: true,
        time: true,
        warn: true,
        verbose: random.below(2) === 0,
      }),
    },
    (line) => {
      assert.doesNotMatch(line, /NaN|undefined|Infinity|null/);
      lines++;
    },
  );
  assert.ok(result.packets <= bytes.length * 2 && lines < bytes.length * 10 + 10);
  return result.packets;
}

test('cuts at every offset', () => {
  const random = new Random(1);
  for (const trace of TRACES) for (let end = 0; end <= trace.length; end++) dump(trace.slice(0, end), random);
});

test(`damaged traces for ${seconds} s`, () => {
  const seed = Date.now() & 0xffff;
  const random = new Random(seed);
  const until = performance.now() + seconds * 1000;
  let packets = 0;
  // Wall time: a fuzzer runs for so long.
  while (performance.now() < until) {
    const pieces = Array.from({ length: 1 + random.below(4) }, () => [...random.pick(TRACES)]);
    const bytes = Uint8Array.from(pieces.flat());
    for (let count = random.below(8); count > 0; count--)
      bytes[random.below(bytes.length)] = random.below(256);
    packets += dump(bytes, random);
    const clock = new TraceClock({
      mtcFreq: 3,
      nomFreq: 21,
      cpuid0x15Eax: 1,
      cpuid0x15Ebx: 84,
      errata: ERRATA,
    });
    for (const packet of new PacketCursor(bytes).packets()) {
      clock.update(packet);
      const { errorTicks } = clock.certainty();
      assert.ok(clock.tscLo >= 0 && clock.tscLo < 2 ** 32 && Number.isInteger(clock.tscLo), `seed ${seed}`);
      assert.ok(errorTicks === null || errorTicks >= 0, `seed ${seed}`);
    }
  }
  assert.ok(packets > 0);
});
