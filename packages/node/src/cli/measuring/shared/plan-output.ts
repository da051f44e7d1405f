import { PERF_FLAG_FD_CLOEXEC, PERF_FLAG_PID_CGROUP, PERF_TYPE_HARDWARE } from '@counterpoint/core/abi';
import type { PerfEventAttr } from '@counterpoint/core/records';
import type { CountedEvent } from '../../../linux/count/counting/index.ts';
import {
  isInherited,
  KEEPER,
  needsKeptContext,
  openedSampleType,
  type PlannedEvent,
  PROBE_FILES,
  probeAsTracepoint,
} from '../../../linux/kernel/perf-events/index.ts';
import type { PlannedFormat } from '../../../linux/sample/record/index.ts';
import { attrFields } from '../../common/attr-fields.ts';
import { countOf, formatBytes, formatCount } from '../../common/human.ts';
import type { Output } from '../../common/output.ts';
import { type CounterAnswer, counterAnswers, counterText, unknownCountersText } from './plan-counters.ts';

/** PERF_COUNT_HW_BRANCH_INSTRUCTIONS. */
const BRANCH_INSTRUCTIONS = 4n;

/** Stands for the process of a command that was not started. */
export const COMMAND_PID = -2;

export interface PlannedOpens {
  /** Name of the event set; null outside of `stat`. */
  name: string | null;
  cgroup: string | null;
  events: readonly (PlannedEvent | CountedEvent)[];
  rows: readonly { event: number; task: number; cpu: number; leader: number | null }[];
}

export interface PlanRequest {
  verb: 'stat' | 'record';
  plans: readonly PlannedOpens[];
  /** What sampling formats would load. */
  formats?: readonly PlannedFormat[];
  asJson: boolean;
}

/** Every perf_event_open that would be made, in its order. */
export function printPlan({ verb, plans, formats = [], asJson }: PlanRequest, out: Output): void {
  const opens = plannedOpens(plans);
  if (asJson) {
    out.json({ type: 'open-plan', version: 1, verb, opens, ...(formats.length > 0 ? { formats } : {}) });
    return;
  }
  opens.forEach((open, at) => {
    const { event, pid, cgroup, cpu, groupLeader, attr, counter, foreign, probe } = open;
    const who = cgroup !== null ? `cgroup ${cgroup}` : pid === null ? "the command's process" : `pid ${pid}`;
    const group = groupLeader === null ? '' : `, in the group of ${groupLeader}`;
    out.line(`${at}: ${event}: ${who}, cpu ${cpu}${group}`);
    if (foreign !== null) out.line(`    cannot be opened here: an event of ${foreign}`);
    const set = Object.entries(attr).filter(([, value]) => value !== 0 && value !== '0' && value !== '0x0');
    out.line(`    ${set.map(([name, value]) => `${name}=${value}`).join(' ')}`);
    if (probe !== null) out.line(`    ${probeText(probe)}`);
    if (open.trace !== null) out.line(`    ${open.trace}`);
    const where = counterText(counter);
    if (where !== null) out.line(`    ${where}`);
  });
  const unknown = unknownCountersText(opens);
  if (unknown !== null) out.line(unknown);
  for (const format of formats) printFormat(format, out);
}

function probeText({ target, offset, definedIn }: NonNullable<PlannedOpen['probe']>): string {
  const place = `probe in ${target} at ${offset}`;
  return definedIn === null
    ? place
    : `${place}, defined in tracefs (${definedIn}); config is its number there`;
}

function printFormat({ name, programs, maps }: PlannedFormat, out: Output): void {
  out.line(`format ${name}: ${countOf(programs.length, 'program')}, ${countOf(maps.length, 'map')}`);
  for (const { name: program, type, on, instructions } of programs)
    out.line(`    program ${program} (${type}) on ${on}: ${countOf(instructions, 'instruction')}`);
  for (const { name: map, type, keySizeBytes, valueSizeBytes, maxEntries } of maps) {
    const size =
      type === 'ring-buffer'
        ? formatBytes(maxEntries)
        : `${formatCount(maxEntries)} ${maxEntries === 1 ? 'entry' : 'entries'}, key ${keySizeBytes} and value ${valueSizeBytes} bytes`;
    out.line(`    map ${map} (${type}): ${size}`);
  }
}

export interface PlannedOpen {
  event: string;
  set: string | null;
  /** Null is the process of the command, once there is one; -1 is everybody. */
  pid: number | null;
  cgroup: string | null;
  cpu: number;
  /** Which of the opens before this one leads its group. */
  groupLeader: number | null;
  /** As perf_event_open gets them. */
  flags: number;
  /** By the kernel's names; 64-bit fields are strings. */
  attr: Record<string, number | string>;
  /** Which hardware counters it would have, by what is known of the PMU. */
  counter: CounterAnswer;
  filter: string | null;
  /** Whose event it is, where this machine does not have it; then it is only to be looked at. */
  foreign: string | null;
  /** What the kernel makes of it beside samples; null: nothing. */
  trace: string | null;
  /**
   * Where a probe is. The attr points to `target`; or it is `definedIn` a file of tracefs while it is open,
   * and then `config` is the number that it gets there.
   */
  probe: { target: string; offset: string; definedIn: string | null } | null;
}

export function plannedOpens(plans: readonly PlannedOpens[]): PlannedOpen[] {
  const opens: PlannedOpen[] = [];
  const kept = new Set<number>();
  for (const { name, cgroup: ofAll, events, rows } of plans) {
    const counters = counterAnswers(events);
    const openOfRow: number[] = [];
    for (const { event: index, task, cpu, leader } of rows) {
      const event = events[index]!;
      const { probe = null } = event;
      const cgroup = ofAll ?? event.cgroup ?? null;
      const flags = PERF_FLAG_FD_CLOEXEC | (cgroup === null ? 0 : PERF_FLAG_PID_CGROUP);
      const pid = task === COMMAND_PID || cgroup !== null ? null : task;
      const inherits = isInherited(event.attr, task, flags);
      const isDefined = inherits || event.isDefined === true;
      const definedIn = probe !== null && isDefined ? PROBE_FILES[probe.kind] : null;
      if (probe !== null && inherits && needsKeptContext(probe) && !kept.has(task)) {
        kept.add(task);
        opens.push(plannedKeeper(name, pid));
      }
      const attr = { ...event.attr, sampleType: openedSampleType(event) };
      openOfRow.push(opens.length);
      opens.push({
        event: event.requestedName,
        set: name,
        pid,
        cgroup,
        cpu,
        groupLeader: leader === null ? null : openOfRow[leader]!,
        flags,
        attr: attrFields(definedIn === null ? attr : probeAsTracepoint(attr, 0)),
        counter: event.foreignPmu == null ? counters[index]! : NO_COUNTER,
        filter: event.filter ?? null,
        foreign: event.foreignPmu ?? null,
        trace: branchTrace(event.attr),
        probe:
          probe === null
            ? null
            : { target: probe.target, offset: `0x${probe.offset.toString(16)}`, definedIn },
      });
    }
  }
  return opens;
}

/**
 * Branches sampled one by one are a branch trace where the processor has BTS (arch/x86/events/intel/core.c,
 * intel_pmu_bts_config).
 */
function branchTrace({ type, config, flags, samplePeriodOrFreq }: PerfEventAttr): string | null {
  const isEach = flags.freq === 0 && samplePeriodOrFreq === 1n;
  if (type !== PERF_TYPE_HARDWARE || config !== BRANCH_INSTRUCTIONS || !isEach) return null;
  if (flags.excludeKernel === 0 || flags.preciseIp > 0)
    return 'an Intel processor refuses each single branch of the kernel, and precise ones: use branches:u';
  return 'on an Intel processor with BTS (bts in /proc/cpuinfo) the kernel makes a branch trace of it: a sample for each branch, from ip to addr (-d)';
}

/** The event that probes have beside them (`keepContext`). */
function plannedKeeper(set: string | null, pid: number | null): PlannedOpen {
  return {
    event: 'dummy:u',
    set,
    pid,
    cgroup: null,
    cpu: -1,
    groupLeader: null,
    flags: PERF_FLAG_FD_CLOEXEC,
    attr: attrFields(KEEPER),
    counter: NO_COUNTER,
    filter: null,
    foreign: null,
    trace: null,
    probe: null,
  };
}

/** Of an event of another machine, and of one that counts nothing. */
const NO_COUNTER: CounterAnswer = { kind: 'unknown', counters: [], share: null, reason: null, remedy: null };
