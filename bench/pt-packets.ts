/** Promise: packets of a trace at least twice as fast as libipt's packet decoder, in one thread. */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { median } from './measure.ts';
import { gzipTrace, ptPeer } from './pt-trace.ts';

const OURS = fileURLToPath(new URL('pt-packets-rounds.mjs', import.meta.url));
const PAIRS = 5;
const ROUNDS = 12;

export function benchPtPackets(): void {
  const found = ptPeer('pt-libipt.c');
  if ('missing' in found) {
    console.log(`pt packets: skipped, ${found.missing}`);
    return;
  }
  for (const name of ['base', 'cyc'] as const) comparePackets(name, found.peer);
}

function comparePackets(name: 'base' | 'cyc', peer: string): void {
  const trace = gzipTrace(name);
  const megabytes = statSync(trace).size / 1e6;
  const pairs = Array.from({ length: PAIRS }, () => ({
    ours: rounds(process.execPath, [OURS, trace, String(ROUNDS)]),
    peer: rounds(peer, [trace, String(ROUNDS)]),
  }));
  for (const { ours, peer } of pairs)
    if (ours.packets !== peer.packets)
      throw new Error(`${ours.packets} packets, libipt says ${peer.packets}`);
  const speed = (seconds: number) => `${(megabytes / seconds).toFixed(0)} MB/s`;
  console.log(`packets of pt/gzip ${name}: ${megabytes.toFixed(1)} MB, ${pairs[0]!.ours.packets} packets`);
  console.log(
    `  counterpoint ${speed(median(pairs.map(({ ours }) => ours.best)))}, the first time ${speed(median(pairs.map(({ ours }) => ours.first)))}`,
  );
  console.log(`  libipt       ${speed(median(pairs.map(({ peer }) => peer.best)))}`);
  const ratio = median(pairs.map(({ ours, peer }) => peer.best / ours.best));
  const firstRatio = median(pairs.map(({ ours, peer }) => peer.best / ours.first));
  console.log(
    `  ratio        ${ratio.toFixed(2)} times as fast (the first time ${firstRatio.toFixed(2)}); promised 2`,
  );
}

interface Rounds {
  /** Seconds of the first round, before anything is compiled, and of the best. */
  first: number;
  best: number;
  packets: number;
}

function rounds(command: string, words: string[]): Rounds {
  const result = spawnSync(command, words, { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`${command} failed: ${result.stderr}`);
  const lines = result.stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' ').map(Number));
  const seconds = lines.map(([time]) => time!);
  return { first: seconds[0]!, best: Math.min(...seconds), packets: lines[0]![1]! };
}
