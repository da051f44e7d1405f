import type { PerfEventAttr } from '@counterpoint/core/records';
import { openPlannedEvent } from '../session/index.ts';
import { type Sys, SysError } from '../sys/index.ts';
import type { CountedEvent } from './types.ts';

interface Candidate {
  /** The kernel's name of the field. */
  field: string;
  value(attr: PerfEventAttr): bigint | number;
  clear(attr: PerfEventAttr): void;
  why: string;
}

type Flag = keyof PerfEventAttr['flags'];

function flag(field: string, name: Flag, why: string): Candidate {
  return {
    field,
    value: ({ flags }) => flags[name],
    clear: ({ flags }) => {
      flags[name] = 0;
    },
    why,
  };
}

function word(field: 'config' | 'config1' | 'config2' | 'config3' | 'config4', why: string): Candidate {
  return {
    field,
    value: (attr) => attr[field],
    clear: (attr) => {
      attr[field] = 0n;
    },
    why,
  };
}

const LEVELS = 'its PMU cannot tell one level from another';

/** What is most likely first; the code of the event last, because another code is another event. */
const CANDIDATES: readonly Candidate[] = [
  flag('precise_ip', 'preciseIp', 'its PMU is not that precise'),
  flag('exclude_user', 'excludeUser', LEVELS),
  flag('exclude_kernel', 'excludeKernel', LEVELS),
  flag('exclude_hv', 'excludeHv', LEVELS),
  flag('exclude_idle', 'excludeIdle', LEVELS),
  flag('exclude_host', 'excludeHost', LEVELS),
  flag('exclude_guest', 'excludeGuest', LEVELS),
  flag('inherit', 'inherit', 'it cannot follow children'),
  flag('pinned', 'pinned', 'it cannot be pinned'),
  flag('exclusive', 'exclusive', 'it cannot have the PMU for itself'),
  {
    field: 'sample_period',
    value: ({ samplePeriodOrFreq }) => samplePeriodOrFreq,
    clear: (attr) => {
      attr.samplePeriodOrFreq = 0n;
    },
    why: 'its PMU raises no interrupt',
  },
  word('config4', 'it means nothing to its PMU'),
  word('config3', 'it means nothing to its PMU'),
  word('config2', 'it means nothing to its PMU'),
  word('config1', 'it means nothing to its PMU'),
  word('config', 'its PMU has no such event'),
];

/**
 * Which field of the attr the kernel refuses (it only says EINVAL): the one without which it takes the event, alone and
 * outside its group. The flags that exclude levels are tried together, too. Null where no single change helps.
 */
export function refusedField(
  sys: Sys,
  event: CountedEvent,
  task: number,
  cpu: number,
  flags: number,
): string | null {
  const isTaken = (clear: readonly Candidate[]) => {
    const attr = { ...event.attr, flags: { ...event.attr.flags, disabled: 1, enableOnExec: 0 } };
    for (const candidate of clear) candidate.clear(attr);
    try {
      openPlannedEvent(sys, { ...event, attr }, task, cpu, null, flags).close();
      return true;
    } catch (error) {
      if (error instanceof SysError) return false;
      throw error;
    }
  };
  // Taken as it is: then it was its group that was refused.
  if (isTaken([])) return null;
  const present = CANDIDATES.filter(({ value }) => BigInt(value(event.attr)) !== 0n);
  const one = present.find((candidate) => isTaken([candidate]));
  if (one !== undefined) return describe([one], event.attr);
  const levels = present.filter(({ why }) => why === LEVELS);
  return levels.length > 1 && isTaken(levels) ? describe(levels, event.attr) : null;
}

function describe(candidates: readonly Candidate[], attr: PerfEventAttr): string {
  const fields = candidates.map(({ field, value }) => {
    const found = value(attr);
    return `${field}=${typeof found === 'bigint' ? `0x${found.toString(16)}` : found}`;
  });
  return `the kernel refuses ${fields.join(', ')}: ${candidates[0]!.why}`;
}
