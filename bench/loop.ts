/**
 * What `loop -p` adds to one wait of an event loop, beside tools that also show each wait: `strace -c` and
 * `perf trace -s`. As root. Each tool watches a run of its own, between two runs that nobody watches.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { median } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';

const EPOLL = fileURLToPath(new URL('epoll-waits.c', import.meta.url));
const CALLS = 100_000;
const PAIRS = 5;
/** Until a tool has attached itself. */
const START_MS = 1500;

const TOOLS: Readonly<Record<string, readonly string[]>> = {
  'counterpoint loop': [COUNTERPOINT, 'loop', '-q', '-p'],
  'strace -c': ['strace', '-c', '-f', '-p'],
  'perf trace -s': ['perf', 'trace', '-s', '-p'],
};

export async function benchLoop(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-loop-'));
  const program = join(folder, 'epoll-waits');
  try {
    if (spawnSync('gcc', ['-O2', '-o', program, EPOLL]).status !== 0) throw new Error('gcc is needed');
    console.log('loop: nanoseconds more for a wait');
    for (const [name, words] of Object.entries(TOOLS)) {
      const more: number[] = [];
      for (let pair = 0; pair < PAIRS; pair++) more.push(await addedNs(program, words));
      console.log(`  ${name}: ${median(more).toFixed(0)}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function addedNs(program: string, words: readonly string[]): Promise<number> {
  const child = spawn(program, [String(CALLS), '9'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const wait = async () => {
    child.stdin.write('go\n');
    return Number((await lines.next()).value);
  };
  try {
    await wait();
    const alone = await wait();
    const tool = spawn(words[0]!, [...words.slice(1), String(child.pid)], { stdio: 'ignore' });
    await sleep(START_MS);
    const watched = await wait();
    await end(tool);
    return watched - (alone + (await wait())) / 2;
  } finally {
    child.kill('SIGKILL');
  }
}

async function end(tool: ChildProcess): Promise<void> {
  if (tool.exitCode !== null) throw new Error(`${tool.spawnfile} ended by itself`);
  tool.kill('SIGINT');
  await once(tool, 'exit');
}
