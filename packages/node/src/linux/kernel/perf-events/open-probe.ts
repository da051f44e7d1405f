import { PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { Probe } from '@counterpoint/core/events';
import type { PerfEventAttr } from '@counterpoint/core/records';
import { type Fd, pinText, type Sys, SysError } from '../sys/index.ts';
import { keepContext } from './kept-context.ts';
import { addNote, type Note } from './notes.ts';
import { type HeldProbe, holdProbe } from './probe-definitions.ts';

/** What is the same for each way. */
export interface ProbeOpening {
  sys: Sys;
  task: number;
  /** Whether threads and children of the task get the event, too. */
  isInherited: boolean;
  /** It is to be defined, whoever inherits it. */
  isDefined: boolean;
  /** perf_event_open of an attr, with everything else that was asked for. */
  open(attr: PerfEventAttr): Fd;
  notes: Note[];
}

/** One event of a probe. */
export function openProbe(probe: Probe, attr: PerfEventAttr, opening: ProbeOpening): Fd {
  const { isInherited, isDefined } = opening;
  return isInherited || isDefined ? openDefined(probe, attr, opening) : openByText(probe, attr, opening);
}

/**
 * By the kernel's probe PMU, whose attr points to a text: right for what nobody inherits. The
 * kernel copies it while it opens.
 */
function openByText({ target }: Probe, attr: PerfEventAttr, { open }: ProbeOpening): Fd {
  const text = pinText(target);
  return open({ ...attr, config1: text.address });
}

/** As a tracepoint that is defined for it, and as long as the descriptor is open. */
function openDefined(probe: Probe, attr: PerfEventAttr, opening: ProbeOpening): Fd {
  const { id, release } = define(probe, attr, opening);
  const held = [release];
  const releaseAll = () => {
    for (const each of held) each();
  };
  try {
    if (opening.isInherited && needsKeptContext(probe)) {
      const keeper = keepContext(opening.sys, opening.task);
      if (keeper === null) addNote(opening.notes, CHILDREN_MISSED);
      else held.push(keeper.release);
    }
    const fd = opening.open(probeAsTracepoint(attr, id));
    fd.afterClose(releaseAll);
    return fd;
  } catch (error) {
    releaseAll();
    throw error;
  }
}

/** Breakpoints in the kernel's code are there for everybody. */
export function needsKeptContext({ kind }: Probe): boolean {
  return kind === 'uprobe';
}

const CHILDREN_MISSED: Note = {
  kind: 'probe-children',
  text: 'this kernel may miss calls of the probe in children and threads (Linux 6.13 does not). To miss none, watch whole CPUs (-a)',
};

function define(probe: Probe, attr: PerfEventAttr, opening: ProbeOpening): HeldProbe {
  try {
    return holdProbe(opening.sys, probe);
  } catch (error) {
    if (!(error instanceof SysError)) throw error;
    // Who may not have the probe at all is told so first: this throws.
    const flags = { ...attr.flags, inherit: 0, disabled: 1, enableOnExec: 0 };
    openByText(probe, { ...attr, flags }, opening).close();
    throw undefinedProbe(error);
  }
}

/** What is opened in the place of an event of a probe PMU. */
export function probeAsTracepoint(attr: PerfEventAttr, id: number): PerfEventAttr {
  return { ...attr, type: PERF_TYPE_TRACEPOINT, config: BigInt(id), config1: 0n, config2: 0n };
}

const TRACEFS_REASONS: Readonly<Record<string, readonly [why: string, remedy: string]>> = {
  ENOENT: [
    'it is not mounted, and this process may not mount it',
    'Mount it: sudo mount -t tracefs tracefs /sys/kernel/tracing',
  ],
  EROFS: ['it is mounted read-only', 'Remount it: sudo mount -o remount,rw /sys/kernel/tracing'],
  EACCES: ['only root may write to it', 'Run it as root.'],
  EPERM: ['the kernel does not allow it (EPERM, for example in lockdown)', 'Run it as root.'],
};

function undefinedProbe(error: SysError): CounterpointError {
  const [why, remedy] = TRACEFS_REASONS[error.code] ?? [error.message, ''];
  const refused = new CounterpointError(
    'ERR_PROBE_DEFINITION',
    `a probe that threads and children inherit must be defined in tracefs: ${why}`,
    `${remedy}\nOr watch only the threads that run now, with -i (inherit: false), or whole CPUs with -a.`.trim(),
  );
  refused.cause = error;
  return refused;
}
