import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type CpuIdentity, ProblemList } from '@counterpoint/core/pmus';
import { temporaryFolder } from '../../../test/perf.ts';
import {
  alderlake,
  armTable,
  cortexA57,
  intelTable,
  skylake,
  writeTree,
} from '../../../test/vendor-tables.ts';
import { readVendorFiles, type VendorFileLimits } from './vendor-files.ts';

const event = (EventName: string) => intelTable({ EventName, EventCode: '0x01', UMask: '0x02' });

function tree(t: TestContext, files: Readonly<Record<string, string | Uint8Array>>): string {
  const root = temporaryFolder(t);
  writeTree(root, files);
  return root;
}

function read(
  path: string,
  identities: readonly CpuIdentity[] = [skylake],
  limits: Partial<VendorFileLimits> = {},
) {
  const problems = new ProblemList();
  const { tables } = readVendorFiles(path, identities, problems, limits);
  return {
    names: tables.flatMap(({ events }) => events.map(({ name }) => name)),
    tables,
    problems: problems.kept.map(({ place, what }) => `${place}: ${what}`),
  };
}

const collection = {
  'mapfile.csv': [
    'Family-model,Version,Filename,EventType,Core Type,Native Model ID,Core Role Name',
    'GenuineIntel-6-55-[01234],V1,/SKX/events/skx_core.json,core,,,',
    'GenuineIntel-6-55-[56789ABCDEF],V1,/CLX/events/clx_core.json,core,,,',
    'GenuineIntel-6-55-[56789ABCDEF],V1,/CLX/events/clx_uncore.json,uncore,,,',
    'GenuineIntel-6-55-[56789ABCDEF],V1,/CLX/metrics/clx_metrics.json,tma,,,',
    'GenuineIntel-6-9A,V1,/ADL/events/adl_core.json,hybridcore,0x40,0x1,Core',
    'GenuineIntel-6-9A,V1,/ADL/events/adl_atom.json,hybridcore,0x20,0x1,Atom',
    '0x00000000410fd070,V1,arm/a57,core',
    '',
  ].join('\n'),
  'SKX/events/skx_core.json': event('SKX.X'),
  'CLX/events/clx_core.json': event('CLX.X'),
  'CLX/events/clx_uncore.json': intelTable({ EventName: 'UNC_X', EventCode: '0x4', Unit: 'iMC' }),
  'CLX/metrics/clx_metrics.json': '{"Metrics":[]}',
  'ADL/events/adl_core.json': event('ADL.CORE'),
  'ADL/events/adl_atom.json': event('ADL.ATOM'),
  'arm/a57/a.json': '[{"ArchStdEvent": "CPU_CYCLES"}, {"EventName": "MADE_UP", "EventCode": "0xE1"}]',
  'arm/a57/b.json': '[{"MetricName": "ipc", "MetricExpr": "1"}]',
};

test('a map chooses the tables of this CPU: files of Intel’s, directories of perf’s', (t) => {
  const root = tree(t, collection);
  const own = read(root);
  assert.deepEqual([own.names, own.problems], [['CLX.X', 'UNC_X'], []]);
  assert.equal(own.tables[0]!.events[0]!.place, 'CLX/events/clx_core.json: Events[0]');
  assert.deepEqual(
    own.tables.map(({ foreign, isAssumed, cores }) => [foreign, isAssumed, cores.map(({ pmu }) => pmu)]),
    [
      [null, false, ['cpu']],
      [null, false, ['cpu']],
    ],
  );
  const hybrid = read(root, alderlake);
  assert.deepEqual(
    hybrid.tables.map(({ events, cores }) => [events[0]!.name, cores.map(({ pmu }) => pmu)]),
    [
      ['ADL.CORE', ['cpu_core']],
      ['ADL.ATOM', ['cpu_atom']],
    ],
  );
  assert.deepEqual(read(root, [cortexA57]).names, ['CPU_CYCLES', 'MADE_UP']);
  const none = read(root, [{ ...skylake, model: 1 }]);
  assert.deepEqual([none.names.length, none.problems.length], [0, 1]);
  assert.match(none.problems[0]!, /names no table for the CPU of this machine/);
});

test('what is named inside of a collection is read, and the map says whose it is', (t) => {
  const root = tree(t, collection);
  const [other] = read(join(root, 'SKX/events/skx_core.json')).tables;
  assert.deepEqual([other!.foreign, other!.cores[0]!.pmu], ['GenuineIntel-6-55-[01234]', 'cpu']);
  assert.equal(other!.cores[0]!.formats.get('umask'), 'config:8-15,40-47');
  const [atom] = read(join(root, 'ADL')).tables;
  assert.deepEqual([atom!.foreign, atom!.cores[0]!.pmu], ['GenuineIntel-6-9A', 'cpu_atom']);
  const [a57] = read(join(root, 'arm/a57')).tables;
  assert.equal(a57!.cores[0]!.formats.get('event'), 'config:0-15');
  assert.equal(read(join(root, 'CLX/events')).tables[0]!.foreign, null);
});

test('without a map every table is read, and says itself whose it is', (t) => {
  const root = tree(t, {
    'a/intel.json': event('INTEL.X'),
    'b.json': armTable({ STALL_MADE_UP: { code: '0x8123' } }),
    'c/perf.json': '[{"EventName": "ANY", "EventCode": "0x7"}]',
    'README.md': '# no table',
  });
  const whose = (identities: readonly CpuIdentity[]) =>
    read(root, identities).tables.map(({ foreign, isAssumed }) => foreign ?? isAssumed);
  assert.deepEqual(whose([skylake]), [true, 'Invented A57', true]);
  assert.deepEqual(whose([cortexA57]), ['an Intel CPU', false, true]);
  assert.deepEqual(whose([{ ...cortexA57, midr: 0x411f_d0c1 }]), ['an Intel CPU', 'Invented A57', true]);
});

test('what is no table is a problem with its place, and the rest is read', { timeout: 20_000 }, (t) => {
  const root = tree(t, {
    'a-binary.json': Uint8Array.from({ length: 4096 }, (_, index) => (index * 37) & 0xff),
    'b-deep.json': '['.repeat(500_000),
    'c-text.json': 'hello',
    'd-object.json': '{"__proto__": {"Events": []}}',
    'e-empty.json': '',
    'z-good.json': event('GOOD'),
  });
  assert.equal(spawnSync('mkfifo', [join(root, 'f-fifo.json')]).status, 0);
  mkdirSync(join(root, 'g-directory.json'));
  symlinkSync('.', join(root, 'h-loop'));
  symlinkSync('i-self.json', join(root, 'i-self.json'));
  symlinkSync('z-good.json', join(root, 'j-again.json'));
  symlinkSync('/dev/zero', join(root, 'k-zero.json'));
  writeFileSync(join(root, 'l-huge.json'), '');
  truncateSync(join(root, 'l-huge.json'), 2 ** 33);
  const { names, problems } = read(root);
  assert.deepEqual(names, ['GOOD']);
  const patterns = [
    /a-binary\.json: not text in UTF-8$/,
    /b-deep\.json: not JSON/,
    /c-text\.json: not JSON/,
    /d-object\.json: not a table/,
    /e-empty\.json: not JSON/,
    /f-fifo\.json: not a regular file$/,
    /i-self\.json: its links lead in a circle$/,
    /k-zero\.json: not a regular file$/,
    /l-huge\.json: 8589934592 bytes are more/,
  ];
  assert.equal(problems.length, patterns.length, problems.join('\n'));
  for (const [index, pattern] of patterns.entries()) assert.match(problems[index]!, pattern);
});

test('a tree is read up to limits', (t) => {
  const root = tree(t, {
    'a/b/c/deep.json': event('DEEP'),
    'one.json': event('ONE'),
    'three.json': event('THREE'),
    'two.json': event('TWO'),
  });
  const shallow = read(root, [skylake], { depth: 2 });
  assert.deepEqual(shallow.names, ['ONE', 'THREE', 'TWO']);
  assert.match(shallow.problems.join(), /a\/b\/c: deeper than 2 directories, so it was not read$/);
  const few = read(root, [skylake], { files: 2 });
  assert.deepEqual([few.names, few.problems.length], [['DEEP', 'ONE'], 1]);
  assert.match(few.problems[0]!, /three\.json: more than 2 tables; the rest was not read$/);
  assert.match(read(root, [skylake], { entries: 3 }).problems[0]!, /more than 3 files/);
  const size = Buffer.byteLength(event('DEEP'));
  const small = read(root, [skylake], { bytes: size + 5 });
  assert.deepEqual([small.names, small.problems.length], [['DEEP'], 3]);
});

test('a map cannot lead out of its directory', (t) => {
  const files = {
    'in/mapfile.csv':
      'GenuineIntel-6-55,V1,../out.json,core\nGenuineIntel-6-55,V1,/,core\nGenuineIntel-6-55,V1,in.json,core\n',
    'in/in.json': event('IN'),
    'out.json': event('OUT'),
  };
  const { names, problems } = read(join(tree(t, files), 'in'));
  assert.deepEqual([names, problems.length], [['IN'], 2]);
  assert.match(problems[0]!, /outside/);
});

test('a path that cannot be read at all is an error', (t) => {
  const root = tree(t, {});
  spawnSync('mkfifo', [join(root, 'fifo')]);
  for (const [path, message] of [
    ['nowhere', /nowhere: there is no such file/],
    ['fifo', /neither a file nor a directory/],
  ] as const) {
    assert.throws(() => read(join(root, path)), { code: 'ERR_EVENT_TABLES', message, remedy: /perfmon/ });
  }
});
