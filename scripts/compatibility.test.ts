/** The page of versions says what one Node, the one that runs this, does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { assertOnTime, onTime } from '../packages/core/src/test/on-time.ts';
import { noTracepoints } from '../packages/node/src/test/rights.ts';
import { CHECKS } from './compatibility/checks.ts';
import { cellText, columnOf, readTable } from './compatibility/table.ts';
import { NODE_VERSIONS } from './other-nodes.ts';

const table = readTable(readFileSync('docs/compatibility.md', 'utf8'));
const major = (version: string) => version.split('.')[0];

test('the page has a column for each version, and a row for each check', () => {
  assert.deepEqual(
    [...table.keys()],
    NODE_VERSIONS.map((version) => `Node ${version}`),
  );
  for (const [version, cells] of table)
    assert.deepEqual(
      [...cells.keys()],
      CHECKS.map(({ what }) => what),
      version,
    );
});

const version = NODE_VERSIONS.find((one) => major(one) === major(process.versions.node));

test(
  'this Node does what the page says',
  {
    skip: version === undefined ? `the page has no Node ${process.versions.node}` : noTracepoints,
  },
  () =>
    onTime(async () => {
      const column = await columnOf(process.execPath);
      const shown = table.get(`Node ${version}`)!;
      const wrong = CHECKS.map(({ what }) => ({ what, page: shown.get(what), found: cellText(column, what) }))
        .filter(({ page, found }) => page !== found)
        .map(({ what, page, found }) => `${what}: ${found}, and the page says ${page}`);
      assertOnTime(wrong.length === 0, `${wrong.join('; ')} (npm run compatibility)`);
    }),
);
