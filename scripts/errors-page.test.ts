import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { globSync } from './glob.ts';

/** Codes of Node itself, which some rooms look at. */
const OF_NODE = new Set(['ERR_ENCODING_INVALID_ENCODED_DATA', 'ERR_MODULE_NOT_FOUND']);

/** Every code that the sources of the packages can throw. */
function codesOfSources(): string[] {
  const sources = globSync(['packages'], /\.ts$/).filter(
    (path) => /\/src\//.test(path) && !/\.(?:test|fuzz|pmu)\.ts$|\/src\/test\/|\/node_modules\//.test(path),
  );
  const codes = sources.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/['"`](ERR_[A-Z0-9_]+)['"`]/g)].map(([, code]) => code!),
  );
  return [...new Set(codes)].filter((code) => !OF_NODE.has(code)).sort();
}

const rows = [
  ...readFileSync('docs/errors.md', 'utf8').matchAll(/^\| `(ERR_\w+)` \| (.*) \| (.*) \|$/gm),
].map(([, code, cause, remedy]) => ({ code: code!, cause: cause!, remedy: remedy! }));

test('every error code has its row, once, and every row a code of the sources', () => {
  assert.ok(rows.length > 150);
  assert.deepEqual(rows.map(({ code }) => code).sort(), codesOfSources());
});

test('each row says what happened and what to do, in sentences', () => {
  for (const { code, cause, remedy } of rows)
    for (const text of [cause, remedy]) assert.match(text, /^[A-Z`].{8,}\.$/, `${code}: ${text}`);
});
