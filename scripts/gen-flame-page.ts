/**
 * Bundles the flame graph's page into a string that the SVG export embeds.
 * `--check` compares instead of writing.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const SOURCE = 'packages/core/src/answers/export/flame/page/main.ts';
export const TARGET = 'packages/core/src/answers/export/flame/generated/page-script.ts';

const HEADER = `/** Made by scripts/gen-flame-page.ts from ../page; do not edit. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: minified code is full of templates`;

/** The generated file's text. */
export async function flamePageSource(root: string): Promise<string> {
  const result = await build({
    entryPoints: [join(root, SOURCE)],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    charset: 'ascii',
    minify: true,
    legalComments: 'none',
    logLevel: 'silent',
  });
  const script = result.outputFiles[0]!.text.trim();
  if (/<\/script|\]\]>/i.test(script)) throw new Error('the script would end its own element');
  return `${HEADER}\nexport const PAGE_SCRIPT =\n  ${quote(script)};\n`;
}

/** As Biome would write it: single quotes unless that needs more escapes. */
function quote(text: string): string {
  const singles = text.split("'").length;
  const doubles = text.split('"').length;
  const mark = singles > doubles ? '"' : "'";
  const escaped = text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replaceAll(mark, `\\${mark}`);
  return mark + escaped + mark;
}

if (process.argv[1]?.endsWith('gen-flame-page.ts')) {
  const text = await flamePageSource('.');
  if (!process.argv.includes('--check')) writeFileSync(TARGET, text);
  else if (readFileSync(TARGET, 'utf8') !== text) {
    console.error(`${TARGET} is not what its source gives: run scripts/gen-flame-page.ts`);
    process.exit(1);
  }
}
