/**
 * The packages as somebody installs them: every entry is there, on every Node, with
 * types that stand on their own.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isProof } from '../packages/core/src/test/proof.ts';
import { installPacked, packages } from './installed-packages.ts';
import { NODE_VERSIONS, nodeProgram } from './other-nodes.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-consumer-'));
before(() => installPacked(folder));
after(() => rmSync(folder, { recursive: true }));

/**
 * `counterpoint/bpf` and the like. Patterns have no name of their own; what has side effects is the
 * program of a worker, which nobody imports.
 */
const ENTRIES = packages().flatMap(({ manifest: { name, exports, sideEffects } }) =>
  Object.entries(exports)
    .filter(([key, { types }]) => types !== undefined && !key.includes('*'))
    .filter(([, one]) => !(sideEffects || []).includes(one.default))
    .map(([key]) => `${name}${key.slice(1)}`),
);

/** As strict as a project can be, and with nothing that the packages do not bring along. */
const STRICT = {
  target: 'es2022',
  module: 'nodenext',
  lib: ['es2023'],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  noEmit: true,
};

const CONSUMER = `
${ENTRIES.map((name, at) => `import * as entry${at} from '${name}';`).join('\n')}
import { countRun, openRecording, record, type RecordOptions } from 'counterpoint';
import { openCounting } from 'counterpoint/counting';
import { defineFormat, r0 } from 'counterpoint/formats';

export const entries: readonly object[] = [${ENTRIES.map((_, at) => `entry${at}`).join(', ')}];
export async function use(options: RecordOptions): Promise<bigint> {
  const { samples, loss } = await record({ ...options, command: ['true'] });
  const recording = await openRecording('perf.data');
  try {
    const { samples: read } = await recording.stats();
    const session = openCounting({ target: { kind: 'self' }, events: 'page-faults' });
    session.start();
    const [set] = session.read().sets;
    session.close();
    return BigInt(samples + read + loss.length) + (set?.events[0]?.value ?? 0n);
  } finally {
    await recording.close();
  }
}
void [countRun, defineFormat, r0];
// @ts-${'expect'}-error: arguments of tests are no part of what users see.
export const seam: RecordOptions = { sys: null };
// @ts-${'expect'}-error: what these packages import of each other is not offered.
export { checkArgument } from '@counterpoint/core/base';
`;

/** Compilers that check a project: that of this checkout, and the older one that a tool here brings along. */
const NEW_COMPILER = join(root, 'node_modules/typescript/bin/tsc');
const OLD_COMPILER = join(root, 'node_modules/@microsoft/api-extractor/node_modules/typescript/bin/tsc');
const COMPILERS = isProof ? [NEW_COMPILER, OLD_COMPILER] : [NEW_COMPILER];

describe('a strict project', () => {
  before(() => {
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'consumer.ts'), CONSUMER);
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: STRICT, files: ['consumer.ts'] }),
    );
  });

  for (const [what, options] of Object.entries({
    'a page': { lib: ['es2023', 'dom'] },
    'a program of Node': { types: ['node'] },
    'a program of any host': {},
  }))
    test(`${what} that has core and trace alone`, () => {
      const core = ENTRIES.filter((name) => name.startsWith('@counterpoint/'));
      const imports = core.map((name, at) => `import * as entry${at} from '${name}';\nvoid entry${at};`);
      writeFileSync(join(folder, 'core.ts'), imports.join('\n'));
      const config = join(folder, 'tsconfig.core.json');
      writeFileSync(
        config,
        JSON.stringify({ compilerOptions: { ...STRICT, ...options }, files: ['core.ts'] }),
      );
      const { stdout } = spawnSync(process.execPath, [NEW_COMPILER, '-p', config], { encoding: 'utf8' });
      assert.equal(stdout, '');
    });

  test('there are compilers to check with', () =>
    assert.ok(existsSync(NEW_COMPILER) && existsSync(OLD_COMPILER)));

  for (const compiler of COMPILERS)
    test(`is type-checked without skipLibCheck by ${spawnSync(process.execPath, [compiler, '--version'], { encoding: 'utf8' }).stdout.trim()}`, () => {
      const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' });
      assert.equal(stdout, '');
      assert.equal(status, 0);
    });
});

describe('every entry is imported', () => {
  const script = `
    const names = ${JSON.stringify(ENTRIES)};
    const empty = [];
    for (const name of names) if (Object.keys(await import(name)).length === 0) empty.push(name);
    console.log(JSON.stringify(empty));`;
  const importAll = (node: string) => {
    writeFileSync(join(folder, 'import-all.mjs'), script);
    return spawnSync(node, [join(folder, 'import-all.mjs')], { encoding: 'utf8' });
  };

  test('by the Node that runs this', () => {
    const { stdout, stderr } = importAll(process.execPath);
    assert.deepEqual(JSON.parse(stdout || 'null'), [], stderr);
  });

  test('and the manifest of each package, which tools read', () => {
    const require = createRequire(join(folder, 'import-all.mjs'));
    for (const { manifest } of packages())
      assert.equal(require(`${manifest.name}/package.json`).name, manifest.name);
  });

  for (const version of NODE_VERSIONS) {
    const node = nodeProgram(version);
    test(`by Node ${version}`, { skip: !existsSync(node) && 'not installed: npm run nodes' }, () => {
      const { stdout, stderr } = importAll(node);
      assert.deepEqual(JSON.parse(stdout || 'null'), [], stderr);
    });
  }
});
