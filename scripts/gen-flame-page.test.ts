import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { flamePageSource, TARGET } from './gen-flame-page.ts';

test('the flame graph page in the repository is what its source gives', async () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const isSame = readFileSync(root + TARGET, 'utf8') === (await flamePageSource(root));
  assert.ok(isSame, 'run: npx tsx scripts/gen-flame-page.ts');
});
