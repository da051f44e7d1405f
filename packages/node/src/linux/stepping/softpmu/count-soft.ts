import { statSync } from 'node:fs';
import { CounterpointError, optional } from '@counterpoint/core/base';
import {
  type ExitStatus,
  type LaunchOptions,
  launchHeld,
  listThreads,
  requireProcess,
  resolveProgram,
} from '../../kernel/target/index.ts';
import type { SoftWay } from './messages.ts';
import type { SoftCounts } from './soft-counts.ts';
import type { StopWay } from './stop-places.ts';
import { startTracer } from './tracer.ts';

export interface SoftRequest {
  /** Started and stepped from its first instruction on. */
  command?: readonly string[];
  /** Else these, from now on. */
  pids?: readonly number[];
  /** How: `step` is the default. */
  way?: SoftWay;
  /** Only calls of this function, and what they call: `NAME`, or `FILE:NAME`. Not with `fast`. */
  onFunction?: string | undefined;
  /** How threads stop at it. Default: the best way of this machine. */
  stopsBy?: StopWay | undefined;
  /** After this many instructions the targets go on by themselves. Not with `fast`. */
  stopAfter?: number | undefined;
  /** Standard input, output and error of the command; the user's own by default. */
  stdio?: LaunchOptions['stdio'];
  /** Ends counting. The targets go on. */
  signal?: AbortSignal;
  /** Everything is attached; `tracerPid` is the process that steps. */
  onStart?(tracerPid: number, commandPid: number | null): void;
}

export interface SoftResult {
  counts: SoftCounts;
  /** Instructions of `counts` that were executed in single steps; with the way 'step', all. */
  stepped: number;
  elapsedNs: bigint;
  /** How the command ended; null without one, or while it goes on. */
  exit: ExitStatus | null;
}

/** Bits of st_mode. */
const S_ISUID = 0o4000;
const S_ISGID = 0o2000;

/** Count what a command, or processes that run already, execute in user space: each instruction exactly. */
export async function countSoft({
  command = [],
  pids = [],
  way = 'step',
  onFunction,
  stopsBy,
  stopAfter,
  stdio,
  signal,
  onStart,
}: SoftRequest): Promise<SoftResult> {
  requireArchitecture();
  if (command.length > 0) refuseOtherRights(command[0]!);
  for (const pid of pids) requireProcess(pid);
  using held = command.length === 0 ? null : launchHeld(command, optional({ stdio }));
  const tids = held === null ? pids.flatMap(listThreads) : [held.pid];
  held?.waitUntilHeld();
  const tracer = await startTracer({ tids, fromExec: held !== null, way, onFunction, stopsBy, stopAfter });
  onStart?.(tracer.pid, held?.pid ?? null);
  const startNs = process.hrtime.bigint();
  const stop = () => tracer.stop();
  if (signal?.aborted === true) stop();
  signal?.addEventListener('abort', stop);
  held?.release();
  try {
    const { counts, stepped } = await tracer.done;
    const elapsedNs = process.hrtime.bigint() - startNs;
    return {
      counts,
      stepped,
      elapsedNs,
      exit: held === null || signal?.aborted === true ? null : await held.exited,
    };
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

export function requireArchitecture(): void {
  if (process.arch === 'x64') return;
  throw new CounterpointError(
    'ERR_ARCHITECTURE',
    `stepping programs works on x86-64 only so far, and this is ${process.arch}`,
    'Use the hardware counters: -e instructions:u',
  );
}

/** The kernel would run it without its rights, or with more than the one who traces it has. */
export function refuseOtherRights(name: string): void {
  const program = resolveProgram(name);
  const { mode } = statSync(program);
  if ((mode & (S_ISUID | S_ISGID)) === 0) return;
  throw new CounterpointError(
    'ERR_SETUID_PROGRAM',
    `'${program}' runs with the rights of another user or group, and such a program is not stepped`,
    'As root, count a copy of the program without these bits.',
  );
}
