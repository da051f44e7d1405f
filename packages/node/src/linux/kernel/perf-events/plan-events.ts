import {
  PERF_COUNT_HW_CPU_CYCLES,
  PERF_COUNT_SW_DUMMY,
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { branchFilterBits, CALL_STACK_BITS } from '@counterpoint/core/branches';
import type { ParsedEvent } from '@counterpoint/core/events';
import { makeAttr, type PerfEventAttr } from '@counterpoint/core/records';
import { parseCpuList } from '../target/index.ts';
import { beyondAttr } from './open-event.ts';
import type { PlannedEvent } from './planned-event.ts';
import { ALL_REGISTERS, addParts, addSideband, type RecordedParts } from './sample-parts.ts';

/** How events sample, for all of them where they do not say otherwise themselves. */
export interface SamplingOptions {
  /** In Hz; used where `period` is absent. */
  frequency: number;
  period?: bigint;
  /**
   * Whether `frequency` or `period` were asked for: then they also hold for tracepoints,
   * which else record each hit.
   */
  isRateGiven: boolean;
  callchains: 'none' | 'both' | 'user' | 'kernel';
  /**
   * What the kernel takes as the most addresses of a call chain, where that is another
   * number than readers expect.
   */
  maxStack?: number;
  /**
   * Samples with a call chain also have the word at the user's stack pointer: in a function that builds no
   * frame it is the return address, which a chain by frame pointers lacks.
   */
  userStackTop?: boolean;
  /** Branches that samples have: `attr.branch_sample_type`. */
  branchBits?: number;
  /** The user's part of call chains is made of branch records. */
  lbrCallStacks?: boolean;
  /**
   * This many bytes of the user's stack are copied, and the user's part of the chain
   * is left to who unwinds them.
   */
  userStackBytes?: number;
  /** What samples carry beside the usual, and what is recorded beside them. */
  parts?: RecordedParts;
  inherit: boolean;
  /** Whole CPUs are watched, so a sample must say on which one it was taken. */
  wholeCpus: boolean;
  /** The command's exec enables the events. */
  enableOnExec: boolean;
  /** Events start later than the target; what processes do until then must be known nevertheless. */
  startsLater: boolean;
  levels: 'all' | 'user' | 'kernel';
  /** Records of processes and maps come from an event of their own in any case. */
  sidebandApart?: boolean;
  /**
   * One of the events makes a hardware trace, which others may have in their samples, pause, or write into.
   */
  hasTrace?: boolean;
  /**
   * For rings that overwrite their oldest records (`write_backward`), which the events are given later.
   * Records of processes and maps come from an event of their own, whose ring is read all the time.
   */
  history?: boolean;
  clockId?: number;
  /** Record when threads leave their CPU, and when they come back. */
  switches?: boolean;
  /** When the kernel wakes who reads the rings; undefined: when one is half full. */
  wakeup?: { events: number } | { bytes: number };
  /** No samples, only the records beside them. */
  withoutSamples?: boolean;
  /** Each task that ends tells its own counts. */
  taskCounts?: boolean;
  /** No records of BPF programs. */
  withoutBpf?: boolean;
}

/** `attr.precise_ip`: must have no skid. */
const MOST_PRECISE = 3;
const WORD_BYTES = 8;
/** A sample has at most 64 KiB: the kernel takes no larger copy of a stack. */
export const MOST_STACK_BYTES = 65_528;
/** perf's. */
export const DEFAULT_STACK_BYTES = 8192;

/** The event that is taken where the user names none: cycles, as precisely as the CPU can. */
export function defaultEvent(): ParsedEvent {
  const attr = makeAttr({ type: PERF_TYPE_HARDWARE, config: BigInt(PERF_COUNT_HW_CPU_CYCLES) });
  attr.flags.excludeGuest = 1;
  const options = { mostPrecise: true };
  return { name: 'cycles:P', attr, group: null, isLeader: true, periodGiven: false, options };
}

/**
 * Attrs as `perf record` sets them for the same request (perf 6.1; read with `perf evlist
 * -v`). The first event, or a dummy where events start later or whole CPUs are watched, also
 * reports processes, names and maps.
 */
export function planEvents(parsed: readonly ParsedEvent[], options: SamplingOptions): PlannedEvent[] {
  const leaders = new Map<number, number>();
  const planned = parsed.map((event, index): PlannedEvent => {
    refuseUnsupported(event, options);
    if (event.group !== null && event.isLeader) leaders.set(event.group, index);
    const leader = event.group === null || event.isLeader ? null : (leaders.get(event.group) ?? null);
    const group = leader === null ? event : parsed[leader]!;
    const attr = samplingAttr(event, group, options);
    return {
      requestedName: event.name,
      name: event.name,
      attr,
      leader,
      cpus: event.cpus === undefined ? null : parseCpuList(event.cpus),
      mostPrecise: event.options.mostPrecise ?? false,
      tracepoint: event.tracepoint ?? null,
      ...beyondAttr(event),
      changes: [],
      isSideband: false,
      // Whoever opens them gives them a ring that overwrites.
      ...(options.history === true ? { hasNoRing: true } : {}),
    };
  });
  const wantsDummy =
    options.startsLater || options.wholeCpus || options.sidebandApart === true || options.history === true;
  if (wantsDummy) planned.push(sidebandEvent(options));
  const tracking = planned[wantsDummy ? planned.length - 1 : 0]!.attr;
  track(tracking, planned.some(copiesStacks));
  if (options.withoutBpf === true) tracking.flags.bpfEvent = 0;
  addSideband(tracking, options.parts ?? {});
  if (options.switches === true) tracking.flags.contextSwitch = 1;
  if (planned.length > 1) for (const { attr } of planned) attr.sampleType |= BigInt(PERF_SAMPLE_IDENTIFIER);
  return planned;
}

const UNSUPPORTED = [
  ['overwrite', 'the overwriting ring (overwrite)'],
  ['auxOutput', 'aux-output'],
  ['auxSampleSizeBytes', 'aux-sample-size'],
  ['auxAction', 'aux-action'],
  ['bpfCounter', 'the modifier b'],
  ['driverConfig', 'driver terms (@)'],
] as const;

/** They are about a trace: whoever plans that sets them. */
const OF_TRACES: ReadonlySet<string> = new Set([
  'auxOutput',
  'auxSampleSizeBytes',
  'auxAction',
  'driverConfig',
]);

function refuseUnsupported(event: ParsedEvent, { history = false, hasTrace = false }: SamplingOptions): void {
  const refuse = (what: string, remedy: string) => {
    throw new CounterpointError(
      'ERR_EVENT_OPTION',
      `record does not support ${what}, which ${event.name} requests`,
      remedy,
    );
  };
  if (event.tool !== undefined)
    refuse('sampling of a time that only stat measures', 'Sample cpu-clock or task-clock.');
  for (const [option, what] of UNSUPPORTED) {
    if (event.options[option] === undefined) continue;
    if (option === 'overwrite' && history) continue;
    if (hasTrace && OF_TRACES.has(option)) continue;
    refuse(
      what,
      option === 'overwrite'
        ? 'Use counterpoint flight, which keeps the newest records.'
        : OF_TRACES.has(option) && option !== 'driverConfig'
          ? 'Record a trace with it, such as -e intel_pt//u, or leave it out of the event.'
          : 'Leave it out of the event.',
    );
  }
  if (history && event.options.time === false)
    refuse('without times', 'A history is sorted by time: leave out time=0.');
  const callGraph = event.options.callGraph;
  if (callGraph === 'dwarf' && history)
    refuse('copies of stacks in a history', 'Use call-graph=fp: a history of copies would be short.');
}

function samplingAttr(event: ParsedEvent, leader: ParsedEvent, options: SamplingOptions): PerfEventAttr {
  const attr: PerfEventAttr = { ...event.attr, flags: { ...event.attr.flags } };
  const isLeader = event.isLeader || event.group === null;
  const isTracepoint = attr.type === PERF_TYPE_TRACEPOINT;
  // The search goes down from here; software events have no precision.
  if (event.options.mostPrecise === true && attr.type !== PERF_TYPE_SOFTWARE)
    attr.flags.preciseIp = MOST_PRECISE;
  let bits = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
  if (event.options.time !== false) bits |= PERF_SAMPLE_TIME;
  setRate(attr, event, options);
  if (attr.flags.freq !== 0 || isTracepoint) bits |= PERF_SAMPLE_PERIOD;
  if (options.wholeCpus || isTracepoint) bits |= PERF_SAMPLE_CPU;
  if (isTracepoint) bits |= PERF_SAMPLE_RAW;
  if (wantsCallchain(event, options)) {
    bits |= PERF_SAMPLE_CALLCHAIN;
    attr.flags.excludeCallchainKernel = options.callchains === 'user' ? 1 : 0;
    attr.flags.excludeCallchainUser = options.callchains === 'kernel' ? 1 : 0;
    // Said in the attr, so that a reader knows which chains were cut.
    const maxStack = event.options.maxStack ?? options.maxStack;
    if (maxStack !== undefined) attr.sampleMaxStack = maxStack;
    const stackBytes = copiedStackBytes(event, options);
    if (attr.flags.excludeCallchainUser === 0 && stackBytes > 0) {
      bits |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
      // Unwinding may ask for any.
      attr.sampleRegsUser = ALL_REGISTERS;
      attr.sampleStackUser = stackBytes;
      attr.flags.excludeCallchainUser = 1;
    } else if (attr.flags.excludeCallchainUser === 0 && options.userStackTop === true) {
      bits |= PERF_SAMPLE_STACK_USER;
      attr.sampleStackUser = WORD_BYTES;
    }
  }
  const branchBits = branchBitsOf(event, options);
  if (branchBits !== 0) {
    bits |= PERF_SAMPLE_BRANCH_STACK;
    attr.branchSampleType = BigInt(branchBits);
  }
  // The kernel samples its own functions only without the user's part of a call chain.
  if (event.tracepoint?.system === 'ftrace' && event.tracepoint.name === 'function')
    attr.flags.excludeCallchainUser = 1;
  attr.flags.inherit = (event.options.inherit ?? options.inherit) ? 1 : 0;
  attr.readFormat = BigInt(PERF_FORMAT_ID | PERF_FORMAT_LOST);
  if (leader.options.sampleRead === true) {
    bits |= PERF_SAMPLE_READ;
    attr.readFormat |= BigInt(PERF_FORMAT_GROUP);
    // Members with a rate of their own sample, too; each sample reads them all.
    if (!isLeader && !event.periodGiven) {
      attr.flags.freq = 0;
      attr.samplePeriodOrFreq = 0n;
    }
  }
  attr.sampleType = BigInt(bits);
  if (options.withoutSamples === true) attr.samplePeriodOrFreq = 0n;
  if (options.taskCounts === true) {
    attr.flags.inheritStat = 1;
    attr.readFormat |= BigInt(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
  }
  addParts(attr, options.parts ?? {});
  attr.flags.sampleIdAll = 1;
  attr.flags.writeBackward = options.history === true ? 1 : 0;
  // Members of a group follow their leader.
  attr.flags.disabled = isLeader ? 1 : 0;
  attr.flags.enableOnExec = isLeader && options.enableOnExec && !options.startsLater ? 1 : 0;
  if (options.levels === 'user') Object.assign(attr.flags, { excludeKernel: 1, excludeUser: 0 });
  if (options.levels === 'kernel') Object.assign(attr.flags, { excludeKernel: 0, excludeUser: 1 });
  setClock(attr, options);
  setWakeup(attr, options);
  return attr;
}

function setWakeup(attr: PerfEventAttr, { wakeup }: SamplingOptions): void {
  if (wakeup === undefined) return;
  attr.flags.watermark = 'bytes' in wakeup ? 1 : 0;
  attr.wakeupEventsOrWatermark = 'bytes' in wakeup ? wakeup.bytes : wakeup.events;
}

function wantsCallchain(event: ParsedEvent, options: SamplingOptions): boolean {
  const own = event.options.callGraph;
  return own === undefined ? options.callchains !== 'none' : own !== 'no';
}

/** An event's own branches win; call chains are made of them where there are no others. */
function branchBitsOf({ options: own }: ParsedEvent, options: SamplingOptions): number {
  if (own.branchType !== undefined) return branchFilterBits(own.branchType.split('|'));
  if (options.branchBits !== undefined) return options.branchBits;
  const isLbr =
    own.callGraph === undefined
      ? options.lbrCallStacks === true && options.callchains !== 'none'
      : own.callGraph === 'lbr';
  return isLbr && options.callchains !== 'kernel' && options.levels !== 'kernel' ? CALL_STACK_BITS : 0;
}

/** A multiple of a word, as the kernel takes it; 0 where no stack is copied. */
function copiedStackBytes({ options: own }: ParsedEvent, { userStackBytes = 0 }: SamplingOptions): number {
  const isDwarf = own.callGraph === undefined ? userStackBytes > 0 : own.callGraph === 'dwarf';
  if (!isDwarf) return 0;
  const bytes = own.stackSizeBytes ?? (userStackBytes || DEFAULT_STACK_BYTES);
  return Math.min(MOST_STACK_BYTES, Math.ceil(bytes / WORD_BYTES) * WORD_BYTES);
}

/**
 * The event's own period or frequency wins; then what the user gave; then what the event has by nature
 * or by its vendor's table; then the default.
 */
function setRate(attr: PerfEventAttr, event: ParsedEvent, options: SamplingOptions): void {
  if (event.periodGiven) return;
  if (!options.isRateGiven && attr.samplePeriodOrFreq !== 0n) return;
  if (!options.isRateGiven && event.suggestedPeriod !== undefined) {
    attr.flags.freq = 0;
    attr.samplePeriodOrFreq = event.suggestedPeriod;
    return;
  }
  attr.flags.freq = options.period === undefined ? 1 : 0;
  attr.samplePeriodOrFreq = options.period ?? BigInt(options.frequency);
}

function setClock(attr: PerfEventAttr, { clockId }: SamplingOptions): void {
  if (clockId === undefined) return;
  attr.flags.useClockId = 1;
  attr.clockId = clockId;
}

/**
 * A software event that never fires. It leaves the kernel out, so that users may open it, and is not held
 * back with the others: it reports forks and maps from the first moment.
 */
function sidebandEvent(options: SamplingOptions): PlannedEvent {
  const attr = makeAttr({
    type: PERF_TYPE_SOFTWARE,
    config: BigInt(PERF_COUNT_SW_DUMMY),
    samplePeriodOrFreq: 1n,
    sampleType: BigInt(
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | (options.wholeCpus ? PERF_SAMPLE_CPU : 0),
    ),
    readFormat: BigInt(PERF_FORMAT_ID | PERF_FORMAT_LOST),
    flags: {
      inherit: options.inherit ? 1 : 0,
      excludeKernel: 1,
      excludeHv: 1,
      sampleIdAll: 1,
      disabled: options.enableOnExec && !options.wholeCpus ? 1 : 0,
      enableOnExec: options.enableOnExec && !options.wholeCpus ? 1 : 0,
    },
  });
  setClock(attr, options);
  const name = 'dummy:u';
  return {
    requestedName: name,
    name,
    attr,
    leader: null,
    cpus: null,
    mostPrecise: false,
    tracepoint: null,
    changes: [],
    isSideband: true,
  };
}

/**
 * `withData`: also maps of data. perf finds where a binary was loaded by the map of
 * its first page, which is data.
 */
function track(attr: PerfEventAttr, withData: boolean): void {
  Object.assign(attr.flags, { mmap: 1, mmap2: 1, comm: 1, commExec: 1, task: 1, ksymbol: 1, bpfEvent: 1 });
  if (withData) attr.flags.mmapData = 1;
}

function copiesStacks({ attr }: PlannedEvent): boolean {
  return (Number(attr.sampleType) & PERF_SAMPLE_STACK_USER) !== 0 && attr.sampleStackUser > WORD_BYTES;
}
