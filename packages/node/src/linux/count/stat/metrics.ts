import { PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_SOFTWARE } from '@counterpoint/core/abi';
import { checkArgument } from '@counterpoint/core/base';
import type { PerfEventAttr } from '@counterpoint/core/records';

/** A count that others are set in relation to. */
export interface MetricInput {
  /** The attr of the event that was counted. */
  attr: PerfEventAttr;
  /** In the unit of the kernel: for clocks ns. */
  count: number;
  /** Whether there is a count. */
  isCounted: boolean;
}

/**
 * The counts of one place, to be found by what they count: with thousands of events nothing
 * may look through all of them.
 */
export interface MetricPeers {
  /** The first clock. */
  clock: MetricInput | null;
  /** By `peerKey`: the first. */
  counted: ReadonlyMap<string, MetricInput>;
}

export function metricPeers(inputs: readonly MetricInput[]): MetricPeers {
  let clock: MetricInput | null = null;
  const counted = new Map<string, MetricInput>();
  for (const input of inputs) {
    if (!input.isCounted) continue;
    const { attr } = input;
    if (isClock(attr)) clock ??= input;
    const key = peerKey(attr, attr.type, Number(attr.config & 0xffff_ffffn));
    if (!counted.has(key)) counted.set(key, input);
  }
  return { clock, counted };
}

/** An event by its generic code, on the same PMU and of the same part (user, kernel, …) as `attr`. */
function peerKey({ config, flags }: PerfEventAttr, type: number, code: number): string {
  const { excludeUser, excludeKernel, excludeHv, excludeHost, excludeIdle } = flags;
  const part = `${excludeUser}${excludeKernel}${excludeHv}${excludeHost}${excludeIdle}`;
  return `${type} ${config >> 32n} ${code} ${part}`;
}

/** What stands behind the `#` of a line. */
export interface DerivedMetric {
  /** The number. */
  value: number;
  /** As perf formats it, padding included. */
  text: string;
  /** What the number means, such as `insn per cycle`. */
  unit: string;
}

const CYCLES = 0;
const INSTRUCTIONS = 1;
const CACHE_REFERENCES = 2;
const CACHE_MISSES = 3;
const BRANCHES = 4;
const BRANCH_MISSES = 5;
const STALLED_FRONTEND = 7;
const STALLED_BACKEND = 8;
const CPU_CLOCK = 0;
const TASK_CLOCK = 1;

/** Of a generic cache event's config: `id | operation << 8 | result << 16`; reads that missed. */
const READ_MISS = 1 << 16;
/** By cache id (linux/perf_event.h). */
const CACHE_NAMES = [
  'L1-dcache accesses',
  'L1-icache accesses',
  'LL-cache accesses',
  'dTLB cache accesses',
  'iTLB cache accesses',
];

/**
 * What an event says in relation to the others that were counted at the same place; the first stands beside
 * the count, others on lines of their own. The relations are perf's (util/stat-shadow.c).
 */
export function deriveMetrics(event: MetricInput, others: MetricPeers, elapsedNs: number): DerivedMetric[] {
  checkArgument({ attr: 'object' }, 'deriveMetrics()', 'the event', event, 'a MetricInput');
  checkArgument({}, 'deriveMetrics()', 'the others', others, 'MetricPeers');
  if (!event.isCounted) return [];
  const { attr, count } = event;
  if (isClock(attr)) {
    return elapsedNs > 0 ? [metric(count / elapsedNs, fixed(count / elapsedNs, 8, 3), 'CPUs utilized')] : [];
  }
  const special = relationOf(event, others);
  if (special !== null) return special;
  const { clock } = others;
  return clock === null || clock.count === 0 ? [] : [perSecond((1e9 * count) / clock.count)];
}

export function isClock({ type, config }: PerfEventAttr): boolean {
  return type === PERF_TYPE_SOFTWARE && (config === BigInt(CPU_CLOCK) || config === BigInt(TASK_CLOCK));
}

/** Null where the event is not one that has a relation of its own. */
function relationOf(event: MetricInput, others: MetricPeers): DerivedMetric[] | null {
  const { attr, count } = event;
  const find = (type: number, config: number) => counted(event, others, type, config);
  const code = Number(attr.config & 0xffff_ffffn);
  if (attr.type === PERF_TYPE_HW_CACHE) {
    const name = CACHE_NAMES[code & 0xff];
    if ((code & 0xffff00) !== READ_MISS || name === undefined) return null;
    const accesses = find(PERF_TYPE_HW_CACHE, code & 0xff);
    return accesses === null ? null : [percent(count / accesses, `of all ${name}`)];
  }
  if (attr.type !== PERF_TYPE_HARDWARE) return null;
  switch (code) {
    case CYCLES: {
      const { clock } = others;
      if (clock === null || clock.count === 0) return [];
      return [metric(count / clock.count, fixed(count / clock.count, 8, 3), 'GHz')];
    }
    case INSTRUCTIONS:
      return instructionRelations(count, find);
    case CACHE_MISSES: {
      const references = find(PERF_TYPE_HARDWARE, CACHE_REFERENCES);
      if (references === null) return null;
      const value = (100 * count) / references;
      return [metric(value, `${fixed(value, 8, 3)} %`, 'of all cache refs')];
    }
    case BRANCH_MISSES: {
      const branches = find(PERF_TYPE_HARDWARE, BRANCHES);
      return branches === null ? null : [percent(count / branches, 'of all branches')];
    }
    case STALLED_FRONTEND:
    case STALLED_BACKEND: {
      const cycles = find(PERF_TYPE_HARDWARE, CYCLES);
      const side = code === STALLED_FRONTEND ? 'frontend' : 'backend';
      return cycles === null ? [] : [percent(count / cycles, `${side} cycles idle`)];
    }
    default:
      return null;
  }
}

function instructionRelations(
  count: number,
  find: (type: number, config: number) => number | null,
): DerivedMetric[] {
  const metrics: DerivedMetric[] = [];
  const cycles = find(PERF_TYPE_HARDWARE, CYCLES);
  if (cycles !== null)
    metrics.push(metric(count / cycles, `${fixed(count / cycles, 7, 2)} `, 'insn per cycle'));
  const stalls = Math.max(
    find(PERF_TYPE_HARDWARE, STALLED_FRONTEND) ?? 0,
    find(PERF_TYPE_HARDWARE, STALLED_BACKEND) ?? 0,
  );
  if (stalls > 0 && count > 0)
    metrics.push(metric(stalls / count, `${fixed(stalls / count, 7, 2)} `, 'stalled cycles per insn'));
  return metrics;
}

/**
 * The count of another event that looks at the same part (user, kernel, …); null
 * if there is none or it is 0.
 */
function counted({ attr }: MetricInput, others: MetricPeers, type: number, config: number): number | null {
  const found = others.counted.get(peerKey(attr, type, config));
  return found === undefined || found.count === 0 ? null : found.count;
}

/** `119.848 K/sec`. */
export function perSecond(count: number): DerivedMetric {
  let value = count;
  let unit = '';
  for (const larger of ['K', 'M', 'G']) {
    if (value <= 1000) break;
    value /= 1000;
    unit = larger;
  }
  return metric(value, fixed(value, 8, 3), `${unit}/sec`);
}

function percent(ratio: number, unit: string): DerivedMetric {
  return metric(100 * ratio, `${fixed(100 * ratio, 7, 2)}%`, unit);
}

function metric(value: number, text: string, unit: string): DerivedMetric {
  return { value, text, unit };
}

function fixed(value: number, width: number, digits: number): string {
  return value.toFixed(digits).padStart(width);
}
