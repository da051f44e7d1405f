import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../../../..');

/** Where the short paths of docs/lineage.md are. */
function fileOf(path: string): string {
  return path.startsWith('core/') ? `packages/core/src/${path.slice(5)}` : `packages/node/src/${path}`;
}

/** The source of a test file, without the formatter's line break between `test(` and a name. */
function sourceOf(file: string): string {
  return readFileSync(file, 'utf8').replace(/\btest\(\s+/g, 'test(');
}

test('every test that docs/lineage.md names is there', () => {
  const text = readFileSync(join(ROOT, 'docs/lineage.md'), 'utf8');
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (perfctr|perfmon2|branch trace) \|/.test(line));
  assert.ok(rows.length > 50, `${rows.length}`);
  const missing: string[] = [];
  for (const row of rows) {
    const shown = row.split(' | ').at(-1)!.replace(/ ?\|$/, '').trim();
    if (shown === '') {
      assert.match(row, /not here yet/, row);
      continue;
    }
    for (const one of shown.split(/, (?=`)/)) {
      const [, path = '', , name] = /^`([^`]+)`(: (.+))?$/.exec(one) ?? assert.fail(row);
      const file = join(ROOT, fileOf(path));
      if (!existsSync(file)) missing.push(path);
      else if (name !== undefined && !sourceOf(file).includes(`test('${name}'`))
        missing.push(`${path}: ${name}`);
    }
  }
  assert.deepEqual(missing, []);
});
