/**
 * `report --max-stack`, `--parent`, `--hierarchy` and `--group`, against perf's rows of the same recording.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing } from '../../../test/perf.ts';

const skip = perfIsMissing();

/** Programs of the distribution, with what they do for a moment. */
const WORK = [
  'PYTHON -c "import json; s = json.dumps(list(range(90000))); [json.loads(s) for _ in range(5)]"',
  'gzip -9 -c /usr/bin/perf > /dev/null',
  'git --version && git -c core.pager=cat help -a > /dev/null',
  'echo "int main(void) { return 0; }" | gcc -O2 -x c -S -o /dev/null -',
  existsSync('/usr/bin/sqlite3')
    ? 'sqlite3 :memory: "with recursive c(x) as (select 1 union all select x + 1 from c limit 200000) select sum(x) from c"'
    : 'true',
].join('; ');

describe('report, rows of other shapes as perf prints them', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-test-'));
  const chains = join(folder, 'chains');
  const group = join(folder, 'group');
  const apart = join(folder, 'apart');
  after(() => rmSync(folder, { recursive: true, force: true }));
  before(() => {
    // Not a wrapper that starts it: perf cuts long names of threads in tables.
    const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], {
      encoding: 'utf8',
    }).trim();
    perf(
      'record',
      '-q',
      '-g',
      '-e',
      'cpu-clock',
      '-F',
      '999',
      '-o',
      chains,
      '--',
      'sh',
      '-c',
      WORK.replace('PYTHON', python),
    );
    const two = ['-F', '999', '--', 'gzip', '-9', '-c', '/usr/bin/perf'];
    perf('record', '-q', '-e', '{cpu-clock,task-clock}', '-o', group, ...two);
    perf('record', '-q', '-e', 'cpu-clock,task-clock,page-faults', '-o', apart, ...two);
  });

  const report = async (data: string, ...words: string[]) => {
    const { out, err, status } = await counterpoint('report', '-i', data, '--no-js', ...words);
    assert.equal(status, 0, err);
    return out;
  };
  const perfReport = (data: string, ...words: string[]) =>
    perf('report', '-i', data, '--stdio', '-g', 'none', ...words);
  const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');
  /** perf names stubs by their function or not at all, and code without a symbol in another way. */
  const isNamed = (row: string) => !/0x[0-9a-f]{16}|\b[0-9a-f]{16}\b|@plt|\[unknown\]/.test(row);
  const rowsOf = (text: string) => {
    const cells = (line: string) => line.split(';').map((cell) => cell.trim().replaceAll(/ +/g, ' '));
    return linesOf(text)
      .map((line) => cells(line).join(';'))
      .filter(isNamed)
      .sort();
  };

  for (const words of [
    ['--children', '--max-stack', '1'],
    ['--children', '--max-stack', '4', '-s', 'comm,sym'],
    ['--children', '--max-stack', '12', '-s', 'dso,sym', '-n'],
    ['--no-children', '--max-stack', '2', '-s', 'dso,sym'],
    ['--children', '-p', '^(do_syscall_64|asm_.*|_PyEval_.*)$'],
    ['--no-children', '-p', '^(do_syscall_64|exc_|asm_)|_PyObject'],
    ['--no-children', '-p', '^(do_syscall_64|exc_|asm_)', '-s', 'parent,dso', '-n'],
    ['--no-children', '-p', '^(do_syscall_64|exc_|asm_)', '-x', '-s', 'comm,dso,parent'],
    ['--children', '-p', '^(_|asm_)', '-x', '-s', 'comm,sym,parent'],
    ['--no-children', '-p', '^(do_syscall_64|exc_|asm_)', '--max-stack', '6', '-s', 'parent,dso'],
  ])
    test(`report ${words.join(' ')}`, async () => {
      const theirs = rowsOf(perfReport(chains, '-q', '-t', ';', ...words));
      assert.ok(theirs.length > 5, `perf printed ${theirs.length} rows`);
      assert.deepEqual(rowsOf(await report(chains, '-q', '-t', ';', ...words)), theirs);
    });

  /** Each row with those that it is in: `python3 > libc.so.6 > [.] malloc: 0.12%`. */
  const pathsOf = (text: string) => {
    const above: string[] = [];
    return linesOf(text)
      .filter((line) => !line.startsWith('#') && !line.includes('no entry'))
      .map((line) => {
        const [, indent, counts, name] = /^( *)([\d.]+%(?: *\d+)*) +(\S.*)$/.exec(line)!;
        // The share of a row of three digits begins further left.
        const depth = Math.floor((indent!.length + counts!.indexOf('%') - 8) / 3);
        above.length = depth;
        above.push(name!.trim());
        return `${above.join(' > ')}: ${counts!.replaceAll(/ +/g, ' ')}`;
      })
      .filter(isNamed)
      .sort();
  };

  for (const words of [
    ['--hierarchy'],
    ['--hierarchy', '-n', '-s', 'dso,sym'],
    ['--hierarchy', '-s', 'dso,comm,sym', '-n'],
    ['--hierarchy', '--percent-limit', '2'],
    ['--hierarchy', '-s', 'comm,parent,dso', '-p', '^(do_syscall_64|exc_|asm_)'],
    ['--hierarchy', '-s', 'comm,parent,dso', '-p', '^(do_syscall_64|exc_|asm_)', '--no-children'],
  ])
    test(`report ${words.join(' ')}`, async () => {
      const theirs = pathsOf(perfReport(chains, '-q', ...words));
      assert.ok(theirs.length > 5, `perf printed ${theirs.length} rows`);
      assert.deepEqual(pathsOf(await report(chains, '-q', ...words)), theirs);
    });

  test('--hierarchy --json: the parts of a row add up to it', async () => {
    const { events } = JSON.parse(await report(chains, '--hierarchy', '--json'));
    const [{ type, sumPeriod, sort, rows }] = events;
    assert.deepEqual([type, sort], ['hierarchy', ['comm', 'dso', 'symbol']]);
    interface Row {
      key: string;
      value: Record<string, unknown>;
      period: string;
      samples: number;
      rows: Row[];
    }
    const sum = (parts: Row[]) => parts.reduce((total, { period }) => total + BigInt(period), 0n);
    assert.equal(sum(rows), BigInt(sumPeriod));
    const check = (row: Row, depth: number) => {
      assert.deepEqual([row.key, typeof row.value[row.key]], [sort[depth], 'string']);
      if (row.rows.length > 0) assert.equal(sum(row.rows), BigInt(row.period));
      for (const part of row.rows) check(part, depth + 1);
    };
    for (const row of rows) check(row, 0);
  });

  for (const [data, words] of [
    [group, ['--group']],
    [group, ['--group', '-n', '-s', 'dso']],
    [apart, ['--group', '-s', 'comm,dso']],
    [apart, ['--group', '-F', 'overhead,period,sym']],
    [apart, ['--group', '-n', '-s', 'sym', '-d', 'gzip,[kernel.kallsyms]', '--percentage', 'relative']],
  ] as const)
    test(`report ${words.join(' ')} of ${data === group ? 'a group' : 'single events'}`, async () => {
      const theirs = rowsOf(perfReport(data, '-q', '-t', ';', ...words));
      assert.ok(theirs.length > 1, `perf printed ${theirs.length} rows`);
      assert.deepEqual(rowsOf(await report(data, '-q', '-t', ';', ...words)), theirs);
    });

  test('--group --json has the numbers that each event has alone', async () => {
    const words = ['-s', 'comm,dso', '--json'];
    const { events: alone } = JSON.parse(await report(apart, ...words));
    const { events } = JSON.parse(await report(apart, '--group', ...words));
    assert.deepEqual(
      [events.length, events[0].type, events[0].events.length],
      [1, 'event-group', alone.length],
    );
    alone.forEach(({ event, rows }: { event: string; rows: Record<string, unknown>[] }, at: number) => {
      assert.equal(events[0].events[at].event, event);
      for (const { comm, dso, ...counts } of rows) {
        const row = events[0].rows.find((one: typeof counts) => one.comm === comm && one.dso === dso);
        assert.deepEqual(row.events[at], counts);
      }
    });
  });

  test('--max-stack cuts trees, and their shares stay', async () => {
    interface Node {
      percent: number;
      children: Node[];
    }
    const tree = async (...words: string[]): Promise<Node[]> =>
      JSON.parse(await report(chains, '--tree', '--json', ...words)).events[0].roots;
    const depth = (nodes: Node[]): number =>
      1 + Math.max(-1, ...nodes.map(({ children }) => depth(children)));
    const [whole, cut] = [await tree(), await tree('--max-stack', '3')];
    assert.ok(depth(whole) > 3);
    assert.equal(depth(cut), 3);
    const shares = (nodes: Node[]) => nodes.map(({ percent }) => percent);
    assert.deepEqual(shares(cut), shares(whole));
  });

  test('what does not go together, or is no pattern, is refused', async () => {
    for (const words of [
      ['--max-stack', '0'],
      ['--parent', '('],
      ['--parent', 'x', '--tree'],
      ['--exclude-other'],
      ['--hierarchy', '--group'],
      ['--hierarchy', '--tree'],
      ['--hierarchy', '--children'],
      ['--hierarchy', '-F', 'overhead,sym'],
      ['--group', '--event', 'cpu-clock'],
      ['--group', '--js'],
      ['--group', '-G'],
      ['--hierarchy', '--stats'],
    ])
      assert.equal((await counterpoint('report', '-i', chains, ...words)).status, 129, words.join(' '));
  });
});
