/** Formats over events of this process, without a recording around them. */
import { getPriority } from 'node:os';
import { parseEvents } from '@counterpoint/core/events';
import { systemEventLookup } from '../linux/kernel/local-pmus/index.ts';
import {
  openSampledEvents,
  planEvents,
  planOpen,
  type SampledEvents,
} from '../linux/kernel/perf-events/index.ts';
import { realSys } from '../linux/kernel/sys/index.ts';
import { onlineCpus } from '../linux/kernel/target/index.ts';
import { checkFormatOptions, FormatRun, type SamplingFormat } from '../linux/sample/formats/index.ts';

export interface OwnRun extends Disposable {
  readonly run: FormatRun;
  readonly sampled: SampledEvents;
}

export interface OwnRunOptions {
  readonly period?: bigint;
  readonly task?: number;
  /** Its handler leaves records to the kernel. */
  readonly keepsRecords?: boolean;
  /** Of the format; others have their defaults. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/** A format over one event of this thread, or with `task` -1 of all that runs. */
export function runOwn(
  format: SamplingFormat,
  event: string,
  { period = 1n, task = process.pid, keepsRecords = false, options = {} }: OwnRunOptions = {},
): OwnRun {
  const cpus = onlineCpus();
  const planned = planEvents(parseEvents(event, systemEventLookup()), {
    frequency: 1000,
    period,
    isRateGiven: true,
    callchains: 'none',
    inherit: false,
    wholeCpus: task === -1,
    enableOnExec: false,
    startsLater: false,
    sidebandApart: true,
    levels: 'all',
  });
  for (const one of planned) one.hasNoRing = !one.isSideband && !keepsRecords;
  const sampled = openSampledEvents(realSys, planOpen(planned, { tasks: [task], cpus }, 8, 8), { notes: [] });
  try {
    const run = FormatRun.open(realSys, {
      format,
      options: checkFormatOptions(format.name, format.options, options),
      events: sampled.events.filter(({ isSideband }) => !isSideband),
      target: {
        kind: task === -1 ? 'cpus' : 'threads',
        ids: task === -1 ? [] : [task],
        cpus,
        inherits: false,
      },
    });
    const close = () => {
      run.close();
      sampled.close();
    };
    return { run, sampled, [Symbol.dispose]: close };
  } catch (error) {
    sampled.close();
    throw error;
  }
}

/** A tracepoint that nobody else hits as a rule. */
export const RARE_TRACEPOINT = 'syscalls:sys_enter_getpriority';

/** Hit it, once for each number; the system call has it as `who`. */
export function hitRareTracepoint(numbers: readonly number[]): void {
  for (const who of numbers)
    try {
      getPriority(who);
    } catch {
      // There is no such process, and the tracepoint was hit.
    }
}
