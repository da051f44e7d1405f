import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { manualPages, VERBS } from '../main.ts';
import { allOptions } from './args.ts';
import { manualPage } from './manual.ts';

const pages = new Map(await manualPages());

/** As a terminal of 100 columns shows it, without bold. */
function shown(page: string): string {
  const words = ['-man', '-ww', '-Tutf8', '-rLL=100n', '-P-c', '-P-b', '-P-u', '-P-o'];
  const { stdout, stderr } = spawnSync('groff', words, { input: page, encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.replace(/\s+/g, ' ');
}

const noGroff = spawnSync('groff', ['--version']).status !== 0 && 'needs groff';

test('every verb has a page, and the package says so', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  assert.deepEqual(
    [...pages.keys()].sort(),
    manifest.man.map((path: string) => path.replace('./dist/man/', '')).sort(),
  );
  assert.equal(pages.size, VERBS.length + 1);
});

describe('as groff shows it', { skip: noGroff }, () => {
  for (const { name, load } of VERBS)
    test(`counterpoint ${name}: no warning; every option and example, with the words of its help`, async () => {
      const verb = (await load()).default;
      const page = shown(pages.get(`counterpoint-${name.replaceAll(' ', '-')}.1`)!);
      for (const { long, help, hidden } of allOptions(verb)) {
        if (hidden === true) continue;
        const words = help.replace(/\s+/g, ' ');
        assert.ok(page.includes(words), `${long}: ${words}`);
      }
      for (const [words, meaning] of verb.examples) {
        assert.ok(page.includes(`counterpoint ${words}`.replace(/\s+/g, ' ')), words);
        assert.ok(page.includes(meaning.replace(/\s+/g, ' ')), meaning);
      }
      assert.match(page, /EXIT STATUS.* 129 .*SEE ALSO counterpoint\(1\),/);
    });

  test('the overview names each of them', () => {
    const page = shown(pages.get('counterpoint.1')!);
    for (const { name, summary } of VERBS) assert.ok(page.includes(`counterpoint ${name} ${summary}`), name);
  });
});

test('what roff would take for its own is text', async () => {
  const verb = {
    ...(await VERBS.find(({ name }) => name === 'report')!.load()).default,
    usage: ".words 'quoted' C:\\dir\\n",
    examples: [["'first", '.SH no heading\n\\fBnot bold…']],
  } as const;
  const page = manualPage(verb, { version: '1', pages: ['counterpoint'] });
  for (const line of page.split('\n'))
    assert.ok(!/^['.]/.test(line) || /^\.(?:TH|SH|SS|TP|B|BR|br|nh|ad)\b/.test(line), line);
  assert.ok(page.includes('C:\\edir\\en') && page.includes('\\&.SH no heading\n\\efBnot bold\\[u2026]'));
});
