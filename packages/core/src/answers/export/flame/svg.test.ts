import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Profile } from '../../../profile/tables/index.ts';
import { collectText } from '../../../test/collect.ts';
import { bigProfile, hostileProfile, smallProfile } from '../../../test/example-profile.ts';
import { assertGolden } from '../../../test/golden.ts';
import { readXml } from '../../../test/read-xml.ts';
import type { ExportOptions } from '../options.ts';
import { totals } from './boxes.ts';
import type { FlameData } from './flame-data.ts';
import { fillRules } from './palette.ts';
import { writeFlameSvg } from './svg.ts';

function written(profile: Profile, options?: ExportOptions): { svg: string; data: FlameData } {
  const svg = collectText(writeFlameSvg(profile, options));
  return { svg, data: JSON.parse(readXml(svg).get('flame-data')!) };
}

test('the still picture and the data of the small profile', () => {
  const { svg } = written(smallProfile());
  const shown = svg
    .replace(/<style>.*?<\/style>/s, '<style/>')
    .replace(/<script><!\[CDATA\[.*?\]\]><\/script>/s, '<script/>')
    .replace(/(<(?:text|path|rect|circle|g|script))/g, '\n$1');
  assertGolden('export/small.flame.svg.txt', shown);
});

test('nothing is fetched from anywhere', () => {
  const { svg } = written(smallProfile());
  const urls = svg.match(/(?:https?:)?\/\/[\w.]+\.[a-z]+[^"'\s]*|@import|url\(|xlink/g) ?? [];
  assert.deepEqual([...new Set(urls)].sort(), ['http://www.w3.org/1999/xhtml', 'http://www.w3.org/2000/svg']);
});

test('hostile names stay text: well-formed XML, no element but ours, no end of the script', () => {
  const { svg, data } = written(hostileProfile());
  assert.equal(svg.match(/<script/g)!.length, 2);
  assert.equal(svg.match(/<\/script/g)!.length, 2);
  assert.ok(data.labels.name.includes('</script><script>alert(1)</script>'));
  assert.ok(data.labels.name.includes('& &amp; "quotes" \'single\' `ticks` $\u007bx}'));
  assert.ok(data.labels.name.includes('__proto__'));
  assert.ok(svg.length < 100_000, `${svg.length} characters`);
});

test('a million samples would fit: what is narrow is counted and said', () => {
  const { svg, data } = written(bigProfile(60_000, 30_000));
  assert.ok(svg.length < 3e6, `${svg.length} characters`);
  assert.match(data.facts.note, /^[\d,]+ frames below 0\.\d+% are counted in their callers$/);
  assert.ok(svg.includes(data.facts.note));
  const { depth, selfWeight, hiddenWeight } = data.boxes;
  assert.equal(totals(depth, selfWeight, hiddenWeight)[0], data.facts.totalWeight);
  assert.equal(data.facts.weightPerSample, 250_000);
});

test('samples of different weights have columns of their own', () => {
  const profile = smallProfile();
  profile.samples.weight.data[0] = 7;
  const { data } = written(profile);
  assert.equal(data.facts.weightPerSample, null);
  assert.equal(totals(data.boxes.depth, data.boxes.selfSamples!, data.boxes.hiddenSamples!)[0], 121);
});

test('the header says what was lost, in words, or that nothing was', () => {
  const profile = smallProfile();
  assert.match(
    written(profile).svg,
    /Incomplete: 1,204 records \(samples and others\) lost because the ring buffer was full; at least 17/,
  );
  profile.loss = [];
  const { svg, data } = written(profile);
  assert.match(svg, />Nothing lost</);
  assert.equal(data.facts.isComplete, true);
  assert.equal(
    data.facts.facts,
    'cpu-clock · 121 samples · 30.3 ms of CPU time · recorded over 27.5 ms · example Linux 6.18.0 x86_64',
  );
  assert.equal(data.facts.command, `/usr/bin/node demo.js '--size=5 <big> & "quoted"'`);
});

test('an empty profile is still a picture', () => {
  const profile = smallProfile();
  profile.samples.event.data.fill(1);
  const { svg } = written(profile);
  assert.match(svg, /cpu-clock · 0 samples/);
});

test('an event whose samples stand for nothing is drawn by samples', () => {
  const profile = smallProfile();
  profile.samples.weight.data.fill(0);
  assert.equal(written(profile).data.facts.unit, 'samples');
});

/** WCAG 2: relative luminance and contrast. */
function contrast(a: string, b: string): number {
  const luminance = (colour: string) => {
    const [red, green, blue] = [1, 3, 5].map((at) => {
      const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high! + 0.05) / (low! + 0.05);
}

test('names are readable on every colour: contrast of at least 4.5', () => {
  for (const [scheme, ink] of [
    ['light', '#1c1d22'],
    ['dark', '#f0f1f4'],
  ] as const) {
    for (const [rule, colour = ''] of fillRules(scheme).matchAll(/fill:(#\w{6})/g)) {
      assert.ok(contrast(ink, colour) >= 4.5, `${scheme} ${rule}: ${contrast(ink, colour)}`);
    }
  }
});
