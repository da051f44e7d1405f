import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'esbuild';
import { build } from 'esbuild';

const { inlineConstants, separate } = (await import(
  new URL('inline-constants.mjs', import.meta.url).href
)) as {
  inlineConstants: Plugin;
  separate(source: string): { constants: string; exported: Map<string, boolean>; rest: string };
};

test('numeric constants are taken out, and what needs more than them stays', () => {
  const lines = [
    "import { OTHER } from './other.ts';",
    'export const KIND = 2;',
    'const LENGTH: number = 1 << 14;',
    'export const MASK = LENGTH - 1;',
    'export const FROM_OTHER = OTHER | 1;',
    "export const NAME = 'kind';",
    'const TABLE = new Uint8Array(KIND);',
    'const SCRIPT = `',
    'const INSIDE = 3;',
    '`;',
    'const LAST = -0x1_0;',
    '  const INDENTED = 1;',
  ];
  const { constants, exported, rest } = separate(lines.join('\n'));
  assert.equal(
    constants,
    'export const KIND = 2;\nexport const LENGTH = 1 << 14;\nexport const MASK = LENGTH - 1;\nexport const LAST = -0x1_0;',
  );
  assert.deepEqual(
    [...exported],
    [
      ['KIND', true],
      ['LENGTH', false],
      ['MASK', true],
      ['LAST', false],
    ],
  );
  assert.equal(rest, lines.map((line, index) => ([1, 2, 3, 10].includes(index) ? '' : line)).join('\n'));
});

test('a bundle of the packet reader has values, not names', async () => {
  const bundle = async (plugins: Plugin[]): Promise<readonly string[]> => {
    const { outputFiles } = await build({
      entryPoints: [
        fileURLToPath(new URL('../packages/trace/src/pt/packets/packet-cursor.ts', import.meta.url)),
      ],
      bundle: true,
      format: 'esm',
      minifySyntax: true,
      // No comments: they may name constants.
      minifyWhitespace: true,
      write: false,
      conditions: ['counterpoint-source'],
      plugins,
    });
    return outputFiles[0]!.text.match(/\b(?:PACKET|PT|BAD|FLAG)_[A-Z0-9_]+\b/g) ?? [];
  };
  assert.ok((await bundle([])).includes('PACKET_CYC'), 'without it they stay: the plugin is still needed');
  // A table is no number.
  assert.deepEqual([...new Set(await bundle([inlineConstants]))], ['PT_IP_BYTES']);
});
