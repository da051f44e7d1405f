import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { useEventTables } from '../../../linux/kernel/local-pmus/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { armTable, writeTree } from '../../../test/vendor-tables.ts';

// An invented table for the CPU of the guest: names of ours for codes of its PMU (Armv8:
// 0x11 cycles, 0x08 instructions).

after(() => useEventTables(null));

const LOOP = ['busybox', 'sh', '-c', 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'];

test('events of a table are listed, counted and sampled by name', async (t) => {
  const path = join(temporaryFolder(t), 'tables');
  writeTree(path, {
    'mapfile.csv':
      '0x00000000410fd070,V1,a57,core\n0x00000000410fd070,V1,missing,core\n0x00000000410fd0c0,V1,n1,core\n',
    'a57/core.json': armTable({
      MADE_UP_CYCLES: { code: '0x0011', title: 'Cycles, by a name of ours' },
      MADE_UP_WORK: { code: '0x0008' },
    }),
    'n1/core.json': armTable({ NEVER_READ: { code: '0x0011' } }),
  });
  const listed = await counterpoint('list', '--json', '--event-tables', path, 'table');
  assert.deepEqual(
    JSON.parse(listed.out).events.map(({ name, availability }: { name: string; availability: object }) => [
      name.split('/')[1],
      Object.values(availability)[0],
    ]),
    [
      ['MADE_UP_CYCLES', 'unknown'],
      ['MADE_UP_WORK', 'unknown'],
    ],
  );
  const events = '{MADE_UP_CYCLES:u,cycles:u,armv8_pmuv3/made_up_cycles/u}';
  const stat = await counterpoint('stat', '--json', '--event-tables', path, '-e', events, '--', ...LOOP);
  const values = JSON.parse(stat.err).rows.map(({ value }: { value: string }) => Number(value));
  const [named, generic, between] = values;
  for (const value of [named, between])
    assert.ok(value > 1000 && Math.abs(value - generic) < 0.05 * generic, `${values}`);
  const output = join(path, 'perf.data');
  const words = ['--event-tables', path, '-e', 'MADE_UP_CYCLES', '-c', '100000', '-o', output];
  const { status, err } = await counterpoint('record', ...words, '--', ...LOOP);
  assert.equal(status, 0, err);
  assert.match(err, /\(([1-9]\d*) samples\)/);
});
