/**
 * Goal: the exact profile of a trace full of indirect branches ten times as fast as libipt's block decoder
 * walks it; and two workers on more than 100 MB at least 95 % as fast as two commands with half of it each.
 *
 * The traces are walks through perl's and python3's own code, as a processor would write them
 * (`pt-walk.mjs`): 18 TIP packets to 46 TNT.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compare } from './measure.ts';
import { BENCH_FOLDER, compilePeer } from './pt-trace.ts';
import { compareWorkers } from './pt-workers.ts';
import { COUNTERPOINT } from './recording.ts';

const WALK = fileURLToPath(new URL('pt-walk.mjs', import.meta.url));
const PROGRAMS = ['/usr/bin/perl', '/usr/bin/python3'];
const TIMINGS = ['base', 'cyc'] as const;
const SIZES = [
  { megabytes: 19, pairs: 5 },
  { megabytes: 119, pairs: 3 },
];
const WORKER_ROUNDS = 5;

/** The trace, made once, and what was executed. */
function walkTrace(
  program: string,
  megabytes: number,
  timing: string,
): { path: string; instructions: string } {
  mkdirSync(BENCH_FOLDER, { recursive: true });
  // Another version of the program is other code.
  const name = `${program.replaceAll('/', '-')}-${statSync(program).size}-${megabytes}-${timing}`;
  const path = join(BENCH_FOLDER, `walk${name}.pt`);
  const told = `${path}.instructions`;
  if (!existsSync(told)) {
    const made = spawnSync(process.execPath, [WALK, program, path, String(megabytes), timing], {
      encoding: 'utf8',
    });
    if (made.status !== 0) throw new Error(`no trace of ${program}: ${made.stderr}`);
    writeFileSync(told, made.stdout.trim());
  }
  return { path, instructions: readFileSync(told, 'utf8') };
}

/** Executable segments, as `pt-libipt-blocks` wants them. */
function codeOf(program: string): string[] {
  const { stdout } = spawnSync('readelf', ['-lW', program], { encoding: 'utf8' });
  return [...stdout.matchAll(/^\s+LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E/gm)].map(
    ([, offset, address, size]) => `${program}:${offset}:${size}:${address}`,
  );
}

export function benchPtInterpreter(): void {
  const peer = compilePeer('pt-libipt-blocks.c');
  if (peer === null) {
    console.log('pt interpreter: skipped, it needs gcc and libipt (Debian: apt-get install gcc libipt-dev)');
    return;
  }
  for (const link of PROGRAMS) {
    if (!existsSync(link)) {
      console.log(`pt interpreter: ${link} is not here`);
      continue;
    }
    const program = realpathSync(link);
    const command = (path: string, workers = 1) => [
      COUNTERPOINT,
      ...['pt', 'profile', '--json', '--workers', String(workers), '--elf', program],
      path,
    ];
    const said = (words: readonly string[]) =>
      spawnSync(words[0]!, words.slice(1), { encoding: 'utf8' }).stdout;
    for (const { megabytes, pairs } of SIZES)
      for (const timing of TIMINGS) {
        const { path, instructions } = walkTrace(program, megabytes, timing);
        const theirs = [peer, path, ...codeOf(program)];
        const ourCount = JSON.parse(said(command(path))).instructions;
        const theirCount = said(theirs).split(' ')[0];
        if (ourCount !== instructions || theirCount !== instructions)
          throw new Error(
            `${ourCount} instructions, libipt says ${theirCount}, and ${instructions} were executed`,
          );
        const {
          ours,
          peer: their,
          wallRatio,
          cpuRatio,
        } = compare(`pt walk ${program}`, command(path), theirs, pairs);
        console.log(
          `exact profile of a walk through ${program}, ${timing}, ${megabytes} MB, ${instructions} instructions: ` +
            `${ours.wallSeconds.toFixed(2)} s (${ours.cpuSeconds.toFixed(2)} s CPU) and ${their.wallSeconds.toFixed(2)} s (${their.cpuSeconds.toFixed(2)})`,
        );
        console.log(
          `  ratio        ${(1 / wallRatio).toFixed(1)} times as fast (CPU time ${(1 / cpuRatio).toFixed(1)}); the goal 10`,
        );
        if (megabytes < 100 || timing !== 'base') continue;
        const half = Math.floor(statSync(path).size / 2);
        const share = compareWorkers(
          (workers, part = '') => command(path + part, workers),
          megabytes,
          half,
          WORKER_ROUNDS,
        );
        console.log(`  two workers are ${(100 * share).toFixed(0)} % as fast as two commands; the goal 95`);
      }
  }
}
