import { BPF_PERF_EVENT } from '@counterpoint/core/abi';
import { CounterpointError, checkArgument } from '@counterpoint/core/base';
import { type Fd, type Sys, SysError } from '../sys/index.ts';
import { checkDescriptor, checkLoaded, checkText } from './checks.ts';
import type { LoadedProgram } from './loader.ts';
import { explainRefusal } from './rights.ts';

/**
 * A program in its place. `close` takes it out again, where the kernel can; closing the event always does.
 */
export interface BpfAttachment extends Disposable {
  /**
   * `link`: taken out by `close`, and until then the event stays open whoever closes it. `event`: before
   * Linux 5.15, taken out with the event. `raw-tracepoint`, `tracing`: taken out by `close`.
   */
  readonly kind: 'link' | 'event' | 'raw-tracepoint' | 'tracing';
  /** Takes the program off. Closing twice does nothing. */
  close(): void;
}

/**
 * Run a program at each overflow of a perf event, or at each hit of a tracepoint that the event is for.
 *
 * What a `perf-event` program returns decides about the kernel's own record of that overflow: 0 drops it (no
 * record, nobody is woken, and PERF_EVENT_IOC_REFRESH does not count it), another value keeps it. Children of
 * an inherited event run it, too. An event has room for one program; two programs need two events.
 *
 * A `tracepoint` program hangs on the tracepoint, not on the event: it runs for every process on every CPU
 * from now on, whether the event is enabled or not. And where one of the programs on a tracepoint returns 0,
 * no perf event on it counts or records that hit, not even another user's: return 1 unless that is wanted.
 *
 * `cookie` is what the helper get_attach_cookie tells the program: with it one program
 * serves many events and knows which.
 */
export function attachToEvent(
  sys: Sys,
  program: LoadedProgram,
  event: Fd,
  cookie: bigint | null = null,
): BpfAttachment {
  checkLoaded('attachToEvent()', program);
  checkDescriptor('attachToEvent()', 'the event', event);
  const isCookie = cookie === null || typeof cookie === 'bigint';
  checkArgument(isCookie, 'attachToEvent()', 'the cookie', cookie, 'a bigint or null');
  try {
    return attachmentOf('link', sys.bpfLinkCreate(program.fd, event, BPF_PERF_EVENT, cookie ?? 0n));
  } catch (error) {
    // EINVAL: a kernel before 5.15 has no links for perf events, or the program does not fit the
    // event. The older way tells.
    if (!(error instanceof SysError) || error.code !== 'EINVAL' || cookie !== null)
      throw explainAttachment(sys, program, error);
  }
  try {
    sys.setBpf(event, program.fd);
  } catch (error) {
    throw explainAttachment(sys, program, error);
  }
  const nothing = () => {};
  return { kind: 'event', close: nothing, [Symbol.dispose]: nothing };
}

/**
 * Run a program at each hit of a tracepoint, with its raw arguments: `sched_switch`.
 * It cannot disturb other users.
 */
export function attachToRawTracepoint(sys: Sys, program: LoadedProgram, tracepoint: string): BpfAttachment {
  checkLoaded('attachToRawTracepoint()', program);
  checkText('attachToRawTracepoint()', 'the tracepoint', tracepoint);
  try {
    return attachmentOf('raw-tracepoint', sys.bpfRawTracepointOpen(tracepoint, program.fd));
  } catch (error) {
    if (error instanceof SysError && error.code === 'ENOENT') {
      throw new CounterpointError(
        'ERR_NO_TRACEPOINT',
        `there is no tracepoint "${tracepoint}" for program "${program.program.name}"`,
        'Name a raw tracepoint without its subsystem: sched_switch.',
      );
    }
    throw explainAttachment(sys, program, error);
  }
}

/** Run a `tracing` program where it says itself, in every process. */
export function attachTracing(sys: Sys, program: LoadedProgram): BpfAttachment {
  try {
    return attachmentOf('tracing', sys.bpfRawTracepointOpen('', program.fd));
  } catch (error) {
    throw explainAttachment(sys, program, error);
  }
}

function attachmentOf(kind: 'link' | 'raw-tracepoint' | 'tracing', fd: Fd): BpfAttachment {
  const close = () => fd.close();
  return { kind, close, [Symbol.dispose]: close };
}

function explainAttachment(sys: Sys, { program }: LoadedProgram, error: unknown): unknown {
  const what = `attaching program "${program.name}" (${program.type})`;
  if (!(error instanceof SysError)) return error;
  const reason = REASONS[error.code];
  if (reason === undefined) return explainRefusal(sys, what, error);
  const [why, remedy] = reason;
  const explained = new CounterpointError(
    'ERR_BPF_ATTACH',
    `${what} is refused: ${why} (${error.code})`,
    remedy,
  );
  explained.cause = error;
  return explained;
}

const REASONS: Readonly<Record<string, readonly [why: string, remedy: string]>> = {
  EEXIST: [
    'the event already has a program, or this program is already on that tracepoint',
    'Open another event for it: an event takes one program, and a tracepoint takes the same program only once.',
  ],
  EINVAL: [
    'this type of program does not fit this event, or this kernel does not support it',
    'Clocks, counters and breakpoints take perf-event programs, tracepoints take tracepoint programs, probes take kprobe programs.',
  ],
  E2BIG: ['64 programs are already on that tracepoint', 'Use a raw tracepoint.'],
};
