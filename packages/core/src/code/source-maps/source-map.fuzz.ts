import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError } from '../../base/index.ts';
import { fuzz } from '../../test/fuzz.ts';
import type { Random } from '../../test/random.ts';
import {
  decodeDataUrl,
  decodeRecordedMaps,
  encodeRecordedMaps,
  givenNames,
  mappingUrl,
  readSourceMap,
  SourceMap,
} from './index.ts';

const DIGITS = 'ACDEFIKgoz09+/,,;;*';

function mappingsOf(random: Random): string {
  return Array.from({ length: random.below(200) }, () => DIGITS[random.below(DIGITS.length)]!).join('');
}

function mapOf(random: Random): unknown {
  const wrong = () => random.pick([null, -1, 1e300, '', {}, [], 'AAAA']);
  const or = (value: unknown) => (random.oneIn(12) ? wrong() : value);
  return or({
    version: or(3),
    sources: or(Array.from({ length: random.below(4) }, (_, row) => or(`../s${row}.ts`))),
    sourceRoot: or('/root'),
    names: or(['a', 'b'].map(or)),
    x_google_ignoreList: or([random.below(5)]),
    mappings: or(mappingsOf(random)),
    ...(random.oneIn(3) && {
      sections: or(
        Array.from({ length: random.below(4) }, (_, row) =>
          or({ offset: or({ line: or(row), column: or(random.below(9)) }), map: or(mapOf(random)) }),
        ),
      ),
    }),
  });
}

test('damaged source maps: nothing thrown, every answer is a place in one of their sources', async () => {
  let input: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  await fuzz(
    'source-map',
    (random) => {
      const map = JSON.stringify(mapOf(random)) ?? '';
      const names = random.oneIn(2) ? [[1, 2, 'a']] : [mapOf(random)];
      input = random.oneIn(3)
        ? encodeRecordedMaps([{ script: 'a', map, names: names as [number, number, string][], fault: null }])
        : new TextEncoder().encode(map);
      for (let flips = random.oneIn(3) ? random.below(6) : 0; flips > 0 && input.length > 0; flips--)
        input[random.below(input.length)] = random.below(256);
      const read = readSourceMap(input, '/app/a.js.map');
      mappingUrl(input);
      givenNames(new TextDecoder().decode(input));
      try {
        decodeRecordedMaps(input);
      } catch (error) {
        assert.ok(error instanceof FormatError, String(error));
      }
      decodeDataUrl(`data:;base64,${new TextDecoder().decode(input)}`);
      if (!(read instanceof SourceMap)) return;
      for (let ask = 0; ask < 20; ask++) {
        const [line, column] = [random.below(12), random.below(40)];
        const place = read.place(line, column);
        if (place !== null) {
          assert.ok(read.sources.includes(place.source));
          assert.ok(place.line >= 1 && place.column >= 1);
        }
        let before = column;
        for (const { column: at } of read.namesBefore(line, column)) {
          assert.ok(at <= before);
          before = at;
        }
      }
    },
    () => input,
  );
});
