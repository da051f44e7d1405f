import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readersThatCallTheKernel } from './reading-fence.ts';

/** The sources with one line more in one of them. */
const withLine = (file: string, line: string) =>
  readersThatCallTheKernel((path) => readFileSync(path, 'utf8') + (path.endsWith(file) ? `\n${line}\n` : ''));

test('no reader can reach the library that calls the kernel', () => {
  assert.deepEqual(readersThatCallTheKernel(), []);
});

test('a way there is found, at once or later, over other rooms, and told', () => {
  for (const line of [
    "import { SysError } from '../sys/index.ts';",
    "export * from '../sys/ffi.ts';",
    "const later = await import('../sys/index.ts');",
    "import '../target/index.ts';",
  ]) {
    const found = withLine('host/locate/vdso.ts', line);
    assert.ok(found.length > 0, line);
    assert.ok(
      found.some(
        (text) => text.includes('host/locate/vdso.ts > ') && text.endsWith('linux/kernel/sys/ffi.ts'),
      ),
      found[0],
    );
  }
});

test('types lead nowhere at run time', () => {
  assert.deepEqual(withLine('host/locate/vdso.ts', "import type { Sys } from '../sys/index.ts';"), []);
  assert.deepEqual(
    withLine('host/locate/vdso.ts', "import { type Sys, type Fd } from '../sys/index.ts';"),
    [],
  );
});
