import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Profile } from '../../../profile/tables/index.ts';
import { collectText } from '../../../test/collect.ts';
import { ExampleBuilder } from '../../../test/example-profile.ts';
import { Random } from '../../../test/random.ts';
import { readXml } from '../../../test/read-xml.ts';
import { totals } from './boxes.ts';
import type { FlameData } from './flame-data.ts';
import { SHADES } from './palette.ts';
import { writeFlameSvg } from './svg.ts';

/** Samples by chain, as `main;work`. */
function profileOf(chains: Readonly<Record<string, number>>, path = '/one/app', weight = 1000): Profile {
  const builder = new ExampleBuilder();
  const count = Object.values(chains).reduce((sum, own) => sum + own, 0);
  const event = builder.event({
    name: 'cpu-clock',
    unit: 'nanoseconds',
    samples: count,
    sumPeriod: BigInt(count * weight),
  });
  const binary = builder.binary(path, 'user');
  const thread = builder.thread(1, 1, 'app');
  let address = BigInt(path.length * 4096);
  for (const [chain, own] of Object.entries(chains)) {
    const frames = chain.split(';').map((name) => builder.frame(binary, name, address++));
    const stack = builder.stack(frames);
    for (let n = 0; n < own; n++) builder.sample({ timeNs: n, thread, stack, event, weight, cpu: 0 });
  }
  return builder.profile;
}

interface Box {
  width: number;
  before: number;
  after: number;
  shade: number;
}

function boxesOf(before: Profile, after: Profile): { data: FlameData; boxes: Map<string, Box>; svg: string } {
  const svg = collectText(writeFlameSvg(after, { before }));
  const data: FlameData = JSON.parse(readXml(svg).get('flame-data')!);
  const { depth, label, selfWeight, hiddenWeight, selfSamples, hiddenSamples, shade } = data.boxes;
  const both = totals(depth, selfWeight, hiddenWeight);
  const later = totals(depth, selfSamples!, hiddenSamples!);
  const boxes = new Map<string, Box>();
  const path: string[] = [];
  depth.forEach((level, row) => {
    path.length = level;
    path.push(data.labels.name[label[row]!]!);
    const share = (part: number) => (100 * part) / (both[0]! / 2);
    boxes.set(path.slice(2).join(';'), {
      width: (100 * both[row]!) / both[0]!,
      before: share(both[row]! - later[row]!),
      after: share(later[row]!),
      shade: shade![row]!,
    });
  });
  return { data, boxes, svg };
}

test('what grew is red, what shrank blue, what is new and what is gone are both there', () => {
  const before = profileOf({ 'main;steady': 500, 'main;gone': 450, 'main;grows': 50 });
  // Another build, elsewhere, that was recorded for longer.
  const after = profileOf({ 'main;steady': 1000, 'main;grows': 800, 'main;fresh': 200 }, '/other/app', 2500);
  const { boxes, data, svg } = boxesOf(before, after);
  const near = (box: string, expected: Omit<Box, 'shade'>) => {
    const found = boxes.get(box)!;
    for (const key of ['width', 'before', 'after'] as const)
      assert.ok(Math.abs(found[key] - expected[key]) < 1e-6, `${box} ${key}: ${found[key]}`);
    return found.shade;
  };
  assert.equal(near('main', { width: 100, before: 100, after: 100 }), SHADES);
  assert.equal(near('main;steady', { width: 50, before: 50, after: 50 }), SHADES);
  assert.equal(near('main;gone', { width: 22.5, before: 45, after: 0 }), 0);
  assert.equal(near('main;grows', { width: 22.5, before: 5, after: 40 }), 2 * SHADES);
  assert.equal(near('main;fresh', { width: 5, before: 0, after: 10 }), 2 * SHADES);
  assert.deepEqual(data.facts.compared, {
    before: { weight: 1_000_000, samples: 1000 },
    after: { weight: 5_000_000, samples: 2000 },
  });
  assert.match(svg, /before: 1,000 samples, 1\.00 ms · after: 2,000 samples, 5\.00 ms/);
  // The still picture has the colours, too.
  assert.match(svg, /<path class="c0" d="M/);
  assert.match(svg, /<path class="c10" d="M/);
  assert.match(svg, /no more than chance<\/text>/);
});

test('of equal programs next to all pictures are grey', () => {
  const random = new Random(3);
  const draw = () => {
    const chains: Record<string, number> = {};
    for (let n = 0; n < 600; n++) {
      const chain = `main;f${random.below(6)};g${random.below(8)}`;
      chains[chain] = (chains[chain] ?? 0) + 1;
    }
    return profileOf(chains);
  };
  let coloured = 0;
  for (let n = 0; n < 40; n++)
    if ([...boxesOf(draw(), draw()).boxes.values()].some(({ shade }) => shade !== SHADES)) coloured++;
  assert.ok(coloured <= 6, `${coloured} of 40`);
});

test('a recording without samples compares with everything', () => {
  const { boxes } = boxesOf(profileOf({}), profileOf({ 'main;work': 50 }));
  assert.equal(boxes.get('main;work')!.width, 100);
  assert.ok(collectText(writeFlameSvg(profileOf({}), { before: profileOf({}) })).includes('<svg'));
});
