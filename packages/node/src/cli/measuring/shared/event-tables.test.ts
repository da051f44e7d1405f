import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { useEventTables } from '../../../linux/kernel/local-pmus/index.ts';
import { counterpoint } from '../../../test/command-line.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { intelTable, writeTree } from '../../../test/vendor-tables.ts';

after(() => useEventTables(null));

/** An invented table that is for no CPU of today, by its map. */
function foreignTable(t: TestContext): string {
  const root = temporaryFolder(t);
  writeTree(root, {
    'mapfile.csv': 'GenuineIntel-6-FFF,V1,/OLD/old.json,core\n',
    'OLD/old.json': intelTable(
      {
        EventName: 'MADE_UP.LOADS',
        EventCode: '0xD1',
        UMask: '0x20',
        BriefDescription: 'Loads of \u001b[31mred.',
        PublicDescription: 'Loads, at length.',
        Counter: '0,1',
        SampleAfterValue: '100003',
        PEBS: '2',
        Deprecated: '1',
      },
      { EventName: 'MADE_UP.BAD', EventCode: 'eins' },
      { EventName: 'MADE_UP.WORSE', EventCode: '0x1', UMask: 'x' },
    ),
  });
  return join(root, 'OLD');
}

test('list shows the events of tables, searches them, and says what it left out', async (t) => {
  const path = foreignTable(t);
  const plain = await counterpoint('list', '--event-tables', path, 'table');
  assert.equal(plain.status, 0);
  assert.match(
    plain.out,
    /^Events of vendors' tables \(table\)\n {2}\[not supported\] of GenuineIntel-6-FFF, which/,
  );
  assert.match(plain.out, /\n {2}cpu\/MADE_UP\.LOADS\/ +\[not supported\] Loads of \\x1b\[31mred\.\n$/);
  assert.match(plain.err, /^event tables: 2 problems left something out; .* -v .*\n$/);
  const verbose = await counterpoint('list', '-v', '--event-tables', path, 'red.');
  for (const line of [
    'event=0xd1,umask=0x20',
    'Loads, at length.',
    'counters: general 0, 1',
    'counts correctly only if sampled precisely (:p)',
    'deprecated',
    'sampled every 100003 by default',
    'old.json: Events[0]',
  ])
    assert.ok(verbose.out.includes(`\n      ${line}\n`), line);
  assert.match(verbose.err, /OLD\/old\.json: 1 event, for GenuineIntel-6-FFF\n/);
  assert.match(verbose.err, /Events\[1\]\.EventCode: eins is not a code\n.*Events\[2\]\.UMask: x is not/s);
  assert.equal((await counterpoint('list', '--event-tables', path, 'made_up.l*')).status, 0);
  const json = JSON.parse((await counterpoint('list', '--json', '--event-tables', path, 'table')).out);
  const [{ name, kind, terms, source, samplePeriod, availability }] = json.events;
  assert.deepEqual(
    [name, kind, terms, source, samplePeriod, availability.state],
    ['cpu/MADE_UP.LOADS/', 'table', 'event=0xd1,umask=0x20', 'old.json: Events[0]', '100003', 'absent'],
  );
});

test('an event of another CPU is not recorded, and nothing is written', async (t) => {
  const path = foreignTable(t);
  const output = join(path, 'perf.data');
  const { status, err } = await counterpoint(
    ...['record', '--event-tables', path, '-e', 'MADE_UP.LOADS', '-o', output, 'true'],
  );
  assert.deepEqual([status, existsSync(output)], [1, false]);
  assert.match(
    err,
    /MADE_UP\.LOADS is an event of GenuineIntel-6-FFF, which this machine does not have\n.*--plan/,
  );
});

test('the attr of such an event can be seen, with the period for sampling only', async (t) => {
  const path = foreignTable(t);
  const open = async (verb: string) => {
    const { out, err, status } = await counterpoint(
      ...[verb, '--plan', '--json', '--event-tables', path, '-e', 'MADE_UP.LOADS:u', 'true'],
    );
    assert.equal(status, 0, err);
    const [{ foreign, attr }] = JSON.parse(out).opens;
    assert.deepEqual([foreign, attr.type, attr.config], ['GenuineIntel-6-FFF', 4, '0x20d1'], verb);
    return attr;
  };
  assert.equal((await open('stat')).sample_period, '0');
  assert.equal((await open('record')).sample_period, '100003');
  const text = await counterpoint('stat', '--plan', '--event-tables', path, '-e', 'made_up.loads', 'true');
  assert.match(
    text.out,
    /^0: made_up\.loads: .*\n {4}cannot be opened here: an event of GenuineIntel-6-FFF\n/,
  );
});

test('a path that is not there is an error of every verb', async () => {
  for (const words of [['list'], ['record', '-e', 'x', 'true'], ['stat', '-e', 'x', 'true']]) {
    const [verb = '', ...rest] = words;
    const { status, err } = await counterpoint(verb, '--event-tables', '/nowhere/at/all', ...rest);
    assert.equal(status, 1, verb);
    assert.match(err, /event tables cannot be read from \/nowhere\/at\/all: there is no such file/);
  }
});
