/** Own times of the functions of a program, by `node --cpu-prof` and by Counterpoint, as shares. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { OverlapProgram } from './javascript-programs.ts';
import { ScriptSources } from './javascript-sources.ts';
import { COUNTERPOINT } from './recording.ts';

export interface OwnTimes {
  /** By function: the part of all samples of JavaScript functions. */
  shares: Map<string, number>;
  /** Samples of JavaScript functions. */
  samples: number;
}

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number };
  hitCount: number;
  children?: number[];
  positionTicks?: { line: number; ticks: number }[];
}

interface CpuProfile {
  nodes: ProfileNode[];
}

/**
 * `--cpu-prof` counts what V8 and C++ do for the function that called them, except for the garbage
 * collection, which is on its own. So that is left out of both.
 */
const GARBAGE_COLLECTION = /^\((?:GC\b|garbage collector)/;
/** Functions of the snapshot that V8 interprets. */
const WITHOUT_NAMES = '(functions without a name)';

/** For both. */
const V8_FLAGS = (process.env['V8_FLAGS'] ?? '').split(' ').filter((flag) => flag !== '');
const { NODE_OPTIONS: _, ...env } = process.env;

async function run(program: OverlapProgram, command: readonly string[], folder: string): Promise<void> {
  rmSync(join(folder, 'port'), { force: true });
  const child = spawn(command[0]!, command.slice(1), {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (bytes) => {
    errors += bytes;
  });
  const ended = once(child, 'close');
  const isOver = new AbortController();
  void ended.then(() => isOver.abort());
  await Promise.all([ended, program.load?.(folder, isOver.signal)]);
  // Compilers and linters end with 1 or 2 where they find something.
  if (child.exitCode === null || child.exitCode > 2) throw new Error(`${command.join(' ')}: ${errors}`);
}

/**
 * V8 counts the time of an inlined function for the one that it is inlined in (`SymbolizeTickSample`: the
 * innermost frame has no inline stack), and yet for the line of the inlined one. So lines say whose it is.
 */
function addOwnTimes({ nodes }: CpuProfile, sources: ScriptSources, sums: Map<string, number>): void {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const isChild = new Set(nodes.flatMap(({ children = [] }) => children));
  const add = (name: string, count: number) => sums.set(name, (sums.get(name) ?? 0) + count);
  const walk = (id: number, caller: string | null): void => {
    const { callFrame, hitCount, positionTicks = [], children = [] } = byId.get(id)!;
    const { functionName, url, lineNumber } = callFrame;
    if (GARBAGE_COLLECTION.test(functionName)) return;
    let name = caller;
    let left = hitCount;
    if (functionName === WITHOUT_NAMES) name = functionName;
    else if (lineNumber >= 0 && (url === '' || url.startsWith('eval at ')))
      name = `${functionName} of eval:${lineNumber + 1}`;
    else if (lineNumber >= 0) {
      name = sources.functionAt(url, lineNumber + 1, lineNumber + 1, functionName);
      for (const { line, ticks } of positionTicks) {
        add(sources.functionAt(url, lineNumber + 1, line, functionName), ticks);
        left -= ticks;
      }
    }
    if (name !== null && left > 0) add(name, left);
    for (const child of children) walk(child, name);
  };
  for (const { id } of nodes) if (!isChild.has(id)) walk(id, null);
}

function sharesOf(profiles: readonly CpuProfile[], sources: ScriptSources): OwnTimes {
  const sums = new Map<string, number>();
  for (const profile of profiles) addOwnTimes(profile, sources, sums);
  const samples = [...sums.values()].reduce((sum, count) => sum + count, 0);
  if (samples === 0) throw new Error('no samples of JavaScript functions');
  return { shares: new Map([...sums].map(([name, count]) => [name, count / samples])), samples };
}

const readProfile = (path: string): CpuProfile => JSON.parse(readFileSync(path, 'utf8'));

export async function ownTimesByCpuProf(
  program: OverlapProgram,
  node: string,
  folder: string,
): Promise<OwnTimes> {
  const profiles = join(folder, 'cpu-prof');
  mkdirSync(profiles);
  await run(
    program,
    [node, ...V8_FLAGS, '--cpu-prof', '--cpu-prof-dir', profiles, ...program.words(folder)],
    folder,
  );
  const found = readdirSync(profiles).map((name) => readProfile(join(profiles, name)));
  rmSync(profiles, { recursive: true });
  return sharesOf(found, ScriptSources.of(node));
}

export async function ownTimesByCounterpoint(
  program: OverlapProgram,
  node: string,
  folder: string,
): Promise<OwnTimes> {
  const data = join(folder, 'own.data');
  const recorded = ['record', '-q', '-g', '-F', '1000', '-e', 'cpu-clock', '-o', data, '--'];
  await run(program, [COUNTERPOINT, ...recorded, node, ...V8_FLAGS, ...program.words(folder)], folder);
  const tids = program.hasWorkers === true ? await threadsOf(data) : [''];
  const profiles: CpuProfile[] = [];
  for (const tid of tids) {
    const path = join(folder, 'own.cpuprofile');
    const exported = ['export', '--js=categories', '--no-source-maps', '-i', data, '-o', path];
    await counterpoint([...exported, ...(tid === '' ? [] : ['--tid', tid])]);
    profiles.push(readProfile(path));
  }
  return sharesOf(profiles, ScriptSources.of(node));
}

async function threadsOf(data: string): Promise<string[]> {
  const text = await counterpoint([
    'report',
    '--no-js',
    '--sort',
    'tid',
    '--no-children',
    '--stdio',
    '-i',
    data,
  ]);
  return [...text.matchAll(/^ +[\d.]+% +(?:\S+:)?(\d+)/gm)].map(([, tid]) => tid!);
}

async function counterpoint(words: readonly string[]): Promise<string> {
  const child = spawn(COUNTERPOINT, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let text = '';
  let errors = '';
  child.stdout.on('data', (bytes) => {
    text += bytes;
  });
  child.stderr.on('data', (bytes) => {
    errors += bytes;
  });
  await ended;
  if (child.exitCode !== 0) throw new Error(`counterpoint ${words.join(' ')}: ${errors}`);
  return text;
}

/** From 0 to 1. */
export function overlapOf(one: OwnTimes, other: OwnTimes): number {
  let sum = 0;
  for (const [name, share] of one.shares) sum += Math.min(share, other.shares.get(name) ?? 0);
  return sum;
}
