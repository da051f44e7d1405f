import { PERF_TYPE_BREAKPOINT } from '@counterpoint/core/abi';
import type { PerfEventAttr } from '@counterpoint/core/records';
import { openPlannedEvent } from '../../kernel/perf-events/index.ts';
import { type Sys, SysError } from '../../kernel/sys/index.ts';
import type { CountedEvent } from '../requests/types.ts';

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

/**
 * The address of a breakpoint, where it does not lie at a multiple of its length: in the attr
 * it shares the place of config1.
 */
const breakpointAddress: Candidate = {
  field: 'bp_addr',
  value: (attr) => (bytesBeyondAlignment(attr) === 0n ? 0n : attr.config1),
  clear: (attr) => {
    attr.config1 -= bytesBeyondAlignment(attr);
  },
  why: 'the address of a breakpoint must be a multiple of its length (bp_len)',
};

function bytesBeyondAlignment({ type, config1, config2 }: PerfEventAttr): bigint {
  return type === PERF_TYPE_BREAKPOINT && config2 > 0n ? config1 % config2 : 0n;
}

const LEVELS = 'its PMU cannot tell privilege levels apart';

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
  flag('exclusive', 'exclusive', 'it cannot have exclusive use of the PMU'),
  {
    field: 'sample_period',
    value: ({ samplePeriodOrFreq }) => samplePeriodOrFreq,
    clear: (attr) => {
      attr.samplePeriodOrFreq = 0n;
    },
    why: 'its PMU raises no interrupt',
  },
  breakpointAddress,
  word('config4', 'its PMU does not use this field'),
  word('config3', 'its PMU does not use this field'),
  word('config2', 'its PMU does not use this field'),
  word('config1', 'its PMU does not use this field'),
  word('config', 'its PMU has no such event'),
];

/** What the kernel says of an event by itself. */
export type AloneAnswer =
  /** It takes it: then it was its company that was refused. */
  | { kind: 'taken' }
  /** `field` names what is at fault where one change would do; null where none does. */
  | { kind: 'refused'; code: string; field: string | null };

/**
 * Ask for an event outside of its group, and if that is refused, which field of the attr is at fault
 * (the kernel only says EINVAL): the one without which it takes the event. The flags that exclude
 * levels are tried together, too.
 */
export function askAlone(
  sys: Sys,
  event: CountedEvent,
  task: number,
  cpu: number,
  flags: number,
): AloneAnswer {
  const errorWithout = (clear: readonly Candidate[]): SysError | null => {
    const attr = { ...event.attr, flags: { ...event.attr.flags, disabled: 1, enableOnExec: 0 } };
    for (const candidate of clear) candidate.clear(attr);
    try {
      openPlannedEvent(sys, { ...event, attr }, task, cpu, null, { flags }).close();
      return null;
    } catch (error) {
      if (error instanceof SysError) return error;
      throw error;
    }
  };
  const isTaken = (clear: readonly Candidate[]) => errorWithout(clear) === null;
  const error = errorWithout([]);
  if (error === null) return { kind: 'taken' };
  const { code } = error;
  const present = CANDIDATES.filter(({ value }) => BigInt(value(event.attr)) !== 0n);
  const one = present.find((candidate) => isTaken([candidate]));
  if (one !== undefined) return { kind: 'refused', code, field: describe([one], event.attr) };
  const levels = present.filter(({ why }) => why === LEVELS);
  const field = levels.length > 1 && isTaken(levels) ? describe(levels, event.attr) : null;
  return { kind: 'refused', code, field };
}

function describe(candidates: readonly Candidate[], attr: PerfEventAttr): string {
  const fields = candidates.map(({ field, value }) => {
    const found = value(attr);
    return `${field}=${typeof found === 'bigint' ? `0x${found.toString(16)}` : found}`;
  });
  return `the kernel refuses ${fields.join(', ')}: ${candidates[0]!.why}`;
}
