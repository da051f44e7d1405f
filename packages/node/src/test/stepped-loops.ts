import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import { temporaryFolder } from './perf.ts';
import { buildLoops, type SteppedProgram, stepProgram } from './stepped-branches.ts';

/** A program at fixed addresses, what the stepper in C has seen of it, and where its own functions are. */
export function steppedLoops(t: TestContext): {
  program: string;
  stepped: SteppedProgram;
  isOwn: (ip: bigint) => boolean;
} {
  const folder = temporaryFolder(t);
  const program = buildLoops(folder, ['-O1', '-g', '-static', '-no-pie'])!;
  const stepped = stepProgram(folder, [program])!;
  const ranges = spawnSync('nm', ['-S', program], { encoding: 'utf8' })
    .stdout.split('\n')
    .map((line) => /^(\w+) (\w+) [tT] (main|inner|outer|compare)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, start, size]) => [BigInt(`0x${start}`), BigInt(`0x${start}`) + BigInt(`0x${size}`)] as const);
  assert.equal(ranges.length, 4);
  // What its library does depends on the environment; these do not.
  const isOwn = (ip: bigint) => ranges.some(([start, end]) => ip >= start && ip < end);
  return { program, stepped, isOwn };
}
