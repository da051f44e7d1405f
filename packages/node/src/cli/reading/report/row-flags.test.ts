/** perf's options of `report` for rows, against perf's text of the same recording. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const skip = perfIsMissing();

describe('report, as perf prints it', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  const data = join(folder, 'perf.data');
  const report = async (...words: string[]) => {
    const { out, err, status } = await counterpoint('report', '-i', data, '--no-children', ...words);
    assert.equal(status, 0, err);
    return out;
  };
  after(() => rmSync(folder, { recursive: true, force: true }));
  before(() => {
    const command = [
      'sh',
      '-c',
      'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; ls -R /usr/share > /dev/null',
    ];
    perf('record', '-q', '-e', 'cpu-clock:u', '-F', '5000', '-o', data, '--', ...command);
  });

  /** Rows as sets of cells; functions without a name are told by their address in perf. */
  const rowsOf = (text: string) =>
    text
      .split('\n')
      .filter((line) => line.trim() !== '' && !line.startsWith('#'))
      .map((line) => line.split(';').map((cell) => cell.trim()))
      // perf names stubs by their function or not at all, as its reader of symbols finds it.
      .filter((cells) => !cells.some((cell) => /0x[0-9a-f]{16}|^\[unknown\]|\[\.\] 0x|@plt/.test(cell)))
      .map((cells) => cells.join(';'))
      .sort();

  for (const words of [
    ['-F', 'overhead,sample,period,comm,dso,sym'],
    ['-F', 'sample,dso,overhead'],
    ['-F', 'period,comm'],
    ['-s', 'comm,dso'],
    ['-s', 'pid'],
    ['-s', 'pid,dso'],
    ['-s', 'comm,sym', '--symbol-filter=str'],
    ['-s', 'sym', '-d', 'libc.so.6', '--percentage', 'relative'],
    ['-s', 'sym', '-d', 'libc.so.6', '--percentage', 'absolute'],
  ])
    test(`report -q -t ';' ${words.join(' ')}`, async () => {
      const theirs = rowsOf(perf('report', '-i', data, '--stdio', '-q', '-t', ';', ...words));
      assert.ok(theirs.length > 0);
      assert.deepEqual(rowsOf(await report('-q', '-t', ';', ...words)), theirs);
    });

  test('-q prints rows only, and -t a separator that no cell has', async () => {
    const quiet = await report('-q', '-s', 'dso');
    assert.ok(quiet.length > 0 && !quiet.includes('#'));
    const [first = ''] = (await report('-q', '-t', '.', '-s', 'dso')).split('\n');
    assert.equal(first.split('.').length - 1 >= 2, true);
    assert.match((await report('-t', ';', '-s', 'comm')).split('\n').at(-3)!, /^\s*# |%;/);
  });

  test('-G and perf’s form of -g are trees: the order, the least share', async () => {
    const chained = join(folder, 'chained');
    perf('record', '-q', '-g', '-e', 'cpu-clock', '-o', chained, '--', 'ls', '-R', '/usr/share/doc');
    const tree = async (...words: string[]) =>
      (await counterpoint('report', '-i', chained, '--no-js', ...words)).out;
    assert.equal(await tree('-G'), await tree('--tree=callees'));
    assert.equal(
      await tree('-g', 'graph,2.5,callee'),
      await tree('--tree=callers', '--percent-limit', '2.5'),
    );
    assert.equal(await tree('-g', 'graph,2,caller'), await tree('--tree=callees', '--percent-limit', '2'));
    for (const wrong of ['fractal,0.5', 'graph,x', 'graph,101'])
      assert.equal((await counterpoint('report', '-i', chained, '-g', wrong)).status, 129);
  });

  test('what does not go together is refused', async () => {
    for (const words of [
      ['-F', 'overhead,sym', '-s', 'dso'],
      ['-s', 'dso', '--symbol-filter=x'],
      ['--percentage=some'],
    ])
      assert.equal((await counterpoint('report', '-i', data, ...words)).status, 129);
  });
});
