import assert from 'node:assert/strict';
import { SourceMap as NodeSourceMap, type SourceMapPayload } from 'node:module';
import { test } from 'node:test';
import { build, transform } from 'esbuild';
import { decodeDataUrl, givenNames, mappingUrl, readSourceMap, resolveSource, SourceMap } from './index.ts';

const PROGRAM = `type Row = { a: number };
enum Colour { Red, Green }

export const doubled = (row: Row): number => {
  const factor = 2;

  return row.a * factor + Colour.Green;
};
export class Shop {
  total(rows: Row[]): number {
    return rows.map(doubled).reduce((sum, one) => sum + one, 0);
  }
}
`;

function read(json: unknown, at = '/app/dist/a.js.map'): SourceMap {
  const map = readSourceMap(new TextEncoder().encode(JSON.stringify(json)), at);
  assert.ok(map instanceof SourceMap, String(map));
  return map;
}

/** Each place of the code that both know is the same; returns how many there are. */
function compare(code: string, payload: SourceMapPayload): number {
  const map = read(payload, '/');
  // Without a separator at the end it reads a name behind the last segment.
  const oracle = new NodeSourceMap({ ...payload, mappings: `${payload.mappings};` });
  let places = 0;
  for (const [line, text] of code.split('\n').entries())
    for (let column = 0; column <= text.length; column++) {
      const own = map.place(line + 1, column + 1);
      const theirs = oracle.findEntry(line, column);
      // It answers from earlier lines, too, where a line has nothing; that would be a guess.
      if (own === null || !('originalSource' in theirs)) continue;
      assert.equal(theirs.generatedLine, line);
      assert.deepEqual(
        [own.line - 1, own.column - 1, own.name],
        [theirs.originalLine, theirs.originalColumn, ('name' in theirs ? theirs.name : null) ?? null],
        `${line}:${column}`,
      );
      assert.ok(own.source.endsWith(theirs.originalSource.replace(/^(\.\.?\/)+/, '')));
      places++;
    }
  return places;
}

test('places of code that esbuild made are those that Node finds, minified or not', async () => {
  for (const minify of [false, true]) {
    const made = await transform(PROGRAM, {
      loader: 'ts',
      minify,
      sourcemap: 'external',
      sourcefile: '/app/src/shop.ts',
    });
    assert.ok(compare(made.code, JSON.parse(made.map)) > 100);
  }
});

test('places of a bundle that a library is in are those that Node finds', async () => {
  const { outputFiles } = await build({
    stdin: { contents: "import * as all from 'fast-check'; console.log(all)", resolveDir: process.cwd() },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    sourcemap: 'external',
    outdir: '/tmp/never-written',
    write: false,
  });
  const text = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))!.text;
  assert.ok(compare(text('.js').slice(0, 60_000), JSON.parse(text('.js.map'))) > 20_000);
});

test('a map in sections answers from the section that a place is in', () => {
  const section = (line: number, column: number, source: string) => ({
    offset: { line, column },
    map: { version: 3, sources: [source], names: [], mappings: 'AAAA,EAAE;AACA' },
  });
  const map = read({ version: 3, sections: [section(0, 0, 'a.ts'), section(1, 10, 'b.ts')] });
  assert.deepEqual(map.place(1, 3), { source: '/app/dist/a.ts', line: 1, column: 3, name: null });
  assert.deepEqual(map.place(2, 5), { source: '/app/dist/a.ts', line: 2, column: 3, name: null });
  assert.deepEqual(map.place(2, 13), { source: '/app/dist/b.ts', line: 1, column: 3, name: null });
  assert.deepEqual(map.place(3, 1), { source: '/app/dist/b.ts', line: 2, column: 3, name: null });
  assert.equal(map.place(4, 1), null);
});

test('nothing is known behind a damaged segment, and what leads outside is of no source', () => {
  const names = ['n'];
  const cut = read({ version: 3, sources: ['a.ts'], names, mappings: 'AAAA,EAAE;AACA,C*AA,EAAE;AACA' });
  assert.equal(cut.place(1, 3)?.line, 1);
  assert.equal(cut.place(2, 1)?.line, 2);
  assert.equal(cut.place(2, 2), null);
  assert.equal(cut.place(3, 1), null);
  assert.deepEqual(cut.damage, ['nothing is known from line 2 on']);
  const outside = read({ version: 3, sources: ['a.ts'], names, mappings: 'AAAA,EAAEA,ECAA;ADAA' });
  assert.equal(outside.place(1, 3)?.source, '/app/dist/a.ts');
  assert.equal(outside.place(1, 5), null);
  assert.equal(outside.place(2, 1)?.source, '/app/dist/a.ts');
  assert.deepEqual(outside.damage, ['segments that lead outside of sources and names']);
  const backwards = read({ version: 3, sources: ['a.ts'], names, mappings: 'EAAE,DAAD' });
  assert.equal(backwards.place(1, 2)?.column, 2);
});

test('what is no map is named, and never thrown', () => {
  const fault = (text: string) => readSourceMap(new TextEncoder().encode(text), '/a.map');
  assert.equal(fault('<html>'), 'not JSON');
  assert.equal(fault('[]'), 'not a source map');
  assert.equal(fault('{"version":3}'), 'not a source map');
  assert.equal(fault('{"version":2,"mappings":""}'), 'not of version 3');
  assert.ok(fault(')]}\'\n{"version":3,"mappings":""}') instanceof SourceMap);
});

test('sources are found from the place of the map', () => {
  const path = (map: string, root: string, source: string) => resolveSource(map, root, source);
  assert.equal(path('/app/dist/a.js.map', '', '../src/a.ts'), '/app/src/a.ts');
  assert.equal(path('/app/dist/a.js.map', '../src/', 'a.ts'), '/app/src/a.ts');
  assert.equal(path('/app/dist/a.js.map', '/src', '/lib/a.ts'), '/lib/a.ts');
  assert.equal(path('/app/a.js.map', '', 'file:///app/my%20src/a.ts?v=1'), '/app/my src/a.ts');
  assert.equal(path('/app/a.js.map', '', 'webpack://shop/./src/a.ts'), 'webpack://shop/src/a.ts');
  assert.equal(path('file:///app/a.mjs', '', 'src/a.mts'), '/app/src/a.mts');
  assert.equal(path('/a.map', '', '../../../a.ts'), '/a.ts');
});

test('the comment that names a map is the last one that is one', () => {
  const url = (text: string) => mappingUrl(new TextEncoder().encode(text));
  assert.equal(url('a();\n//# sourceMappingURL=a.js.map\n'), 'a.js.map');
  assert.equal(url('a();//@ sourceMappingURL=old.map'), 'old.map');
  assert.equal(url('//# sourceMappingURL=1.map\n//# sourceMappingURL=2.map\r\n'), '2.map');
  assert.equal(url('//# sourceMappingURL=1.map\nconst s = "//# sourceMappingURL=" + x;'), '1.map');
  assert.equal(url('const key = "sourceMappingURL=";'), null);
  assert.equal(url('sourceMappingURL=x'), null);
  assert.equal(url(''), null);
});

test('data URLs are decoded as Node decodes them', () => {
  const text = '{"version":3,"sources":["ä.ts"],"mappings":""}';
  const inBase64 = `data:application/json;charset=utf-8;base64,${Buffer.from(text).toString('base64')}`;
  for (const url of [inBase64, `data:application/json,${encodeURIComponent(text)}`])
    assert.equal(Buffer.from(decodeDataUrl(url)!).toString(), text);
  assert.equal(decodeDataUrl('data:application/json;base64,*'), null);
  assert.equal(decodeDataUrl('data:application/json'), null);
  assert.equal(decodeDataUrl('a.js.map'), null);
});

test('names that esbuild gives to functions are those of the places where V8 has their beginning', async () => {
  const code = `const one = (a, b) => a;\nconst two = function (b) { return b };\nconst three = async (c, d) => c;\nconst table = { four: () => 4 };\nconsole.log(one, two, three, table);`;
  for (const minifyWhitespace of [false, true]) {
    const made = await transform(code, { loader: 'js', keepNames: true, minifyWhitespace, format: 'cjs' });
    const lines = made.code.split('\n');
    const names = givenNames(made.code).map(([line, column, name]) => [
      name,
      lines[line - 1]!.slice(column - 1)[0],
    ]);
    assert.deepEqual(names, [
      ['one', '('],
      ['two', '('],
      ['three', '('],
      ['three', 'a'],
      ['four', '('],
    ]);
  }
});

test('code of one long word, as data in base64 is, is gone through once', { timeout: 30_000 }, () => {
  const word = 'a'.repeat(2 << 20);
  assert.deepEqual(givenNames(`x=__name(()=>1,"x");//${word}`), [[1, 10, 'x']]);
  assert.deepEqual(givenNames(`${word}__name(`), []);
  assert.equal(givenNames(`${'__name('.repeat(1 << 16)}`).length, 0);
});
