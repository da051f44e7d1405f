import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Profile } from '../../profile/tables/index.ts';
import { collectText } from '../../test/collect.ts';
import { bigProfile, hostileProfile, smallProfile } from '../../test/example-profile.ts';
import { assertGolden } from '../../test/golden.ts';
import type { ExportOptions } from './options.ts';
import { writeSpeedscope } from './speedscope.ts';

interface SpeedscopeFile {
  $schema: string;
  name: string;
  activeProfileIndex: number;
  counterpoint: { loss: unknown[]; commandLine: string[] };
  shared: { frames: { name: string; file?: string; line?: number; col?: number }[] };
  profiles: {
    type: string;
    name: string;
    unit: string;
    startValue: number;
    endValue: number;
    samples: number[][];
    weights: number[];
  }[];
}

const UNITS = ['bytes', 'microseconds', 'milliseconds', 'nanoseconds', 'none', 'seconds'];

function written(profile: Profile, options?: ExportOptions): SpeedscopeFile {
  return JSON.parse(collectText(writeSpeedscope(profile, options)));
}

/** What speedscope's published file-format-schema.json requires of a file with sampled profiles. */
function assertSchema(file: SpeedscopeFile): void {
  assert.equal(file.$schema, 'https://www.speedscope.app/file-format-schema.json');
  assert.equal(typeof file.name, 'string');
  assert.ok(file.activeProfileIndex < file.profiles.length);
  for (const frame of file.shared.frames) {
    assert.equal(typeof frame.name, 'string');
    for (const [key, value] of Object.entries(frame)) {
      assert.equal(typeof value, key === 'line' || key === 'col' ? 'number' : 'string', key);
    }
  }
  for (const profile of file.profiles) {
    assert.equal(profile.type, 'sampled');
    assert.equal(typeof profile.name, 'string');
    assert.ok(UNITS.includes(profile.unit));
    assert.equal(profile.startValue, 0);
    assert.equal(profile.samples.length, profile.weights.length);
    assert.equal(
      profile.endValue,
      profile.weights.reduce((sum, weight) => sum + weight, 0),
    );
    for (const frame of profile.samples.flat()) assert.ok(frame in file.shared.frames);
  }
}

test('the small profile', () => {
  const text = collectText(writeSpeedscope(smallProfile()));
  assertSchema(JSON.parse(text));
  assertGolden('export/small.speedscope.json', `${JSON.stringify(JSON.parse(text), null, 1)}\n`);
});

test('all threads together weigh what the threads weigh', () => {
  const file = written(bigProfile(20_000, 5000));
  assertSchema(file);
  const [all, ...threads] = file.profiles;
  assert.equal(threads.length, 4);
  assert.equal(
    all!.endValue,
    threads.reduce((sum, thread) => sum + thread.endValue, 0),
  );
  assert.equal(all!.endValue, 20_000 * 250_000);
  assert.equal(new Set(all!.samples.map(String)).size, all!.samples.length, 'a stack is there twice');
});

test('by samples there is no unit of time', () => {
  const file = written(smallProfile(), { weight: 'samples' });
  assertSchema(file);
  assert.equal(file.profiles[0]!.unit, 'none');
  assert.equal(file.profiles[0]!.endValue, 121);
});

test('losses are in the name and, whole, under a key of our own', () => {
  const file = written(smallProfile());
  assert.match(
    file.name,
    /1,204 records \(samples and others\) lost because the ring buffer was full; at least 17 samples/,
  );
  assert.equal(file.counterpoint.loss.length, 2);
});

test('hostile names survive as they are', () => {
  const file = written(hostileProfile());
  assertSchema(file);
  const names = file.shared.frames.map((frame) => frame.name);
  assert.ok(names.includes(']]>'));
  assert.ok(names.includes('__proto__'));
  assert.ok(names.includes('lone \ud800 and \udc00 surrogates'));
});
