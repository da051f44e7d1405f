import assert from 'node:assert/strict';
import { test } from 'node:test';
import { intelIdentity } from '../../test/cpu-identities.ts';
import { fuzz } from '../../test/fuzz.ts';
import { mutate } from '../../test/mutate.ts';
import type { Random } from '../../test/random.ts';
import { parseVendorEvents } from './vendor-json.ts';
import { matchMapFile, parseMapFile } from './vendor-map.ts';

const FIELDS = [
  'EventName',
  'EventCode',
  'UMask',
  'UMaskExt',
  'Counter',
  'CounterMask',
  'EdgeDetect',
  'Invert',
  'MSRIndex',
  'MSRValue',
  'SampleAfterValue',
  'PEBS',
  'BriefDescription',
  'Unit',
  'Filter',
  'ExtSel',
  'ConfigCode',
  'ArchStdEvent',
  'MetricName',
  'code',
  'title',
  'name',
  '__proto__',
  'constructor',
  'Events',
  'events',
];
const WORDS = [
  '0x3C',
  '0',
  '1',
  '-1',
  '0xffffffffffffffff',
  '0x1ffffffffffffffff',
  '1e9',
  'NaN',
  '',
  ' ',
  '0,1,2',
  'Fixed counter 1',
  'A.B',
  'INST_RETIRED',
  '__proto__',
  '\u0000\u001b[2J',
  'x'.repeat(5000),
  'event=0x1',
  '0x1a6,0x1a7',
  '0x3f6',
  'CHA',
  'cpu_core',
];

function value(random: Random, depth: number): unknown {
  const way = random.below(depth > 0 ? 9 : 6);
  if (way < 3) return random.pick(WORDS);
  if (way === 3) return random.pick([0, 1, -1, 1.5, 2 ** 53, 1e300, random.u32()]);
  if (way === 4) return random.pick([true, false, null]);
  if (way === 5) return random.pick(FIELDS);
  if (way === 6) return Array.from({ length: random.below(5) }, () => value(random, depth - 1));
  return fields(random, depth - 1);
}

function fields(random: Random, depth: number): Record<string, unknown> {
  // JSON.parse makes an own "__proto__", which assignment would not.
  const entries = Array.from(
    { length: random.below(8) },
    () => [random.pick(FIELDS), value(random, depth)] as const,
  );
  return Object.fromEntries(entries);
}

function table(random: Random): string {
  const rows = Array.from({ length: random.below(12) }, (_, index) => ({
    // Mostly a sound event at first, of which some fields are then anything.
    ...(random.oneIn(3) ? {} : { EventName: `E${index}`, name: `E${index}`, EventCode: '0x3c', code: 4 }),
    ...fields(random, 3),
  }));
  const named = Object.fromEntries(
    rows.map((row, index) => [random.oneIn(3) ? random.pick(WORDS) : `E${index}`, row]),
  );
  const json = random.pick<unknown>([
    { Header: {}, Events: rows },
    rows,
    { events: named },
    { events: rows },
    value(random, 4),
  ]);
  return JSON.stringify(json) ?? 'undefined';
}

test('tables of any content are read without an error, and what comes out is sound', async () => {
  let input: Uint8Array = new Uint8Array(0);
  let events = 0;
  await fuzz(
    'vendor tables',
    (random) => {
      let text = table(random);
      if (random.oneIn(3)) text = new TextDecoder().decode(mutate(new TextEncoder().encode(text), random));
      input = new TextEncoder().encode(text);
      const result = parseVendorEvents(text, 'f.json');
      events += result.events.length;
      assert.ok(result.problems.length <= 100 && result.problemCount >= result.problems.length);
      for (const event of result.events) {
        assert.match(event.name, /^[\w.][\w.:+-]{0,199}$/);
        assert.match(event.terms, /^[a-z_]\w*=0x[\da-f]{2,}(?:,[a-z_]\w*=0x[\da-f]{2,})*$/i);
        for (const [, number] of event.termValues) assert.ok(number >= 0n);
        assert.ok(event.brief.length <= 20_000);
        assert.doesNotMatch(event.name + event.brief + event.description + event.place, /[\u0000-\u001f]/);
      }
      for (const { place, what } of result.problems) assert.ok(place.length < 300 && what.length < 400);
    },
    () => input,
  );
  assert.ok(events > 100, 'the tables are not all nonsense');
});

test('map files of any content are read and matched in time', async () => {
  let input: Uint8Array = new Uint8Array(0);
  const identity = intelIdentity({ version: 4, general: 4, fixed: 3 });
  const base = new TextEncoder().encode(
    'Family-model,Version,Filename,EventType\nGenuineIntel-6-(55|6A)-[0-9]*,V1,/a.json,core\nAuthenticAMD-25-.*,v1,zen,core\n',
  );
  await fuzz(
    'map files',
    (random) => {
      const bytes = mutate(base, random);
      input = bytes;
      const map = parseMapFile(new TextDecoder().decode(bytes), 'm.csv');
      matchMapFile(map, identity);
    },
    () => input,
  );
});
