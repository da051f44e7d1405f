import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PAGE_COLUMNS } from './api-lines.ts';
import { apiPage, commentText, prose } from './api-page.ts';
import { writeReference } from './api-reference.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'counterpoint-reference-'));
const texts = new Map<string, string>();

before(() => {
  try {
    for (const path of writeReference(['node', 'core', 'trace'], folder))
      texts.set(path, readFileSync(join(folder, path), 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const headings = (text: string) => [...text.matchAll(/^### \S+ \{#(\S+)\}$/gm)].map(([, name]) => name!);

test('every entry has a page, in the index, too', () => {
  for (const name of readdirSync(join(root, 'packages'))) {
    const manifest = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'));
    for (const key of Object.keys(manifest.exports)) {
      if (key === './package.json') continue;
      const specifier = `${manifest.name}${key.slice(1)}`;
      const page = [...texts.values()].find((text) => text.includes(`\n# ${specifier}\n`));
      assert.ok(page !== undefined, specifier);
      assert.ok(texts.get('index.md')!.includes(`[${specifier}](`), specifier);
    }
  }
});

test('every name of the surface has its part of a page', () => {
  for (const file of readdirSync(join(root, 'api/node'))) {
    const report = readFileSync(join(root, 'api/node', file), 'utf8');
    const page = headings(texts.get(`counterpoint/${file.replace('.api.md', '.md')}`)!);
    const names = [
      ...report.matchAll(
        /^export (?:declare |abstract )*(?:class|const|enum|function|interface|type) (\w+)/gm,
      ),
    ].map(([, name]) => name!);
    assert.ok(names.length > 0, file);
    assert.deepEqual(
      names.filter((name) => !page.includes(name)),
      [],
      file,
    );
  }
});

test('names of another package are on the page of an entry that offers them', () => {
  const page = texts.get('counterpoint/index.md')!;
  assert.match(page, /^\| \[topFunctions\]\(\.\.\/core\/query\.md#topFunctions\) \| \w[^|]+\. \|$/m);
  const report = readFileSync(join(root, 'api/node/index.api.md'), 'utf8');
  const offered = [...report.matchAll(/^export \{ (\w+) \}$/gm)].map(([, name]) => name!);
  assert.ok(offered.length > 5);
  for (const name of offered) assert.ok(page.includes(`| [${name}](`), name);
});

test('drawings and code in comments keep their lines', () => {
  assert.match(texts.get('counterpoint/index.md')!, /```\n {2}handler ── buckets ──drain──┐\n {2} *rings:/);
});

test('fields of constants keep their comments', () => {
  assert.match(
    texts.get('core/loss.md')!,
    /LOSS_KINDS: \{\n +\/\*\*\n[^/]*the ring was full[^/]*\*\/\n +readonly 'ring-full': 'records';/,
  );
  assert.match(texts.get('core/records.md')!, /interface AttrFlags \{\n {2}\/\*\*\s/);
});

test('signatures end on the page, at a width of 1280 pixels', () => {
  const lines = [...texts.values()].flatMap((text) => text.match(/^ *(?:\w+ )*\w+\(.*\): .*;$/gm) ?? []);
  assert.ok(lines.length > 300, `${lines.length} signatures`);
  assert.deepEqual(
    lines.filter((line) => line.length > PAGE_COLUMNS),
    [],
  );
  // What cannot be broken goes on in the next line, by the style of these pages.
  const style = readFileSync(join(root, 'docs/.vitepress/theme/style.css'), 'utf8');
  assert.match(style, /\.api-reference [^{]*\{[^}]*white-space: pre-wrap/);
  assert.match(texts.get('core/query.md')!, /^---\npageClass: api-reference\n---\n/);
});

test('every link leads to a name', () => {
  let count = 0;
  for (const [path, text] of texts)
    for (const [, page, name] of text.matchAll(/\]\(([^)#\s]*)(?:#(\w+))?\)/g)) {
      const target = page === '' ? path : resolve('/', dirname(path), page!).slice(1);
      assert.ok(texts.has(target!), `${path}: ${page}`);
      if (name !== undefined)
        assert.ok(headings(texts.get(target!)!).includes(name), `${path}: ${page}#${name}`);
      count++;
    }
  assert.ok(count > 1000);
});

test('a comment becomes Markdown that no site takes for HTML', () => {
  assert.equal(commentText('/**\n * One.\n *\n *     code\n */\n'), 'One.\n\n    code');
  assert.equal(prose('/** A <b> of {{x}}, `Map<K>`. */'), 'A &lt;b> of &#123;&#123;x}}, `Map<K>`.');
  assert.equal(prose('/**\n * A:\n *\n *   <b>\n *   c\n */'), 'A:\n\n```\n  <b>\n  c\n```');
});

test('overloads share a heading, and members keep their comments', () => {
  const token = (text: string) => [{ kind: 'Content', text }];
  const entry = {
    specifier: 'p',
    path: 'p',
    items: [
      { kind: 'Function', name: 'f', excerptTokens: token('export declare function f(): 1;') },
      { kind: 'Function', name: 'f', excerptTokens: token('export declare function f(a: 1): 2;') },
      {
        kind: 'Interface',
        name: 'I',
        excerptTokens: token('export interface I '),
        members: [
          {
            kind: 'PropertySignature',
            name: 'a',
            docComment: '/**\n * Why.\n */\n',
            excerptTokens: token('a: 1;'),
          },
        ],
      },
    ],
  };
  const page = apiPage(entry, [entry]);
  assert.match(page, /### f \{#f\}\n\n```ts\nfunction f\(\): 1;\nfunction f\(a: 1\): 2;\n```/);
  assert.match(page, /interface I \{\n {2}\/\*\* Why\. \*\/\n {2}a: 1;\n\}/);
});
