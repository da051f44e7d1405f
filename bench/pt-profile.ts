/**
 * Promise: the exact profile of a trace at least five times as fast as libipt's block
 * decoder walks it; ten is the goal.
 */
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compare, median, run } from './measure.ts';
import { gzipCode, gzipInstructions, ptPeer, repeatedTrace } from './pt-trace.ts';
import { COUNTERPOINT } from './recording.ts';

const LIBRARY = fileURLToPath(new URL('pt-profile-library.mjs', import.meta.url));
/**
 * Promise: the instruction stream at 10 million addresses a second at least; `--hash`
 * is a second pass that reads it.
 */
const PROMISED_ADDRESSES = 10e6;

/** Seconds of each time, without Node's start: what a program that is running already waits for. */
function libraryRounds(trace: string, raw: readonly string[], expected: string): number[] {
  const { stdout } = spawnSync(process.execPath, [LIBRARY, '6', trace, ...raw], { encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .map((line) => {
      const [seconds, instructions] = line.split(' ');
      if (instructions !== expected) throw new Error(`${instructions} instructions, not ${expected}`);
      return Number(seconds);
    });
}

export function benchPtProfile(): void {
  const found = ptPeer('pt-libipt-blocks.c');
  const code = 'peer' in found ? gzipCode() : null;
  if ('missing' in found || code === null) {
    const why = 'missing' in found ? found.missing : 'gzip and libc here are not the ones of the trace';
    console.log(`pt profile: skipped, ${why}`);
    return;
  }
  const rows = [
    { name: 'base', times: 1, pairs: 5 },
    { name: 'cyc', times: 1, pairs: 5 },
    // Start and warming up are most of the short runs.
    { name: 'base', times: 8, pairs: 1 },
  ] as const;
  for (const { name, times, pairs } of rows) {
    const trace = repeatedTrace(name, times);
    const raw = code.flatMap(({ file, offset, size, vaddr }) => {
      const end = (Number.parseInt(offset, 16) + Number.parseInt(size, 16)).toString(16);
      return ['--raw', `${file}:0x${offset}-0x${end}:0x${vaddr}`];
    });
    const ours = [COUNTERPOINT, 'pt', 'profile', '--json', ...raw, trace];
    const sections = code.map(({ file, offset, size, vaddr }) => `${file}:${offset}:${size}:${vaddr}`);
    const peer = [found.peer, trace, ...sections];
    const expected = String(gzipInstructions(name) * times);
    const said = JSON.parse(spawnSync(ours[0]!, ours.slice(1), { encoding: 'utf8' }).stdout).instructions;
    const peerSaid = spawnSync(peer[0]!, peer.slice(1), { encoding: 'utf8' }).stdout.split(' ')[0];
    if (said !== expected || peerSaid !== expected)
      throw new Error(`${said} instructions, libipt says ${peerSaid}, and ${expected} were executed`);
    if (times === 1) {
      const { wallSeconds } = run([...ours, '--hash']);
      console.log(
        `instruction stream of pt/gzip ${name}: ${(Number(expected) / wallSeconds / 1e6).toFixed(0)} million addresses a second, ` +
          `with Node's start and a profile; promised ${PROMISED_ADDRESSES / 1e6}`,
      );
    }
    const { ours: our, peer: their, wallRatio, cpuRatio } = compare(`pt profile ${name}`, ours, peer, pairs);
    const megabytes = statSync(trace).size / 1e6;
    const line = (who: string, { wallSeconds, cpuSeconds, peakMiB }: typeof our) =>
      console.log(
        `  ${who.padEnd(13)}${wallSeconds.toFixed(2)} s (${cpuSeconds.toFixed(2)} s CPU), ` +
          `${(megabytes / wallSeconds).toFixed(1)} MB/s, ${peakMiB.toFixed(0)} MiB`,
      );
    console.log(
      `exact profile of pt/gzip ${name}${times === 1 ? '' : `, ${times} times over`}: ${megabytes.toFixed(1)} MB, ${expected} instructions, whole commands`,
    );
    line('counterpoint', our);
    line('libipt', their);
    if (times === 1) {
      const [first, ...later] = libraryRounds(
        trace,
        raw.filter((word) => word !== '--raw'),
        expected,
      );
      console.log(
        `  as a library ${first!.toFixed(2)} s the first time in a process, ${(their.wallSeconds / first!).toFixed(1)} times as fast; ` +
          `then ${median(later).toFixed(2)} s, ${(their.wallSeconds / median(later)).toFixed(1)} times`,
      );
    }
    console.log(
      `  ratio        ${(1 / wallRatio).toFixed(1)} times as fast (CPU time ${(1 / cpuRatio).toFixed(1)}); promised 5, the goal 10`,
    );
  }
}
