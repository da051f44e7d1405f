import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../../bin/counterpoint.js', import.meta.url));

/** The help of a verb as one line of words. */
function helpOf(verb: string, columns: number): string {
  const { stdout } = spawnSync(process.execPath, [bin, verb, '--help'], {
    env: { ...process.env, COLUMNS: String(columns) },
  });
  const text = String(stdout);
  return text.replace(/\s+/g, ' ');
}

test('help says which tracepoint a filter is for, and what --loop records', () => {
  for (const columns of [80, 120]) {
    const record = helpOf('record', columns);
    assert.match(record, /keep only those hits of the tracepoint before this option that match/);
    assert.match(record, /record all that `counterpoint loop -i` reads: the turns of event loops,/);
    assert.match(
      helpOf('stat', columns),
      /count only those hits that match FILTER, for the tracepoints of the -e before this option/,
    );
  }
});
