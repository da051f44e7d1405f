import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { writePerfData } from '@counterpoint/core/perfdata';
import { makeAttr, type SampleRecord } from '@counterpoint/core/records';
import { Output } from '../../common/output.ts';
import { runCommandLine } from '../../main.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterpoint-export-'));
after(() => rmSync(folder, { recursive: true }));

const FIELDS =
  PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
const attr = makeAttr({
  type: PERF_TYPE_SOFTWARE,
  samplePeriodOrFreq: 1n,
  sampleType: BigInt(FIELDS),
  flags: { sampleIdAll: 1 },
});

function sample(id: bigint, ip: bigint, period: bigint): SampleRecord {
  // Each address in a process of its own, and so in a line of its own.
  const pid = Number(ip >> 12n);
  const fields = { identifier: id, ip, pid, tid: pid, time: 100n + ip, period };
  return { type: PERF_RECORD_SAMPLE, misc: PERF_RECORD_MISC_USER, tail: new Uint8Array(), sample: fields };
}

/** Samples as sampling formats make them: of an event twice, and of another. */
function recordingOf(name: string, samples: readonly SampleRecord[]): string {
  const path = join(folder, name);
  const names = ['cpu-clock', 'offcpu-time', 'cpu-clock'];
  const attrs = names.map((event, index) => ({ attr, ids: [BigInt(index + 1)], name: event }));
  writeFileSync(path, writePerfData({ attrs, records: [...samples] }));
  return path;
}

async function run(...words: string[]) {
  const texts = { out: '', err: '' };
  const output = (name: 'out' | 'err') =>
    new Output(
      {
        isTerminal: false,
        columns: () => 100,
        write(text: string | Uint8Array) {
          texts[name] += typeof text === 'string' ? text : new TextDecoder().decode(text);
        },
      },
      { NO_COLOR: '1' },
    );
  const status = await runCommandLine(['export', ...words], output('out'), output('err'));
  return { status, ...texts };
}

test('samples that stand for thousands weigh as much in each export', async () => {
  const input = recordingOf('uneven.data', [sample(1n, 0x1000n, 4905n), sample(1n, 0x2000n, 95n)]);
  const folded = (...more: string[]) => run('-i', input, '-f', 'folded', '-o', '-', ...more);
  const countsOf = (text: string) => [...text.matchAll(/ (\d+)$/gm)].map(([, count]) => Number(count)).sort();
  assert.deepEqual(countsOf((await folded()).out), [4905, 95]);
  assert.deepEqual(countsOf((await folded('--weight', 'samples')).out), [1, 1]);
  const even = recordingOf('even.data', [sample(1n, 0x1000n, 500n), sample(1n, 0x2000n, 500n)]);
  assert.deepEqual(countsOf((await run('-i', even, '-f', 'folded', '-o', '-')).out), [1, 1]);
  const speedscope = JSON.parse((await run('-i', input, '-f', 'speedscope', '-o', '-')).out);
  assert.equal(speedscope.profiles[0].endValue, 5000);
  const svg = (await run('-i', input, '-f', 'svg', '-o', '-')).out;
  assert.match(svg, /"totalWeight":5000/);
  const firefox = JSON.parse((await run('-i', input, '-f', 'firefox', '-o', '-')).out);
  // Of a clock: in milliseconds.
  const weights = firefox.threads.flatMap(
    (thread: { samples: { weight: number[] } }) => thread.samples.weight,
  );
  assert.deepEqual(weights, [0.004905, 0.000095]);
});

test('events that an export leaves out are named, with what to type for them', async () => {
  const input = recordingOf('three.data', [
    sample(1n, 0x1000n, 10n),
    sample(2n, 0x2000n, 20n),
    sample(2n, 0x2000n, 20n),
    sample(3n, 0x3000n, 30n),
  ]);
  for (const format of [
    'svg',
    'folded',
    'speedscope',
    'firefox',
    'pprof',
    'cpuprofile',
    'perfetto',
    'chrome',
  ]) {
    const { status, err } = await run('-i', input, '-f', format, '-o', join(folder, `three.${format}`));
    assert.equal(status, 0);
    assert.match(
      err,
      /^Note: the export has only cpu-clock; the recording also has: --event offcpu-time \(2 samples\), --event 3 \(1 sample\)$/m,
    );
  }
  const third = await run('-i', input, '-f', 'folded', '--weight', 'period', '--event', '3', '-o', '-');
  assert.match(third.out, / 30\n/);
  assert.match(third.err, /--event 1 \(1 sample\), --event offcpu-time/);
  const none = await run('-i', input, '-f', 'folded', '--event', '4', '-o', '-');
  assert.equal(none.status, 1);
  assert.match(none.err, /It has: 1: cpu-clock, 2: offcpu-time, 3: cpu-clock/);
  const alone = recordingOf('one.data', [sample(1n, 0x1000n, 10n)]);
  assert.doesNotMatch((await run('-i', alone, '-f', 'folded', '-o', '-')).err, /Note/);
});

test('where no file may be made it says so, and what to do', async () => {
  const path = recordingOf('refused.data', [sample(1n, 0x1000n, 5n)]);
  const { err } = await run('-i', path, '-o', '/sys/picture.svg');
  assert.match(err, /cannot write \/sys\/picture\.svg: permission denied\n {2}Write elsewhere with -o\./);
});
