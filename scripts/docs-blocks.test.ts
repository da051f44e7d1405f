/** What the pages show works: programs are type-checked, those of the guide run, command lines are parsed. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findExport } from '../packages/core/src/answers/export/index.ts';
import { parseArguments } from '../packages/node/src/cli/common/parse.ts';
import { VERBS } from '../packages/node/src/cli/main.ts';
import { parseTrigger } from '../packages/node/src/linux/sample/flight/triggers/index.ts';
import { blocksOf, PAGES, placeOf } from './docs-blocks.ts';
import { installPacked } from './installed-packages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const blocks = PAGES.flatMap(blocksOf);
const programs = blocks.filter(({ language }) => ['js', 'ts', 'mjs'].includes(language));

/** What examples take for granted. */
const AROUND = `
declare const text: string;
declare const file: File;
declare const program: Uint8Array<ArrayBuffer>;
declare const trace: Uint8Array<ArrayBuffer>;
declare const recording: Uint8Array<ArrayBuffer>;
declare const programs: ReadonlyMap<string, File>;
declare const image: import('@counterpoint/trace/image').CodeImage;
declare function fetchAll(): Promise<unknown>;
`;

describe('programs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-docs-'));
  before(() => {
    installPacked(folder);
    for (const name of ['typescript', '@types/node', 'tinybench', 'mitata']) {
      const target = join(folder, 'node_modules', name);
      mkdirSync(join(target, '..'), { recursive: true });
      rmSync(target, { force: true, recursive: true });
      symlinkSync(join(root, 'node_modules', name), target);
    }
  });
  after(() => rmSync(folder, { recursive: true }));

  test('are type-checked', () => {
    const names = programs.map(({ language, text }, at) => {
      const name = `block-${at}.${language === 'ts' ? 'mts' : 'mjs'}`;
      // Each is a module of its own.
      writeFileSync(join(folder, name), `${text}\nexport {};\n`);
      return name;
    });
    writeFileSync(join(folder, 'around.d.ts'), AROUND);
    const options = {
      target: 'es2022',
      module: 'nodenext',
      lib: ['es2023', 'dom', 'dom.iterable', 'esnext.disposable'],
      types: ['node'],
      allowJs: true,
      checkJs: true,
      strict: false,
      skipLibCheck: true,
      noEmit: true,
    };
    const config = { compilerOptions: options, files: ['around.d.ts', ...names] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const named = stdout.replaceAll(/^block-(\d+)\.\w+/gm, (_, at) => placeOf(programs[Number(at)]!));
    assert.equal(named, '');
    assert.ok(programs.length > 10);
  });

  // One page after the other: a program may read what the one before it recorded.
  const running = programs.filter(
    ({ page }) => page.startsWith('docs/guide/') && !page.endsWith('browser.md'),
  );
  for (const block of running)
    test(`${placeOf(block)} runs`, () => {
      const program = join(folder, 'running.mjs');
      writeFileSync(program, block.text);
      const { status, stdout, stderr } = spawnSync(process.execPath, [program], {
        cwd: folder,
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
      assert.ok(stdout.length > 0);
    });
});

/** Command lines of ours in a block; a line that ends in a backslash goes on. */
function commandLines(text: string): string[] {
  return (
    text
      .replaceAll('\\\n', ' ')
      .split('\n')
      .map((line) =>
        line
          .replace(/^\$ /, '')
          .replace(/^sudo /, '')
          .replace(/^npx /, '')
          .replace(/ [|>] ?.*$| #.*$/, ''),
      )
      // `counterpoint record: …` is what it prints.
      .filter((line) => /^counterpoint [^:]+$|^counterpoint .*-e /.test(line))
  );
}

/** As a shell splits it, without variables. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g)].map(([word]) => word.replaceAll(/['"]/g, ''));
}

describe('command lines', () => {
  const lines = blocks.flatMap((block) => commandLines(block.text).map((line) => ({ block, line })));
  test('there are many', () => assert.ok(lines.length > 40, `${lines.length}`));
  for (const { block, line } of lines)
    test(`${placeOf(block)}: ${line}`, async () => {
      const [, ...words] = wordsOf(line);
      if (words[0]!.startsWith('-') || words[0] === 'help' || words[0] === 'version') return;
      const verb =
        VERBS.find(({ name }) => name === words.slice(0, 2).join(' ')) ??
        VERBS.find(({ name }) => name === words[0]);
      assert.ok(verb !== undefined, `no verb ${words[0]}`);
      // Throws where an option is unknown or lacks its value.
      const args = parseArguments((await verb.load()).default, words.slice(verb.name.split(' ').length));
      if (verb.name === 'export')
        for (const [at, word] of words.entries())
          if (/^(-f|--format)$/.test(words[at - 1] ?? '')) assert.ok(findExport(word) !== undefined, word);
      if (verb.name === 'flight')
        for (const text of args.all('on'))
          if (!/^(key|control:)/.test(text)) assert.ok((await parseTrigger(text)).text === text);
    });
});
