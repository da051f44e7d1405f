/** `PERF_TEST_ATTR`, by which perf's own tests ask a command what it opens: our files, and perf's. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PERF_SAMPLE_ID, PERF_SAMPLE_IDENTIFIER } from '@counterpoint/core/abi';
import { counterpoint } from '../../../test/command-line.ts';
import { perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

type Fields = [name: string, value: string][];

/** Each file that a command wrote: its fields, in their order. */
function filesIn(directory: string): Map<string, Fields> {
  return new Map(
    readdirSync(directory).map((file) => {
      const [head, ...lines] = readFileSync(join(directory, file), 'utf8').trimEnd().split('\n');
      assert.equal(head, `[${file}]`);
      return [file, lines.map((line) => line.split('=') as [string, string])];
    }),
  );
}

/** Ours, in this process, with the variable set. */
async function counterpointWith(directory: string, words: readonly string[]) {
  process.env['PERF_TEST_ATTR'] = directory;
  try {
    return await counterpoint(...words);
  } finally {
    delete process.env['PERF_TEST_ATTR'];
  }
}

async function ourFiles(directory: string, words: readonly string[]): Promise<Map<string, Fields>> {
  mkdirSync(directory);
  const { status, err } = await counterpointWith(directory, words);
  assert.equal(status, 0, err);
  return filesIn(directory);
}

function perfFiles(directory: string, words: readonly string[]): Map<string, Fields> {
  mkdirSync(directory);
  const env = { ...process.env, PERF_TEST_ATTR: directory };
  const { status, stderr } = spawnSync('perf', words, { env, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return filesIn(directory);
}

/**
 * Of the run, and not of the request. Samples of several events name theirs by another
 * word (see `npm run test:perf`).
 */
function request(fields: Fields, leaders: ReadonlyMap<string, string>): string {
  const sampleBits = (bits: number) =>
    (bits & PERF_SAMPLE_IDENTIFIER) === 0 ? bits : (bits & ~PERF_SAMPLE_IDENTIFIER) | PERF_SAMPLE_ID;
  return fields
    .filter(([name]) => name !== 'fd' && name !== 'pid')
    .map(([name, value]) => {
      if (name === 'group_fd') return `${name}=${leaders.get(value) ?? value}`;
      return `${name}=${name === 'sample_type' ? sampleBits(Number(value)) : value}`;
    })
    .join(' ');
}

/** Each event in one line, with the leader of its group by type and config. */
function requests(files: ReadonlyMap<string, Fields>): string[] {
  const leaders = new Map([...files.keys()].map((file) => [file.split('-')[3]!, file.replace(/-\d+$/, '')]));
  return [...files.values()].map((fields) => request(fields, leaders)).sort();
}

/**
 * PERF_COUNT_SW_DUMMY counts nothing. `perf record` hears of BPF programs by it, and we where the kernel
 * took the events off a process.
 */
const isWitness = (line: string) => / type=1 size=\d+ config=9 /.test(line);

const skip = perfIsMissing();

for (const words of [
  ['record', '-c', '1000000', '-g', '-e', 'cpu-clock:u', '-o', '/dev/null', 'true'],
  ['record', '-e', '{cpu-clock,faults}', '-o', '/dev/null', 'true'],
  ['stat', '-e', '{cs,faults:u}', 'true'],
])
  test(`${words.join(' ')}: the files of perf`, { skip }, async (t) => {
    const folder = temporaryFolder(t);
    const ours = await ourFiles(join(folder, 'ours'), words);
    const theirs = perfFiles(join(folder, 'theirs'), words);
    assert.ok(theirs.size > 0);
    const names = [...ours.values(), ...theirs.values()].map((fields) => fields.map(([name]) => name).join());
    assert.equal(new Set(names).size, 1, 'the same keys in the same order');
    for (const [file, fields] of ours) assert.ok(file.endsWith(`-${Object.fromEntries(fields)['fd']}`));
    const wanted = (files: typeof ours) => requests(files).filter((line) => !isWitness(line));
    assert.deepEqual(wanted(ours), wanted(theirs));
  });

test('a directory that is not there is said before anything runs', async (t) => {
  const folder = temporaryFolder(t);
  for (const verb of ['record', 'stat']) {
    const mark = join(folder, verb);
    const words = [verb, '-e', 'cpu-clock:u', '-o', join(folder, 'out'), '--', 'touch', mark];
    const { status, err } = await counterpointWith(join(folder, 'absent'), words);
    assert.equal(status, 129, err);
    assert.match(err, /PERF_TEST_ATTR: there is no directory .*absent\n {2}Make it/);
    assert.equal(existsSync(mark), false);
  }
});
