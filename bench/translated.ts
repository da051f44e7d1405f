/**
 * Translated code that counts itself (`--soft-way fast`) beside other programs that translate code: valgrind
 * without a tool, its tool lackey, which counts instructions, too, and QEMU, which does not. What each takes
 * for `true` is its start, and is taken off. And a trace of every branch (`record -e soft_pt//u`), to tmpfs.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveProgram } from '../packages/node/src/linux/kernel/target/index.ts';
import { countSoft } from '../packages/node/src/linux/stepping/softpmu/index.ts';
import { median, run } from './measure.ts';
import { COUNTERPOINT } from './recording.ts';

const ROUNDS = 5;
const TEXT_WORDS = 400_000;

const PEERS: Readonly<Record<string, readonly string[]>> = {
  alone: [],
  'valgrind --tool=none': ['valgrind', '--tool=none', '-q'],
  'qemu-x86_64': ['qemu-x86_64'],
};
const LACKEY = ['valgrind', '--tool=lackey'];

/** Words in an order that does not repeat: what a compressor has to work on. */
function text(): string {
  const words: string[] = [];
  for (let state = 1, count = 0; count < TEXT_WORDS; count++) {
    state = (state * 48_271) % 2_147_483_647;
    words.push((state % 50_000).toString(36));
  }
  return words.join(' ');
}

const QUERY = `with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
select sum(length(printf('%d-%x', i, i * 7919))), count(distinct i % 977) from n;`;

interface Run {
  seconds: number;
  instructions: number;
  stepped: number;
}

async function ours(command: readonly string[]): Promise<Run> {
  const sink = openSync('/dev/null', 'r+');
  const { counts, stepped, elapsedNs } = await countSoft({ command, way: 'fast', stdio: [sink, sink, 2] });
  return { seconds: Number(elapsedNs) / 1e9, instructions: counts.instructions, stepped };
}

/** Instructions that lackey counts of the command; it prints them on standard error. */
function lackey(command: readonly string[]): Run {
  const begin = performance.now();
  const [program, ...words] = [...LACKEY, ...command];
  const { stderr } = spawnSync(program!, words, {
    stdio: ['ignore', openSync('/dev/null', 'w'), 'pipe'],
    encoding: 'utf8',
  });
  const instructions = Number(/guest instrs:\s+([\d,]+)/.exec(stderr)?.[1]?.replaceAll(',', ''));
  return { seconds: (performance.now() - begin) / 1000, instructions, stepped: 0 };
}

/** QEMU asks for a path. A peer that fails has no time. */
function peer(words: readonly string[], [program, ...rest]: readonly string[]): number {
  const { wallSeconds, status } = run([...words, resolveProgram(program!), ...rest]);
  if (status !== 0) throw new Error(`${words.join(' ')} ${program} ended with ${status}`);
  return wallSeconds;
}

/** A whole command that traces another one. */
function traced(command: readonly string[], output: string): number {
  const way = ['--soft-way', 'fast', '-e', 'soft_pt//u', '-o', output];
  const { wallSeconds, status } = run([COUNTERPOINT, 'record', ...way, '--', ...command]);
  if (status !== 0) throw new Error(`record of ${command.join(' ')} ended with ${status}`);
  return wallSeconds;
}

function bench(peers: readonly (readonly [string, readonly string[]])[], output: string) {
  const start = (once: () => number) => median(Array.from({ length: ROUNDS }, once));
  const starts = new Map(peers.map(([name, words]) => [name, start(() => peer(words, ['true']))]));
  const lackeyStart = lackey(['true']).seconds;
  return async (name: string, command: readonly string[]): Promise<void> => {
    const ownStart = median([(await ours(['true'])).seconds, (await ours(['true'])).seconds]);
    const tracedStart = median([traced(['true'], output), traced(['true'], output)]);
    const times = new Map<string, number[]>(peers.map(([one]) => [one, []]));
    const own: Run[] = [];
    const traces: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      own.push(await ours(command));
      traces.push(traced(command, output) - tracedStart);
      for (const [one, words] of peers) times.get(one)!.push(peer(words, command) - starts.get(one)!);
    }
    const { instructions, stepped } = own[0]!;
    const seconds = own.map((one) => one.seconds - ownStart);
    const alone = median(times.get('alone')!);
    console.log(
      `${name}: ${median(seconds).toFixed(2)} s, ${(median(seconds) / alone).toFixed(1)} times its time alone (${alone.toFixed(2)} s); ` +
        `${instructions.toLocaleString('en-US')} instructions, ${stepped} of them stepped, ` +
        `${Math.round(instructions / median(seconds) / 1e6)} million a second`,
    );
    for (const [one] of peers.slice(1)) {
      const taken = times.get(one)!;
      const ratio = median(seconds.map((own, round) => own / taken[round]!));
      console.log(
        `  ${one}: ${median(taken).toFixed(2)} s, ${(median(taken) / alone).toFixed(1)} times; ours takes ${ratio.toFixed(2)} of that`,
      );
    }
    const noTool = times.get('valgrind --tool=none')!;
    const ofNoTool = median(traces.map((trace, round) => trace / noTool[round]!));
    console.log(
      `  traced: ${median(traces).toFixed(2)} s, ${(median(traces) / alone).toFixed(1)} times; ` +
        `${ofNoTool.toFixed(2)} of valgrind --tool=none; ${(statSync(output).size / 1e6).toFixed(0)} MB; ` +
        `its start is ${tracedStart.toFixed(2)} s more`,
    );
    // Once: it takes a hundred times as long.
    const counted = lackey(command);
    const taken = counted.seconds - lackeyStart;
    const more = (100 * (counted.instructions - instructions)) / instructions;
    console.log(
      `  ${LACKEY.join(' ')}: ${taken.toFixed(2)} s, ${(taken / alone).toFixed(1)} times; ours takes ${(median(seconds) / taken).toFixed(3)} of that;` +
        ` it counted ${counted.instructions.toLocaleString('en-US')} (${more.toFixed(2)} % more)`,
    );
  };
}

export async function benchTranslated(): Promise<void> {
  for (const tool of ['valgrind', 'qemu-x86_64'])
    if (spawnSync(tool, ['--version']).status !== 0) throw new Error(`${tool} is missing`);
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-translated-'));
  const memory = mkdtempSync('/dev/shm/counterpoint-translated-');
  const output = join(memory, 'perf.data');
  try {
    const [input, query] = [join(folder, 'input'), join(folder, 'query.sql')];
    writeFileSync(input, text());
    writeFileSync(query, QUERY);
    const compare = bench(Object.entries(PEERS), output);
    await compare('gzip', ['gzip', '-6', '-c', input]);
    await compare('sqlite3', ['sqlite3', ':memory:', `.read ${query}`]);
  } finally {
    rmSync(folder, { recursive: true });
    rmSync(memory, { recursive: true });
  }
}
