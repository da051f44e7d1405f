/**
 * Promise: calls with their times at least three times as fast as `perf script --itrace=cr`, whole commands.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePerfData } from '@counterpoint/core/perfdata';
import { ptRecording } from '@counterpoint/trace/intel-pt';
import { compare } from './measure.ts';
import { BENCH_FOLDER, type CodeSegment, gzipCode, gzipTrace, ptPeer } from './pt-trace.ts';
import { COUNTERPOINT } from './recording.ts';

const PAIRS = 3;
// The clocks of the traces, as their JSON has them; one tick of the TSC in nanoseconds
// with 30 bits behind the point.
const CLOCK = ['--mtc-freq', '3', '--nom-freq', '21', '--cpuid-0x15.eax', '1', '--cpuid-0x15.ebx', '84'];
const ENCODINGS = { base: {}, cyc: { tsc: true, mtc: true, cyc: true } };

export function benchPtCalls(): void {
  const found = ptPeer('pt-libipt.c');
  const code = 'peer' in found ? gzipCode() : null;
  if (code === null) {
    const why = 'missing' in found ? found.missing : 'gzip and libc here are not the ones of the trace';
    console.log(`pt calls: skipped, ${why}`);
    return;
  }
  for (const name of ['base', 'cyc'] as const) {
    const trace = gzipTrace(name);
    const elf = placedFiles(code).flatMap(({ file, vaddr }) => ['--elf', `${file}:0x${vaddr}`]);
    const ours = [COUNTERPOINT, 'pt', 'calls', ...elf, ...(name === 'cyc' ? CLOCK : []), trace];
    const peer = ['perf', 'script', '-i', recordingOf(name, trace, code), '--itrace=cr', '--ns'];
    const said = linesOf(ours);
    const peerSaid = linesOf(peer);
    // Ours has a line for the call and one for the return, but one for both where nothing was called inside.
    if (said < 500_000 || peerSaid < 1_000_000) throw new Error(`${said} lines, perf has ${peerSaid}`);
    const { ours: our, peer: their, wallRatio, cpuRatio } = compare(`pt calls ${name}`, ours, peer, PAIRS);
    const megabytes = statSync(trace).size / 1e6;
    console.log(
      `calls of pt/gzip ${name}: ${megabytes.toFixed(1)} MB, ${peerSaid} calls and returns, whole commands`,
    );
    for (const [who, { wallSeconds, cpuSeconds, peakMiB }] of [
      ['counterpoint', our],
      ['perf', their],
    ] as const)
      console.log(
        `  ${who.padEnd(13)}${wallSeconds.toFixed(2)} s (${cpuSeconds.toFixed(2)} s CPU), ` +
          `${(megabytes / wallSeconds).toFixed(1)} MB/s, ${peakMiB.toFixed(0)} MiB`,
      );
    console.log(
      `  ratio        ${(1 / wallRatio).toFixed(1)} times as fast (CPU time ${(1 / cpuRatio).toFixed(1)}); promised 3`,
    );
  }
}

/** The trace as a recording that perf reads. */
function recordingOf(name: 'base' | 'cyc', trace: string, code: readonly CodeSegment[]): string {
  const path = join(BENCH_FOLDER, `${name}.data`);
  const mappings = code.map(({ file, vaddr, size, offset }) => ({
    path: file,
    address: BigInt(`0x${vaddr}`),
    sizeBytes: Number.parseInt(size, 16),
    fileOffset: Number.parseInt(offset, 16),
  }));
  const bytes = new Uint8Array(readFileSync(trace));
  const encoding = ENCODINGS[name];
  writeFileSync(
    path,
    writePerfData(ptRecording({ pid: 4242, comm: 'gzip', mappings, trace: bytes, encoding })),
  );
  return path;
}

/** Each file once, where its first segment is. */
function placedFiles(code: readonly CodeSegment[]): CodeSegment[] {
  return code.filter(({ offset }) => Number.parseInt(offset, 16) === 0);
}

function linesOf(command: readonly string[]): number {
  const { stdout, status } = spawnSync('sh', ['-c', '"$@" 2>/dev/null | wc -l', 'sh', ...command], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${command.join(' ')} failed`);
  return Number(stdout);
}
