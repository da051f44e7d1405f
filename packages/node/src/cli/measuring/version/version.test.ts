import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

describe('version and check feature', () => {
  test('as a word and as an option', async () => {
    const { out, status } = await counterpoint('version');
    assert.match(out, /^counterpoint \d+\.\d+\.\d+\n$/);
    assert.deepEqual([status, out], [0, (await counterpoint('--version')).out]);
  });

  test("lines have perf's form, and perf's macros", { skip: perfIsMissing() }, async () => {
    const rows = (text: string) =>
      new Map(
        [...text.matchAll(/^ *([\w-]+): \[ (on {1}|OFF) \] {2}# (\w+)$/gm)].map((row) => [row[3]!, row]),
      );
    const { out } = await counterpoint('version', '--build-options');
    const ours = rows(out);
    assert.equal(ours.size, out.trimEnd().split('\n').length - 1, out);
    const theirs = rows(perf('version', '--build-options'));
    const shared = [...theirs.keys()].filter((macro) => ours.has(macro));
    assert.ok(shared.length >= 12, shared.join());
    for (const macro of shared)
      assert.equal(ours.get(macro)![0].indexOf(':'), theirs.get(macro)![0].indexOf(':'));
  });

  test('the exit status says whether all are on', async () => {
    const check = (...words: string[]) => counterpoint('check', 'feature', ...words);
    assert.deepEqual(await check('libelf'), {
      status: 0,
      out: '                libelf: [ on  ]  # HAVE_LIBELF_SUPPORT\n',
      err: '',
    });
    assert.equal((await check('libelf,HAVE_DWARF_SUPPORT')).status, 0);
    assert.equal((await check('libelf', 'libperl')).status, 1);
    assert.deepEqual(await check('-q', 'libperl'), { status: 1, out: '', err: '' });
    const unknown = await check('libelv');
    assert.deepEqual([unknown.status, unknown.out], [1, '']);
    assert.match(unknown.err, /there is no feature libelv; did you mean libelf\?/);
    assert.equal((await check()).status, 129);
    const { features } = JSON.parse((await counterpoint('version', '--json')).out);
    assert.ok(features.some(({ name, isOn }: { name: string; isOn: boolean }) => name === 'zlib' && isOn));
  });
});
