/**
 * Promise: at no rate does a recording lose more than `perf record` beside it, and the recorder's CPU time is
 * perf's. Pairs in turn: the whole machine with call chains, by rate, with and without busy neighbours, with
 * default buffers and with four pages.
 *
 *   npx tsx bench/record-loss.ts [SECONDS] [PAIRS] [RATE...]      prints a table
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  RECORD_HEADER_SIZE,
} from '../packages/core/src/format/abi/index.ts';
import { RecordScan } from '../packages/core/src/format/ring/index.ts';
import { median } from './measure.ts';
import { ownCpuSeconds } from './record-overhead.ts';
import { COUNTERPOINT } from './recording.ts';

const RATES_HZ = [4_000, 25_000, 50_000, 100_000];
const NEIGHBOURS = [0, 4];
/** None is the default of each recorder. */
const BUFFERS: readonly (readonly string[])[] = [[], ['-m', '4']];
const DATA_SECTION_OFFSET = 40;
const PIECE_BYTES = 1 << 20;

interface Recorded {
  cpuSeconds: number;
  samples: number;
  lost: number;
}

/**
 * Counted in the file's bytes, the same way for both: samples, and what LOST records or the
 * counts at the end say is missing.
 */
function countRecords(file: string): { samples: number; lost: number } {
  const told = new Map([
    [PERF_RECORD_LOST, 0],
    [PERF_RECORD_LOST_SAMPLES, 0],
  ]);
  const scan = new RecordScan([...told.keys()], (type, view, offset) => {
    // LOST has an id before its count.
    const at = offset + RECORD_HEADER_SIZE + (type === PERF_RECORD_LOST ? 8 : 0);
    told.set(type, told.get(type)! + Number(view.getBigUint64(at, true)));
  });
  const fd = openSync(file, 'r');
  try {
    const section = new BigUint64Array(2);
    readSync(fd, section, 0, 16, DATA_SECTION_OFFSET);
    let [at, left] = [Number(section[0]), Number(section[1])];
    const piece = new Uint8Array(PIECE_BYTES);
    while (left > 0) {
      const size = readSync(fd, piece, 0, Math.min(left, PIECE_BYTES), at);
      const scanned = scan.scanPiece(piece, size);
      if (scanned === 0) throw new Error(`${file}: no record at ${at}`);
      at += scanned;
      left -= scanned;
    }
  } finally {
    closeSync(fd);
  }
  return { samples: scan.samples, lost: Math.max(...told.values()) };
}

function record(
  recorder: readonly string[],
  file: string,
  words: readonly string[],
  seconds: number,
): Recorded {
  const target = ['-a', '-g', '-e', 'cpu-clock', ...words, '-o', file, '--', 'sleep', `${seconds}`];
  const { cpuSeconds } = ownCpuSeconds([...recorder, 'record', ...target]);
  return { cpuSeconds, ...countRecords(file) };
}

function startNeighbours(count: number): ChildProcess[] {
  return Array.from({ length: count }, () => spawn('sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' }));
}

const share = ({ samples, lost }: Recorded): number => lost / Math.max(1, samples + lost);

function row(pairs: readonly { ours: Recorded; perf: Recorded }[]): string {
  const middle = (side: 'ours' | 'perf', of: (one: Recorded) => number) =>
    median(pairs.map((pair) => of(pair[side])));
  const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
  const cells = [
    ...(['ours', 'perf'] as const).flatMap((side) => [
      percent(middle(side, share)),
      `${Math.round(middle(side, ({ samples }) => samples))}`,
      middle(side, ({ cpuSeconds }) => cpuSeconds).toFixed(2),
    ]),
    median(pairs.map(({ ours, perf }) => ours.cpuSeconds / perf.cpuSeconds)).toFixed(2),
  ];
  return cells.join(' | ');
}

/** For `npm run bench record-loss`. */
export function benchRecordLoss(seconds = 3, count = 3, rates: readonly number[] = RATES_HZ): void {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  console.log(`record -a -g, ${seconds} s, medians of ${count} pairs; CPU in seconds with Node's start`);
  console.log(
    '| rate | neighbours | buffers | lost | samples | CPU | perf: lost | samples | CPU | CPU ratio |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|');
  try {
    for (const neighbours of NEIGHBOURS) {
      const running = startNeighbours(neighbours);
      for (const buffers of BUFFERS) {
        for (const rate of rates) {
          const words = ['-F', `${rate}`, ...buffers];
          const pairs = Array.from({ length: count }, () => ({
            ours: record([COUNTERPOINT], join(folder, 'ours.data'), words, seconds),
            perf: record(['perf'], join(folder, 'perf.data'), words, seconds),
          }));
          console.log(`| ${rate} | ${neighbours} | ${buffers.join(' ') || 'default'} | ${row(pairs)} |`);
        }
      }
      for (const one of running) one.kill();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [seconds, pairs, ...rates] = process.argv.slice(2).map(Number);
  benchRecordLoss(seconds, pairs, rates.length > 0 ? rates : undefined);
}
