/**
 * Promise: recording a busy program at 25 kHz with call chains loses nothing and uses at most 1.3
 * times the CPU of `perf record`. Only the recorder is measured (user and system), not the program,
 * and from its start to its end.
 *
 *   npx tsx bench/record-overhead.ts [SECONDS] [PAIRS]      prints JSON
 */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { libc } from '../packages/node/src/linux/kernel/sys/ffi.ts';
import { realSys } from '../packages/node/src/linux/kernel/sys/index.ts';
import { median } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';

const BUSY = fileURLToPath(new URL('busy.mjs', import.meta.url));
const FREQUENCY_HZ = 25_000;

const waitid = libc('int waitid(int type, int id, void *info, int options)');
const P_PID = 1;
const WEXITED = 4;
const WNOWAIT = 0x0100_0000;

interface Recorded {
  cpuSeconds: number;
  samples: number;
  lost: number;
}

export interface OwnCpu {
  cpuSeconds: number;
  /** Of them, as the kernel's clock ticks say. */
  systemSeconds: number;
  output: string;
}

const TICKS_PER_SECOND = 100;
/** Field 15 of /proc/PID/stat, counted behind the name. */
const SYSTEM_TICKS = 12;

/**
 * CPU time of one process without its children. While this thread is held in waitid(2), Node cannot reap the
 * process, so that its clock can be read after its end: clock_getcpuclockid(3) gives `~pid << 3 | 2`.
 */
export function ownCpuSeconds(command: readonly string[]): OwnCpu {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  try {
    const sink = openSync('/dev/null', 'w');
    const path = join(folder, 'output');
    const output = openSync(path, 'w');
    const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', output, sink] });
    waitid(P_PID, child.pid!, new Uint8Array(128), WEXITED | WNOWAIT);
    const cpuSeconds = Number(realSys.clockNs((~child.pid! << 3) | 2)) / 1e9;
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ').pop()!.split(' ');
    const systemSeconds = Number(fields[SYSTEM_TICKS]) / TICKS_PER_SECOND;
    for (const fd of [sink, output]) closeSync(fd);
    return { cpuSeconds, systemSeconds, output: readFileSync(path, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function recordWith(recorder: readonly string[], file: string, seconds: number): Recorded {
  const words = ['record', '-e', 'cpu-clock', '-F', `${FREQUENCY_HZ}`, '-g', '-o', file];
  const { cpuSeconds } = ownCpuSeconds([...recorder, ...words, '--', process.execPath, BUSY, `${seconds}`]);
  const stats = spawnSync('perf', ['report', '--stats', '-i', file], { encoding: 'utf8' }).stdout;
  const count = (name: string) =>
    Number(new RegExp(`^\\s+${name} events:\\s+(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  return { cpuSeconds, samples: count('SAMPLE'), lost: count('LOST') + count('LOST_SAMPLES') };
}

export interface RecordOverhead {
  /** Median over the pairs of our CPU time over perf's. */
  ratio: number;
  lost: { counterpoint: number; perf: number };
  frequencyHz: number;
  highestRateHz: number;
  pairs: { counterpoint: Recorded; perf: Recorded }[];
}

export function measureRecordOverhead(seconds: number, count: number): RecordOverhead {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  try {
    const pairs = Array.from({ length: count }, () => ({
      counterpoint: recordWith([COUNTERPOINT], join(folder, 'ours.data'), seconds),
      perf: recordWith(['perf'], join(folder, 'perf.data'), seconds),
    }));
    const sum = (side: 'counterpoint' | 'perf') => pairs.reduce((total, pair) => total + pair[side].lost, 0);
    return {
      ratio: median(pairs.map((pair) => pair.counterpoint.cpuSeconds / pair.perf.cpuSeconds)),
      lost: { counterpoint: sum('counterpoint'), perf: sum('perf') },
      frequencyHz: FREQUENCY_HZ,
      highestRateHz: Number(readFileSync('/proc/sys/kernel/perf_event_max_sample_rate', 'utf8')),
      pairs,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** For `npm run bench record`. */
export function benchRecord(): void {
  const { ratio, lost, pairs } = measureRecordOverhead(5, 3);
  const side = (name: 'counterpoint' | 'perf') =>
    `${median(pairs.map((pair) => pair[name].cpuSeconds)).toFixed(2)} s of CPU, ${pairs[0]![name].samples} samples, ${lost[name]} lost`;
  console.log(`record -F ${FREQUENCY_HZ} -g, 5 s of a busy program`);
  console.log(`  counterpoint ${side('counterpoint')}`);
  console.log(`  perf         ${side('perf')}`);
  console.log(`  ratio        ${ratio.toFixed(2)} of the CPU`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [seconds = 5, pairs = 3] = process.argv.slice(2).map(Number);
  console.log(JSON.stringify(measureRecordOverhead(seconds, pairs), null, 2));
}
