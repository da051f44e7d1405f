/**
 * Promises of the flight recorder: stopping and writing 64 MiB takes less than 100 ms; it takes no more CPU
 * than `perf record --overwrite`, and its target loses no more; `loop-delay` costs less than 200 ns a wait.
 *
 *   npm run bench flight
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PERF_RECORD_SAMPLE } from '../packages/core/src/format/abi/index.ts';
import { type HistoryMemory, HistoryRing, mergeHistories } from '../packages/core/src/format/ring/index.ts';
import { flight } from '../packages/node/src/linux/sample/flight/index.ts';
import { median } from './measure.ts';
import { ownCpuSeconds } from './record-overhead.ts';
import { COUNTERPOINT } from './recording.ts';

const MIB = 2 ** 20;
const BUSY = fileURLToPath(new URL('busy.mjs', import.meta.url));
const EPOLL = fileURLToPath(new URL('epoll-waits.c', import.meta.url));

/** A ring as the kernel leaves it: full, records in turn with those of the other. */
function fullRing(sizeBytes: number, recordBytes: number, ring: number): HistoryMemory {
  const data = new Uint8Array(sizeBytes);
  const view = new DataView(data.buffer);
  const count = Math.floor(sizeBytes / recordBytes);
  for (let record = 0; record < count; record++) {
    const at = sizeBytes - (record + 1) * recordBytes;
    view.setUint32(at, PERF_RECORD_SAMPLE, true);
    view.setUint16(at + 6, recordBytes, true);
    view.setBigUint64(at + 24, BigInt(record * 1000 + ring * 300), true);
  }
  return { data, writtenBytes: () => count * recordBytes };
}

function benchWriting(): void {
  const times = { sampleTimeFromStart: 24, timeFromEnd: () => -1 };
  for (const recordBytes of [64, 400]) {
    const rings = [0, 1].map((ring) => fullRing(32 * MIB, recordBytes, ring));
    const scratch = new Uint8Array(64 * MIB);
    const stopped: number[] = [];
    const all: number[] = [];
    for (let round = 0; round < 7; round++) {
      const began = performance.now();
      const histories = rings.map((memory) => ({ memory, records: new HistoryRing(memory).records(times) }));
      const { bytes } = mergeHistories(histories, scratch);
      stopped.push(performance.now() - began);
      writeFileSync('/dev/shm/counterpoint-bench-flight', bytes);
      all.push(performance.now() - began);
    }
    rmSync('/dev/shm/counterpoint-bench-flight');
    console.log(
      `  64 MiB of ${recordBytes}-byte records: stopped ${median(stopped).toFixed(0)} ms, in a file of tmpfs after ${median(all).toFixed(0)} ms; the first time ${all[0]!.toFixed(0)} ms`,
    );
  }
}

/** Both watch the same program at the same rate, and write their history at its end. */
function benchCpu(folder: string): void {
  const target = [process.execPath, '--perf-basic-prof', BUSY, '5'];
  // perf's rings are as large as those that flight opens for 30 s at this rate:
  // mapping them is part of the cost.
  for (const [frequencyHz, pages] of [
    [99, '512'],
    [4000, '8192'],
  ] as const) {
    const sampling = ['-e', 'cpu-clock', '-F', `${frequencyHz}`];
    const ours = [
      COUNTERPOINT,
      'flight',
      ...sampling,
      '--on',
      'exit',
      '-o',
      folder,
      '--no-node-names',
      '--',
      ...target,
    ];
    const perfs = ['perf', 'record', '--overwrite', '--switch-output=signal', ...sampling, '-g', '-m', pages];
    const peer = [...perfs, '-o', join(folder, 'perf.data'), '--', ...target];
    const pairs = Array.from({ length: 3 }, () => [
      ownCpuSeconds(ours).cpuSeconds,
      ownCpuSeconds(peer).cpuSeconds,
    ]);
    const ratio = median(pairs.map(([one, other]) => one! / other!));
    const middle = [0, 1].map((side) => median(pairs.map((pair) => pair[side]!)).toFixed(3));
    console.log(
      `  ${frequencyHz} Hz, 5 s with start and end: ${middle[0]} s of CPU, perf ${middle[1]}: ${ratio.toFixed(2)} times`,
    );
  }
}

/** CPU of the recorder alone while it watches, from within a process that does nothing else. */
async function benchWatching(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  const target = spawn(process.execPath, [BUSY, '12'], { stdio: 'ignore' });
  try {
    const recorder = await flight({
      pids: [target.pid!],
      events: 'cpu-clock',
      frequency: 99,
      directory: folder,
    });
    await new Promise((done) => setTimeout(done, 1000));
    const before = process.cpuUsage();
    const began = performance.now();
    await new Promise((done) => setTimeout(done, 8000));
    const { user, system } = process.cpuUsage(before);
    const percent = (user + system) / 1000 / (performance.now() - began);
    console.log(`  watching at 99 Hz: ${(100 * percent).toFixed(2)} % of a CPU`);
    await recorder.stop();
  } finally {
    target.kill();
    rmSync(folder, { recursive: true });
  }
}

/** What the same work costs the program that is watched. */
function benchTarget(folder: string): void {
  const work =
    'let x = 0; for (let i = 0; i < 4e8; i++) x = (x * 31 + i) | 0; console.log(process.cpuUsage().user)';
  const alone = [process.execPath, '-e', work];
  const seconds = (command: readonly string[]) => Number(ownCpuOutput(command)) / 1e6;
  for (const frequencyHz of [1000, 5000, 25_000]) {
    const sampling = ['-e', 'cpu-clock', '-F', `${frequencyHz}`];
    const ours = [COUNTERPOINT, 'flight', '-q', ...sampling, '-o', folder, '--no-node-names', '--', ...alone];
    const peer = [
      'perf',
      'record',
      '-q',
      '--overwrite',
      '--switch-output=signal',
      ...sampling,
      '-g',
      '-m',
      '512',
    ];
    const perfs = [...peer, '-o', join(folder, 'perf.data'), '--', ...alone];
    const rounds = Array.from({ length: 5 }, () => [seconds(alone), seconds(ours), seconds(perfs)]);
    const [own, other] = [1, 2].map((side) => median(rounds.map((round) => round[side]! / round[0]!)));
    console.log(
      `  target at ${frequencyHz} Hz: ${own!.toFixed(3)} of its time alone, with perf ${other!.toFixed(3)}`,
    );
  }
}

function ownCpuOutput([program, ...words]: readonly string[]): string {
  return spawnSync(program!, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).stdout.trim();
}

/** A wait that finds nothing, with and without the programs at it. */
async function benchLoopDelay(folder: string): Promise<void> {
  const program = join(folder, 'epoll-waits');
  if (spawnSync('gcc', ['-O2', '-o', program, EPOLL]).status !== 0) return;
  const child = spawn(program, ['500000', '40'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const wait = async () => {
    child.stdin.write('go\n');
    return Number((await lines.next()).value);
  };
  try {
    const watched = (on: string[]) =>
      flight({ pids: [child.pid!], events: 'cpu-clock', frequency: 1, on, directory: folder });
    await wait();
    const more: number[] = [];
    for (let pair = 0; pair < 5; pair++) {
      const [without, with_] = [[], ['loop-delay:1h']];
      const base = await watched(without);
      const baseNs = await wait();
      await base.stop();
      const loop = await watched(with_);
      const loopNs = await wait();
      await loop.stop();
      more.push(loopNs - baseNs);
    }
    console.log(`  loop-delay: ${median(more).toFixed(0)} ns more for a wait`);
  } finally {
    child.kill();
  }
}

export async function benchFlight(): Promise<void> {
  console.log('flight recorder');
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  try {
    benchWriting();
    await benchWatching();
    benchCpu(folder);
    benchTarget(folder);
    await benchLoopDelay(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
