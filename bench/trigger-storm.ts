/**
 * What a trigger that fires much too often costs its target: an event trigger at a system call that the
 * target makes in a loop, beside perf's recorder with the same trigger and a counter of the same event.
 *
 *   npm run bench storm      (root)
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { flight } from '../packages/node/src/linux/sample/flight/index.ts';
import { resolveEvents } from '../packages/node/src/linux/sample/record/index.ts';
import { median } from './measure.ts';

const EPOLL = fileURLToPath(new URL('epoll-waits.c', import.meta.url));
const PARTS = fileURLToPath(new URL('storm-parts.c', import.meta.url));
const EVENT = 'syscalls:sys_enter_epoll_wait';
const CALLS = 300_000;
const ROUNDS = 5;

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Somebody who watches, until disposed of. */
type Watch = (pid: number, folder: string) => Promise<() => Promise<void>>;

function recorderWith(on: readonly string[], told: (suppressed: number) => void = () => {}): Watch {
  return async (pid, folder) => {
    const options = { events: 'cpu-clock', frequency: 1, directory: folder, on, buildIds: false };
    const recorder = await flight({ pids: [pid], ...options });
    return async () => {
      // What is still in the ring is read first.
      await pause(50);
      told(recorder.status().suppressed);
      await recorder.stop();
    };
  };
}

function commandOf(words: (pid: number, folder: string) => readonly string[]): Watch {
  return async (pid, folder) => {
    const [program, ...rest] = words(pid, folder);
    const child: ChildProcess = spawn(program!, rest, { stdio: 'ignore', cwd: folder });
    const ended = new Promise((done) => child.once('exit', done));
    await pause(700);
    return async () => {
      child.kill('SIGINT');
      await ended;
    };
  };
}

const PERF = ['record', '--overwrite', '-e', 'cpu-clock', '-F', '1', `--switch-output-event=${EVENT}`];
const suppressed: number[] = [];
const WATCHES: Record<string, Watch> = {
  'a recorder without the trigger': recorderWith([]),
  'a recorder with the trigger': recorderWith([`event:${EVENT}`], (count) => suppressed.push(count)),
  'perf stat with the event': commandOf((pid) => ['perf', 'stat', '-e', EVENT, '-p', `${pid}`]),
  'perf record --overwrite --switch-output-event': commandOf((pid) => ['perf', ...PERF, '-p', `${pid}`]),
};

/** The kernel's part of it, in slices that are compared with their neighbours in time. */
async function benchParts(folder: string): Promise<void> {
  const [event] = await resolveEvents([EVENT]);
  const program = join(folder, 'storm-parts');
  if (spawnSync('gcc', ['-O2', '-o', program, PARTS]).status !== 0) return;
  const { stdout } = spawnSync(program, [`${event!.attr.config}`, '400'], { encoding: 'utf8' });
  console.log(`CPU time of one call; more than without, medians and quartiles of pairs\n${stdout.trimEnd()}`);
}

export async function benchStorm(): Promise<void> {
  console.log(`a trigger that always fires: nanoseconds of an epoll_wait, ${CALLS} in a row`);
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-'));
  const program = join(folder, 'epoll-waits');
  if (spawnSync('gcc', ['-O2', '-o', program, EPOLL]).status !== 0) return;
  await benchParts(folder);
  const child = spawn(program, [`${CALLS}`, `${(ROUNDS + 1) * 10}`], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const wait = async () => {
    child.stdin.write('go\n');
    return Number((await lines.next()).value);
  };
  try {
    await wait();
    const rounds: Record<string, number>[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const times: Record<string, number> = { alone: await wait() };
      for (const [name, watch] of Object.entries(WATCHES)) {
        const end = await watch(child.pid!, folder);
        // The file of the first hit is written meanwhile.
        times[`${name}, at first`] = await wait();
        times[name] = await wait();
        await end();
      }
      rounds.push(times);
    }
    for (const name of Object.keys(rounds[0]!)) {
      const ns = median(rounds.map((times) => times[name]!));
      const ratio = median(rounds.map((times) => times[name]! / times['alone']!));
      console.log(`  ${name}: ${ns.toFixed(0)} ns, ${ratio.toFixed(2)} times`);
    }
    console.log(`  triggers counted, of ${2 * CALLS} less the first: ${suppressed.join(', ')}`);
  } finally {
    child.kill();
    rmSync(folder, { recursive: true });
  }
}
