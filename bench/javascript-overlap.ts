/**
 * Promise: own times of JavaScript functions are those of `node --cpu-prof`, as nearly as two runs of it
 * agree with each other. The overlap of two profiles is the sum, over functions (name, file, line, column),
 * of the smaller of the two shares of the JavaScript time.
 *
 *     npm run programs; npm run nodes; npm run bench overlap
 *     NODES=22 PROGRAMS=tsc,fastify DIFFERENCES=10 npm run bench overlap
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_VERSIONS, nodeProgram } from '../scripts/other-nodes.ts';
import { PROGRAMS_FOLDER } from '../scripts/other-programs.ts';
import {
  type OwnTimes,
  overlapOf,
  ownTimesByCounterpoint,
  ownTimesByCpuProf,
} from './javascript-own-times.ts';
import { OVERLAP_PROGRAMS, type OverlapProgram } from './javascript-programs.ts';

const VERSIONS = (process.env['NODES'] ?? '20,22,24').split(',');
const WANTED = process.env['PROGRAMS']?.split(',');
const DIFFERENCES = Number(process.env['DIFFERENCES'] ?? 0);
/** What two runs of `--cpu-prof` reach, times this. */
const PROMISED = 0.9;

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

function printDifferences(ours: OwnTimes, one: OwnTimes, other: OwnTimes): void {
  const names = new Set([...ours.shares.keys(), ...one.shares.keys()]);
  const rows = [...names].map((name) => {
    const share = (times: OwnTimes) => times.shares.get(name) ?? 0;
    return { name, ours: share(ours), one: share(one), other: share(other) };
  });
  const off = (row: (typeof rows)[number]) => Math.abs(row.ours - (row.one + row.other) / 2);
  for (const row of rows.sort((a, b) => off(b) - off(a)).slice(0, DIFFERENCES))
    console.log(
      `    ${percent(row.ours).padStart(7)} | ${percent(row.one).padStart(7)} ${percent(row.other).padStart(7)}  ${row.name}`,
    );
}

async function benchProgram(program: OverlapProgram, node: string, folder: string): Promise<string> {
  const one = await ownTimesByCpuProf(program, node, folder);
  const ours = await ownTimesByCounterpoint(program, node, folder);
  const other = await ownTimesByCpuProf(program, node, folder);
  const peers = overlapOf(one, other);
  const own = (overlapOf(ours, one) + overlapOf(ours, other)) / 2;
  if (DIFFERENCES > 0) printDifferences(ours, one, other);
  const mark = own >= PROMISED * peers ? '' : ' !';
  return `${percent(own)} of ${percent(peers)} = ${(own / peers).toFixed(2)}${mark} (${ours.samples}, ${one.samples}, ${other.samples} samples)`;
}

export async function benchOverlap(): Promise<void> {
  if (!existsSync(join(PROGRAMS_FOLDER, 'node_modules'))) throw new Error('npm run programs comes first');
  const folder = mkdtempSync(join(tmpdir(), 'counterpoint-bench-overlap-'));
  try {
    for (const program of OVERLAP_PROGRAMS.filter(({ name }) => WANTED?.includes(name) ?? true))
      for (const version of NODE_VERSIONS.filter((one) => VERSIONS.includes(one.split('.')[0]!))) {
        const line = await benchProgram(program, nodeProgram(version), folder).catch(String);
        console.log(`${program.name.padEnd(16)} Node ${version.padEnd(8)} ${line}`);
      }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
