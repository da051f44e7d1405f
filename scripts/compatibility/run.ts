/** Runs the programs by one Node, launched and attached, with the command line as it is built. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { openRecording } from '../../packages/node/src/host/open/index.ts';
import { record } from '../../packages/node/src/linux/sample/record/index.ts';
import type { Recorded } from './checks.ts';
import type { Programs } from './program.ts';
import { type SampledFunction, sampledStacks } from './samples.ts';

const root = join(import.meta.dirname, '../..');
const COUNTERPOINT = join(root, 'packages/node/bin/counterpoint');
export const ENTRY = join(root, 'packages/node/dist/index.js');
const INTERPRETER = ['--no-opt', '--no-maglev', '--no-sparkplug'];
const MOST_BYTES = 1 << 28;
const MOST_MS = 60_000;
const { NODE_OPTIONS: _, ...env } = process.env;

function counterpoint(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(COUNTERPOINT, words, {
    env,
    encoding: 'utf8',
    maxBuffer: MOST_BYTES,
  });
  if (status !== 0) throw new Error(`counterpoint ${words.join(' ')}: status ${status}\n${stderr}`);
  return stdout;
}

async function stacksOf(data: string): Promise<SampledFunction[][]> {
  const recording = await openRecording(data);
  try {
    return sampledStacks((await recording.profile()).profile);
  } finally {
    await recording.close();
  }
}

const foldedOf = (data: string) =>
  counterpoint('export', '--js=categories', '-f', 'folded', '-o', '-', '-i', data).replaceAll(
    /\bJS:(\w+) [^;]*/g,
    '$1',
  );

interface LoopJson {
  loops: { longest: { function?: { name: string } | null }[] }[];
}

const MOST_TURNS = 5;

/** Functions of the longest turns; the start of a program may be one of them. */
function blockingOf(json: string): string[] {
  const { loops }: LoopJson = JSON.parse(json);
  return loops.flatMap(({ longest }) =>
    longest.slice(0, MOST_TURNS).map((turn) => turn.function?.name ?? ''),
  );
}

const RECORD = ['-q', '-g', '-F', '1500', '-e', 'cpu-clock'];

export async function launched(node: string, programs: Programs, folder: string): Promise<Recorded> {
  const data = join(folder, 'launched.data');
  const interpreted = join(folder, 'interpreted.data');
  counterpoint('record', ...RECORD, '-o', data, '--', node, programs.everything, 'once');
  counterpoint(
    ...['record', ...RECORD, '-o', interpreted, '--'],
    ...[node, ...INTERPRETER, programs.interpreted, 'once'],
  );
  return {
    everything: await stacksOf(data),
    interpreted: await stacksOf(interpreted),
    folded: foldedOf(data),
    blocking: blockingOf(counterpoint('loop', '-q', '--json', '--', node, programs.blocker, 'once')),
    ownFunctions: execFileSync(node, [programs.profiled], { env, encoding: 'utf8' }),
    mappedSource: programs.mappedSource,
  };
}

export async function attached(node: string, programs: Programs, folder: string): Promise<Recorded> {
  const data = join(folder, 'attached.data');
  const interpreted = join(folder, 'interpreted.data');
  await whileRunning(node, [programs.everything, 'forever'], (pid) => recordSamples(pid, data, 8000));
  await whileRunning(node, [...INTERPRETER, programs.interpreted, 'forever'], (pid) =>
    recordSamples(pid, interpreted, 500),
  );
  const loop = await whileRunning(node, [programs.blocker, 'forever'], async (pid) =>
    counterpoint('loop', '-q', '--json', '-p', String(pid), '--', 'sleep', '1'),
  );
  return {
    everything: await stacksOf(data),
    interpreted: await stacksOf(interpreted),
    folded: foldedOf(data),
    blocking: blockingOf(loop),
    ownFunctions: '',
    mappedSource: programs.mappedSource,
  };
}

/** A busy machine takes its time: so many samples, or what there is after a minute. */
async function recordSamples(pid: number, output: string, leastSamples: number): Promise<void> {
  const enough = new AbortController();
  await record({
    pids: [pid],
    events: 'cpu-clock',
    frequency: 1500,
    callGraph: true,
    output,
    signal: AbortSignal.any([enough.signal, AbortSignal.timeout(MOST_MS)]),
    onProgress: ({ samples }) => {
      if (samples >= leastSamples) enough.abort();
    },
  });
}

/** A program that says when it is ready, watched, and then ended. */
async function whileRunning<T>(
  node: string,
  words: readonly string[],
  use: (pid: number) => Promise<T>,
): Promise<T> {
  const child: ChildProcess = spawn(node, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(child.stdout!, 'data');
    return await use(child.pid!);
  } finally {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}
