/**
 * Promises: at 25 kHz system-wide `histogram` and `stacks` move at least 20 times fewer bytes to user
 * space than `ring`, and cost less CPU in all. Each CPU runs the busy program; the recorders take turns
 * over it. `histogram` is held against records without call chains, `stacks` against records with them:
 * each against what tells the same; by what recording costs, and by what it costs until the functions
 * are on the screen. Needs root.
 *
 *   npx tsx --conditions=counterpoint-source bench/formats.ts [SECONDS] [ROUNDS]
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RecordOptions } from '../packages/node/src/linux/sample/record/index.ts';
import { median, run } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';
import { meanNs, TimerWatch } from './timer-time.ts';

const BUSY = fileURLToPath(new URL('busy.mjs', import.meta.url));
const RECORDER = fileURLToPath(new URL('formats-recorder.mjs', import.meta.url));
const EMPTY = fileURLToPath(new URL('empty-format.ts', import.meta.url));
const FREQUENCY_HZ = 25_000;
/** The busy programs' and ours: whatever else runs on the machine should not be what is measured. */
const PRIORITY = -20;
/** Of the recorder's start and end, and of Node's start. */
const MARGIN_SECONDS = 10;

const MODES: Readonly<Record<string, Pick<RecordOptions, 'formats' | 'callGraph'>>> = {
  empty: { formats: [EMPTY] },
  ring: {},
  histogram: { formats: ['histogram'] },
  'double-buffer': { formats: ['double-buffer'] },
  'ring -g': { callGraph: true },
  stacks: { formats: ['stacks'] },
};

/** What the recorder prints. */
interface RecorderReport {
  overflows: number;
  /** Of the format's programs, by the kernel's measurement. */
  handlerNs: number;
  /** Copied out of maps. */
  bytesRead: number;
  /** Size of the file. */
  fileBytes: number;
  lost: Record<string, number>;
  /** User and system time of its process while the recording ran, its end included. */
  cpuSeconds: number;
  seconds: number;
}

interface Measured extends RecorderReport {
  interruptNs: number;
  /** User and system time of `report` on the file. */
  reportSeconds: number;
}

function recordOnce(
  options: (typeof MODES)[string],
  seconds: number,
  output: string,
  watch: TimerWatch,
): Measured {
  const request = {
    ...{ systemWide: true, events: 'cpu-clock', frequency: FREQUENCY_HZ, buildIds: false },
    ...{ output, seconds, ...options },
  };
  const busy = keepBusy(seconds + MARGIN_SECONDS);
  const before = watch.read();
  const { stdout, stderr, status } = spawnSync(process.execPath, [RECORDER, JSON.stringify(request)], {
    encoding: 'utf8',
  });
  const after = watch.read();
  for (const child of busy) child.kill();
  if (status !== 0) throw new Error(`the recorder ended with ${status}: ${stderr}`);
  const reportSeconds = run([COUNTERPOINT, 'report', '-i', output]).cpuSeconds;
  return { ...(JSON.parse(stdout) as RecorderReport), interruptNs: meanNs(before, after), reportSeconds };
}

function keepBusy(seconds: number): ChildProcess[] {
  return Array.from({ length: availableParallelism() }, () => {
    const child = spawn(process.execPath, [BUSY, `${seconds}`], { stdio: 'ignore' });
    setPriority(child.pid!, PRIORITY);
    return child;
  });
}

function setSessionPriority(priority: number): void {
  const group = '/proc/self/autogroup';
  if (existsSync(group)) writeFileSync(group, String(priority));
}

/** Per overflow, medians over the rounds. */
export interface FormatCosts {
  /** Of the whole timer interrupt. */
  interruptNs: number;
  handlerNs: number;
  recorderNs: number;
  reportNs: number;
  /** Read by user space. */
  bytes: number;
  overflows: number;
  /** Of the last round. */
  lost: Record<string, number>;
}

export function measureFormats(seconds: number, rounds: number): Record<string, FormatCosts> {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  const runs = new Map<string, Measured[]>(Object.keys(MODES).map((name) => [name, []]));
  setPriority(PRIORITY);
  // Among sessions the priority of a process does not count, where the kernel groups by session.
  setSessionPriority(PRIORITY);
  using watch = new TimerWatch();
  try {
    for (let round = 0; round < rounds; round++)
      for (const [name, options] of Object.entries(MODES))
        runs.get(name)!.push(recordOnce(options, seconds, join(folder, 'bench.data'), watch));
  } finally {
    setSessionPriority(0);
    rmSync(folder, { recursive: true });
  }
  const idleBytes = median(runs.get('empty')!.map(({ fileBytes }) => fileBytes));
  return Object.fromEntries(
    [...runs].map(([name, own]): [string, FormatCosts] => {
      const middle = (value: (run: Measured) => number) => median(own.map(value));
      return [
        name,
        {
          interruptNs: middle(({ interruptNs }) => interruptNs),
          handlerNs: middle(({ handlerNs, overflows }) => handlerNs / overflows),
          recorderNs: middle(({ cpuSeconds, overflows }) => (cpuSeconds * 1e9) / overflows),
          reportNs: middle(({ reportSeconds, overflows }) => (reportSeconds * 1e9) / overflows),
          // Records of the kernel are read as they are written to the file.
          bytes: middle(({ bytesRead, fileBytes, overflows }) =>
            name.startsWith('ring') ? (fileBytes - idleBytes) / overflows : bytesRead / overflows,
          ),
          overflows: middle(({ overflows }) => overflows),
          lost: own.at(-1)!.lost,
        },
      ];
    }),
  );
}

/** For `npm run bench formats`. */
export function benchFormats(seconds = 10, rounds = 3): void {
  console.log(`formats at ${FREQUENCY_HZ} Hz on every CPU, ${seconds} s each, for each overflow`);
  const costs = measureFormats(seconds, rounds);
  for (const [name, one] of Object.entries(costs)) {
    const { interruptNs, handlerNs, recorderNs, reportNs, bytes, overflows, lost } = one;
    const handler = handlerNs === 0 ? '' : `, its handler ${handlerNs.toFixed(0)}`;
    console.log(
      `  ${name.padEnd(13)} ${interruptNs.toFixed(0)} ns of interrupt${handler}, ${recorderNs.toFixed(0)} of the recorder, ${reportNs.toFixed(0)} of report, ${bytes.toFixed(2)} bytes (${overflows} overflows, lost ${JSON.stringify(lost)})`,
    );
  }
  const { empty } = costs;
  for (const [format, ring] of [
    ['histogram', 'ring'],
    ['double-buffer', 'ring'],
    ['stacks', 'ring -g'],
    ['stacks', 'ring'],
  ] as const) {
    const [ours, peer] = [costs[format]!, costs[ring]!];
    const whole = (side: FormatCosts) => side.interruptNs + side.recorderNs;
    const withReport = (side: FormatCosts) => whole(side) + side.reportNs;
    const added = (side: FormatCosts) => whole(side) - empty!.interruptNs;
    const ratio = (of: typeof whole) => (of(ours) / of(peer)).toFixed(2);
    console.log(
      `  ${format} against ${ring}: ${(peer.bytes / ours.bytes).toFixed(1)} times fewer bytes; CPU of recording ${ratio(whole)}, with report ${ratio(withReport)}, on top of an empty handler's interrupt ${ratio(added)}`,
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [seconds = 10, rounds = 3] = process.argv.slice(2).map(Number);
  benchFormats(seconds, rounds);
}
