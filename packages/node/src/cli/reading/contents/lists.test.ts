/** What recordings are made of, beside what perf says of the same files. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { counterpoint } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';
import { bitNames } from './bit-names.ts';

const skip = perfIsMissing();

/** perf adds a tip. */
const plain = (text: string) => text.replace(/^# Tip.*\n/gm, '');

describe('evlist and buildid-list', { skip }, () => {
  for (const [name, words] of [
    ['one event', ['-e', 'cpu-clock', '-g']],
    [
      'a group, registers, stacks',
      ['-e', '{cpu-clock,task-clock}:u', '--call-graph', 'dwarf', '-c', '100000'],
    ],
    ['all CPUs, with more records', ['-e', 'faults', '-a', '--namespaces', '--switch-events']],
    ['a breakpoint, a clock', ['-e', 'mem:0x1000:rw', '-e', 'cs', '-k', 'mono']],
    ['build ids in the records of maps', ['-e', 'cpu-clock', '--buildid-mmap']],
  ] as const)
    test(name, async (t) => {
      const data = join(temporaryFolder(t), 'perf.data');
      try {
        perf('record', '-q', ...words, '-o', data, '--', 'ls', '/');
      } catch (error) {
        return t.skip(`perf may not record this here: ${(error as Error).message.split('\n')[0]}`);
      }
      for (const flags of [[], ['-F'], ['-g'], ['-v'], ['--trace-fields']]) {
        const { status, out, err } = await counterpoint('evlist', ...flags, '-i', data);
        assert.equal(status, 0, err);
        assert.equal(out, plain(perf('evlist', ...flags, '-i', data)), flags.join());
      }
      const { out } = await counterpoint('buildid-list', '-i', data);
      const theirs = perf('buildid-list', '-i', data)
        .split('\n')
        .filter((line) => /^[0-9a-f]{40} /.test(line));
      const ours = out.trimEnd().split('\n');
      // Where the ids are in the records of maps, perf lists the binaries that samples are in.
      const isListed = words.includes('--buildid-mmap' as never)
        ? (line: string) => theirs.includes(line)
        : () => true;
      assert.deepEqual(ours.filter(isListed).sort(), theirs.sort());
      const json = JSON.parse((await counterpoint('evlist', '--json', '-i', data)).out);
      assert.equal(json.type, 'event-list');
      assert.equal(json.events.length, perf('evlist', '-i', data).trimEnd().split('\n').length);
    });

  test('tracepoints have their fields, of a stream, too', async (t) => {
    const data = join(temporaryFolder(t), 'perf.data');
    try {
      perf('record', '-q', '-e', 'sched:sched_switch', '-a', '-o', data, '--', 'true');
    } catch {
      return t.skip('tracepoints may not be recorded here');
    }
    const { out } = await counterpoint('evlist', '--trace-fields', '-i', data);
    assert.equal(out, plain(perf('evlist', '--trace-fields', '-i', data)));
    assert.match(out, /sched:sched_switch: trace_fields: prev_comm,prev_pid/);
  });

  test('the kernel that runs here', async () => {
    const { out, status } = await counterpoint('buildid-list', '--kernel');
    assert.deepEqual([status, out], [0, perf('buildid-list', '--kernel')]);
  });
});

test('bits that nobody has named are numbers', () => {
  assert.equal(bitNames('sample_type', '0x8000000000000005'), 'IP|TIME|0x8000000000000000');
  assert.equal(bitNames('config', 5), null);
});

test('what is no recording is said to be none', async (t) => {
  const path = join(temporaryFolder(t), 'no-such.data');
  for (const verb of ['evlist', 'buildid-list']) {
    const { status, err } = await counterpoint(verb, '-i', path);
    assert.equal(status, 1);
    assert.match(err, /no-such\.data/);
    assert.throws(() => readFileSync(path));
  }
});
