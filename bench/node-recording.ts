/**
 * Promises: recording a Node program takes no more of the recorder's CPU than `perf record` takes, histories
 * included; the program pays at most 1.03 for the flags, 1.05 at 1 kHz with everything on, and 1.10 at the
 * default rate. Whole commands in turn, ratios pair by pair.
 *
 *   npm run bench node
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from './measure.ts';
import { type OwnCpu, ownCpuSeconds } from './record-overhead.ts';
import { COUNTERPOINT } from './recording.ts';

const BUSY = fileURLToPath(new URL('busy.mjs', import.meta.url));
const FLAGS = ['--perf-basic-prof', '--interpreted-frames-native-stack'];
const PAIRS = Number(process.env['PAIRS'] ?? 7);
const SECONDS = 5;
const ROUNDS = 2500;

const ms = (seconds: number) => `${Math.round(seconds * 1000)}`.padStart(4);

/** The recorders alone. What V8 has compiled of ours is there from the first run, which is not counted. */
function compareRecorders(name: string, ours: readonly string[], perf: readonly string[]): void {
  ownCpuSeconds(ours);
  const pairs = Array.from({ length: PAIRS }, () => [ownCpuSeconds(ours), ownCpuSeconds(perf)] as const);
  const ratios = pairs.map(([one, other]) => one.cpuSeconds / other.cpuSeconds).sort((a, b) => a - b);
  const side = (runs: readonly OwnCpu[]) =>
    `${ms(median(runs.map(({ cpuSeconds }) => cpuSeconds)))} ms (${ms(median(runs.map(({ systemSeconds }) => systemSeconds)))} in the kernel)`;
  const [our, theirs] = [pairs.map(([one]) => one), pairs.map(([, other]) => other)];
  console.log(
    `  ${name.padEnd(42)} ${side(our)} | perf ${side(theirs)} | ${median(ratios).toFixed(2)} (${ratios[0]!.toFixed(2)} to ${ratios.at(-1)!.toFixed(2)})`,
  );
}

function benchRecorders(folder: string): void {
  const file = join(folder, 'ours.data');
  const perfFile = join(folder, 'perf.data');
  const busy = [process.execPath, BUSY, `${SECONDS}`];
  const flagged = [process.execPath, ...FLAGS, BUSY, `${SECONDS}`];
  console.log(`CPU of the recorder, around ${SECONDS} s of a busy Node program`);
  for (const rate of ['99', '4000']) {
    const sampling = ['-e', 'cpu-clock', '-F', rate];
    const perf = ['perf', 'record', ...sampling, '-g', '-o', perfFile, '--', ...flagged];
    const record = [COUNTERPOINT, 'record', ...sampling, '-g', '-o', file];
    compareRecorders(`record, ${rate} Hz`, [...record, '--', ...busy], perf);
    // Without V8's flags: who writes names is read.
    const bare = perf.filter((word) => !FLAGS.includes(word));
    compareRecorders(`record --no-js, ${rate} Hz`, [...record, '--no-js', '--', ...busy], bare);
    // Rings as large as those that flight opens for 30 s at this rate.
    const pages = rate === '99' ? '512' : '8192';
    const history = ['--overwrite', '--switch-output=signal', '-m', pages, '-o', perfFile];
    compareRecorders(
      `flight, ${rate} Hz, one file`,
      [COUNTERPOINT, 'flight', ...sampling, '--on', 'exit', '-o', folder, '--', ...busy],
      ['perf', 'record', ...sampling, ...history, '--', ...flagged],
    );
  }
  const sleep = ['sleep', '1'];
  compareRecorders(
    'record, 99 Hz, around sleep 1',
    [COUNTERPOINT, 'record', '-e', 'cpu-clock', '-F', '99', '-g', '-o', file, '--', ...sleep],
    ['perf', 'record', '-e', 'cpu-clock', '-F', '99', '-g', '-o', perfFile, '--', ...sleep],
  );
}

/** What the program itself says that it took, for always the same work. */
function targetMs(command: readonly string[]): number {
  const { stdout, stderr } = spawnSync(command[0]!, command.slice(1), { encoding: 'utf8' });
  const found = / rounds ([\d.]+) ms/.exec(stdout)?.[1];
  if (found === undefined) throw new Error(`${command.join(' ')}: ${stdout}${stderr}`);
  return Number(found);
}

function benchTarget(folder: string): void {
  const file = join(folder, 'ours.data');
  const perfFile = join(folder, 'perf.data');
  const busy = [process.execPath, BUSY, '0', `${ROUNDS}`];
  const flagged = [process.execPath, ...FLAGS, BUSY, '0', `${ROUNDS}`];
  const record = (...words: string[]) => [COUNTERPOINT, 'record', '-o', file, ...words, '--', ...busy];
  const perf = (...words: string[]) => ['perf', 'record', '-o', perfFile, ...words, '--', ...flagged];
  const sides: Record<string, string[]> = {
    'the flags alone': flagged,
    'counterpoint record -g -F 1000': record('-g', '-F', '1000'),
    'perf record -g -F 1000': perf('-g', '-F', '1000'),
    'counterpoint record -g': record('-g'),
    'perf record -g': perf('-g'),
    'node --cpu-prof': [process.execPath, '--cpu-prof', `--cpu-prof-dir=${folder}`, ...busy.slice(1)],
  };
  const rounds = Array.from({ length: PAIRS }, () => {
    const alone = targetMs(busy);
    return Object.values(sides).map((command) => targetMs(command) / alone);
  });
  console.log(`CPU of the program, to its CPU alone (${ROUNDS} rounds)`);
  Object.keys(sides).forEach((name, side) => {
    const ratios = rounds.map((round) => round[side]!).sort((a, b) => a - b);
    console.log(
      `  ${name.padEnd(42)} ${median(ratios).toFixed(3)} (${ratios[0]!.toFixed(3)} to ${ratios.at(-1)!.toFixed(3)})`,
    );
  });
}

export function benchNode(): void {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  // A list of certificates that Node would read at each start is not the recorder's.
  delete process.env['NODE_EXTRA_CA_CERTS'];
  try {
    benchRecorders(folder);
    benchTarget(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
