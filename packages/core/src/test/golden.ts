import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const FIXTURES = fileURLToPath(new URL('../../../../fixtures/', import.meta.url));

/**
 * Compares text with `fixtures/<path>`; with `UPDATE_GOLDEN=1` writes it instead. Read the
 * difference before committing it.
 */
export function assertGolden(path: string, actual: string): void {
  const file = FIXTURES + path;
  if (process.env.UPDATE_GOLDEN === '1') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, actual);
  }
  assert.equal(
    actual,
    readFileSync(file, 'utf8'),
    `differs from fixtures/${path}; UPDATE_GOLDEN=1 rewrites it`,
  );
}
