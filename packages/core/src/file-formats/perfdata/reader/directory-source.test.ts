import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectStats } from '../../../answers/index.ts';
import { memorySource } from '../../../base/index.ts';
import { PERF_RECORD_ID_INDEX } from '../../../format/abi/index.ts';
import { type PerfRecord, SampleLayout } from '../../../format/records/index.ts';
import { Random } from '../../../test/random.ts';
import { ATTR, comm, mmap2, sample } from '../../../test/recordings.ts';
import { encodeRecords, writePerfData } from '../writer/index.ts';
import { directorySource, openPerfData, type RecordingFile, readRecords } from './index.ts';

const layout = new SampleLayout(ATTR);
const START = 1_000_000n;

/**
 * As `perf record --threads`: a header with all that is known at the start, and the
 * records of each CPU in a file.
 */
function directory(
  cpus: number,
  samplesEach: number,
  idIndex = true,
): { files: Map<string, Uint8Array<ArrayBuffer>>; times: bigint[] } {
  const ids = Array.from({ length: cpus }, (_, cpu) => BigInt(cpu + 1));
  const entries = ids.map((id, cpu) => ({ id, index: BigInt(cpu), cpu: BigInt(cpu), tid: 2n ** 64n - 1n }));
  const index: PerfRecord = { type: PERF_RECORD_ID_INDEX, misc: 0, entries, tail: new Uint8Array() };
  const files = new Map([
    [
      'data',
      writePerfData({
        attrs: [{ attr: ATTR, ids, name: 'cpu-clock' }],
        records: [...(idIndex ? [index] : []), comm(10, 'demo'), mmap2(10, 0x1000n, 0x1000n, '/bin/demo')],
        features: { dirFormat: 1n, hostname: 'example' },
      }),
    ],
  ]);
  const times: bigint[] = [];
  const random = new Random(cpus * 1000 + samplesEach);
  for (let cpu = 0; cpu < cpus; cpu++) {
    let time = START + BigInt(random.below(1000));
    const records = Array.from({ length: samplesEach }, () => {
      time += BigInt(random.below(100)) * BigInt(cpus) + BigInt(cpu);
      times.push(time);
      return sample({ time, cpu, id: BigInt(cpu + 1) });
    });
    files.set(`data.${cpu}`, encodeRecords(records, layout));
  }
  return { files, times: times.sort((a, b) => Number(a - b)) };
}

function filesOf(map: Map<string, Uint8Array<ArrayBuffer>>): RecordingFile[] {
  return [...map].map(([name, bytes]) => ({ name, bytes }));
}

async function timesOf(files: RecordingFile[]): Promise<bigint[]> {
  const times: bigint[] = [];
  for await (const { record } of readRecords(await openPerfData(directorySource(files))))
    if ('sample' in record) times.push(record.sample.time!);
  return times;
}

test('all files of a directory are read, in order of time, in whatever order they are given', async () => {
  // More than a chunk of each where there are many.
  for (const [cpus, samplesEach] of [
    [1, 10],
    [2, 30_000],
    [11, 500],
    [600, 40],
  ] as const) {
    const { files, times } = directory(cpus, samplesEach);
    assert.deepEqual(await timesOf(filesOf(files).reverse()), times);
    const stats = await collectStats(await openPerfData(directorySource(filesOf(files))));
    assert.equal(stats.samples, times.length);
    assert.deepEqual([stats.loss, stats.damage], [[], []]);
  }
});

test('one ring that is far longer than the others does not hold them up, nor come before them', async () => {
  const { files, times } = directory(3, 20_000);
  files.set('data.2', files.get('data.2')!.slice(0, 0));
  const lone = directory(3, 20_000).files.get('data.2')!;
  const late = new DataView(lone.buffer);
  // All of it later than the rest.
  for (let at = 0; at < lone.length; at += late.getUint16(at + 6, true)) {
    const place = at + layout.timeFromStart;
    late.setBigUint64(place, late.getBigUint64(place, true) + 10n ** 12n, true);
  }
  files.set('data.2', lone);
  const found = await timesOf(filesOf(files));
  assert.equal(found.length, times.length);
  assert.deepEqual(
    found,
    [...found].sort((a, b) => Number(a - b)),
  );
});

test('a file that is missing is a loss, found by its number or by the index of ids', async () => {
  const all = directory(4, 50);
  const without = async (names: string[], idIndex = true) => {
    const { files } = idIndex ? all : directory(4, 50, false);
    const left = filesOf(files).filter(({ name }) => !names.includes(name));
    const { loss, damage, samples } = await collectStats(await openPerfData(directorySource(left)));
    return {
      samples,
      lost: loss.map(({ kind, cpu, count }) => `${kind} ${cpu} ${count}`),
      damage: damage.map(({ code }) => code),
    };
  };
  assert.deepEqual(await without(['data.1', 'data.3']), {
    samples: 100,
    lost: ['file-missing 1 1', 'file-missing 3 1'],
    damage: ['file-missing:data.1', 'file-missing:data.3'],
  });
  // Without the index the last one cannot be known of.
  assert.deepEqual((await without(['data.1', 'data.3'], false)).lost, ['file-missing null 1']);
  const none = ['data.0', 'data.1', 'data.2', 'data.3'];
  assert.equal((await without(none)).lost.length, 4);
  assert.deepEqual((await without(none, false)).lost, ['file-missing null 1']);
  const unreadable = [{ name: 'data.3', code: 'link-not-followed' }];
  const source = directorySource(
    filesOf(all.files).filter(({ name }) => name !== 'data.3'),
    unreadable,
  );
  const stats = await collectStats(await openPerfData(source));
  assert.deepEqual(stats.damage, [
    { code: 'link-not-followed:data.3', count: 1, firstOffset: 0, file: 'data' },
  ]);
});

test('a file that is cut or damaged says so, with its place in that file, and costs the others nothing', async () => {
  const { files } = directory(3, 100);
  const one = files.get('data.1')!;
  const size = one.length / 100;
  files.set('data.1', one.slice(0, one.length - 12));
  const damaged = files.get('data.2')!.slice();
  damaged.fill(0, size * 7 + 6, size * 7 + 8);
  files.set('data.2', damaged);
  const stats = await collectStats(await openPerfData(directorySource(filesOf(files))));
  assert.equal(stats.samples, 100 + 99 + 99);
  assert.deepEqual(stats.damage, [
    { code: 'bad-record-size', count: 1, firstOffset: size * 7, file: 'data.2' },
    { code: 'record-cut', count: 1, firstOffset: size * 99, file: 'data.1' },
  ]);
  assert.deepEqual(
    stats.loss.map(({ kind, count }) => [kind, count]),
    [['file-truncated', String(size - 12)]],
  );
  // A killed recorder: the header does not know where its data ends, and it ends with the file.
  const killed = files.get('data')!.slice();
  killed.fill(0, 48, 56).fill(0, 72, 104);
  const header = new Map([...directory(3, 100).files, ['data', killed]] as const);
  const { samples } = await collectStats(await openPerfData(directorySource(filesOf(header))));
  assert.equal(samples, 300);
});

test('only names that the recorder makes are taken, and streams are refused', async () => {
  const { files, times } = directory(2, 20);
  const other = { bytes: new Uint8Array([1, 2, 3]) };
  const names = [
    'data.',
    'data.00',
    'data.1.old',
    'data.-1',
    '../data.2',
    'data.2/x',
    'data.999999',
    'kcore_dir',
    'data.1e3',
  ];
  const found = await timesOf([...filesOf(files), ...names.map((name) => ({ name, ...other }))]);
  assert.deepEqual(found, times);
  assert.throws(() => directorySource(filesOf(files).slice(1)), { code: 'ERR_NO_HEADER_FILE' });
  assert.throws(() => directorySource([{ name: 'data', bytes: (async function* () {})() }]), {
    code: 'ERR_INPUT',
  });
});

test('an offset names a place in one of the files, and reading goes on in the next', async () => {
  const source = directorySource([
    { name: 'data.1', bytes: Uint8Array.of(6, 7) },
    { name: 'data.0', bytes: memorySource(Uint8Array.of(4, 5)) },
    { name: 'data', bytes: new Blob([Uint8Array.of(1, 2, 3)]) },
  ]);
  assert.equal(source.size, 7);
  assert.deepEqual([...(await source.read(0, 100))], [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual([...(await source.read(2, 3))], [3, 4, 5]);
  assert.deepEqual([...(await source.read(5, 1))], [6]);
  assert.deepEqual([...(await source.read(9, 1))], []);
});
