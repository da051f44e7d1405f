import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { globSync } from './glob.ts';
import { fenceProblems } from './import-fence.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const paths = globSync([join(ROOT, 'packages')], /\.ts$/).map((path) => path.slice(ROOT.length));
const sources = new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));

/** What is told of the sources with one line more in one of them. */
function problemsWith(file: string, line: string): string[] {
  assert.ok(sources.has(file), file);
  return fenceProblems(new Map([...sources, [file, `${sources.get(file)}\n${line}\n`]]));
}

test('the sources keep to the table, and the table has nothing that no source needs', () => {
  assert.deepEqual(fenceProblems(sources), []);
});

test('an import of a floor that a room does not stand on is told, at once, later, and of types', () => {
  const file = 'packages/node/src/host/locate/vdso.ts';
  for (const line of [
    "import { SysError } from '../../linux/kernel/sys/index.ts';",
    "export * from '../../linux/kernel/sys/ffi.ts';",
    "const later = await import('../../linux/kernel/sys/index.ts');",
    "import '../../linux/kernel/target/index.ts';",
    "import type { Sys } from '../../linux/kernel/sys/index.ts';",
  ]) {
    const [problem, ...others] = problemsWith(file, line);
    assert.deepEqual(others, []);
    assert.match(problem ?? '', /host\/locate\/vdso\.ts: the floor host does not stand on linux\/kernel/);
  }
});

test('a room imports those before it on its floor only', () => {
  const file = 'packages/core/src/format/loss/index.ts';
  assert.deepEqual(problemsWith(file, "import type { Attr } from '../abi/index.ts';"), []);
  assert.match(
    problemsWith(file, "import type { Attr } from '../records/index.ts';").join(),
    /"loss" stands before "records" on the floor format/,
  );
});

test('a room that the table does not have, and a package that a room may not import, are told', () => {
  const strange = new Map([...sources, ['packages/core/src/format/new-room/index.ts', '']]);
  assert.match(fenceProblems(strange).join(), /new-room\/index\.ts: its room is not in the table/);
  assert.match(
    problemsWith('packages/node/src/linux/kernel/probe/index.ts', "import koffi from 'koffi';").join(),
    /only linux\/kernel\/sys may import "koffi"/,
  );
  assert.match(
    problemsWith('packages/core/src/base/index.ts', "import 'node:fs';").join(),
    /imports "node:fs", which is not in the package table/,
  );
});

/** What a project of the compiler has, and which other projects of the package it sees. */
function project(name: string): { include: string[]; sees: string[] } {
  const { include, references } = JSON.parse(
    readFileSync(join(ROOT, 'packages/node', `tsconfig.${name}.json`), 'utf8'),
  ) as { include: string[]; references: { path: string }[] };
  return {
    include,
    sees: references.map(({ path }) => path).filter((path) => !/\/(?:core|trace)$/.test(path)),
  };
}

test('to the compiler, what reads recordings has no sources that call the kernel, and sees none', () => {
  assert.deepEqual(project('host'), { include: ['src/host/**/*.ts'], sees: [] });
  assert.deepEqual(project('reading'), {
    include: ['src/cli/common/**/*.ts', 'src/cli/reading/**/*.ts'],
    sees: ['./tsconfig.host.json'],
  });
});
