/**
 * What the benchmarks of Intel PT share: the traces of a real gzip run, and the
 * peers that are compiled for it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TRACES = fileURLToPath(new URL('../../shared/corpus/pt/gzip/', import.meta.url));
export const BENCH_FOLDER: string = join(tmpdir(), 'counterpoint-bench');

/** A piece of a file as it was in memory; numbers as hexadecimal text. */
export interface CodeSegment {
  vaddr: string;
  size: string;
  offset: string;
  file: string;
}

/** Compile a peer of ours against libipt; its path, or null where that cannot be had. */
export function compilePeer(source: string): string | null {
  mkdirSync(BENCH_FOLDER, { recursive: true });
  const peer = join(BENCH_FOLDER, source.replace(/\.c$/, ''));
  const path = fileURLToPath(new URL(source, import.meta.url));
  return spawnSync('gcc', ['-O2', '-o', peer, path, '-lipt']).status === 0 ? peer : null;
}

/** The path of a compiled peer; with a reason where it or the traces are missing. */
export function ptPeer(source: string): { peer: string } | { missing: string } {
  if (!existsSync(TRACES)) return { missing: 'the corpus is not beside the repository' };
  const peer = compilePeer(source);
  return peer === null
    ? { missing: 'it needs gcc and libipt (Debian: apt-get install gcc libipt-dev)' }
    : { peer };
}

/** Why there are no traces, or null. */
export function ptTracesMissing(): string | null {
  return existsSync(TRACES) ? null : 'the corpus is not beside the repository';
}

/** The trace, unpacked once. */
export function gzipTrace(name: 'base' | 'cyc'): string {
  const trace = join(BENCH_FOLDER, `${name}.pt`);
  if (existsSync(trace)) return trace;
  mkdirSync(BENCH_FOLDER, { recursive: true });
  const script = `xz -dc "$1" > "$2.part" && mv "$2.part" "$2"`;
  const unpacked = spawnSync('sh', ['-c', script, 'sh', join(TRACES, `${name}.pt.xz`), trace]);
  if (unpacked.status !== 0) throw new Error('xz cannot unpack the trace (Debian: apt-get install xz-utils)');
  return trace;
}

/** The same trace `times` over, as of a longer run: it begins with a synchronization point. */
export function repeatedTrace(name: 'base' | 'cyc', times: number): string {
  const once = gzipTrace(name);
  const path = join(BENCH_FOLDER, `${name}-${times}.pt`);
  const bytes = readFileSync(once);
  writeFileSync(path, Buffer.concat(Array.from({ length: times }, () => bytes)));
  return path;
}

/** The code that the traces ran; null where this machine's files are other ones. */
export function gzipCode(): CodeSegment[] | null {
  const { segments, sha256 } = JSON.parse(readFileSync(join(TRACES, 'image.json'), 'utf8')) as {
    segments: CodeSegment[];
    sha256: Record<string, string>;
  };
  for (const [file, sum] of Object.entries(sha256)) {
    const { stdout } = spawnSync('sha256sum', [file], { encoding: 'utf8' });
    if (stdout?.split(' ')[0] !== sum) return null;
  }
  return segments;
}

export function gzipInstructions(name: 'base' | 'cyc'): number {
  return JSON.parse(readFileSync(join(TRACES, `${name}.json`), 'utf8')).instructions;
}
