import { HARDWARE_EVENTS, PERF_TYPE_HARDWARE } from '@counterpoint/core/abi';
import { type CpuIdentity, describePmu, type PmuModel } from '@counterpoint/core/pmus';
import { encodeAttrShortest, makeAttr } from '@counterpoint/core/records';
import { type Check, type KernelFiles, refusal, type Standing } from '../probe/index.ts';
import { type Fd, type Sys, SysError } from '../sys/index.ts';
import { eventHolders } from './event-holders.ts';

/** What is tried, the most widely counted first: what is left then is what only the next can be on. */
const TRIED = ['cycles', 'instructions', 'ref-cycles'].map((name) => HARDWARE_EVENTS.indexOf(name));
/** No core has more counters. */
const MOST = 64;
/** PERF_FORMAT_TOTAL_TIME_ENABLED | _RUNNING */
const FORMAT_TIMES = 3n;

interface Trial {
  /** How many pinned events of this thread could run at once. */
  readonly running: number;
  /** Which of TRIED this core counts. */
  readonly counted: readonly number[];
}

/**
 * Opens pinned events on this thread until one finds no counter. A pinned event that cannot run is in error,
 * and reading it gives no bytes (perf_event_open(2), `pinned`). Only this thread's: those come after the
 * pinned events of whole CPUs, and no other thread's are there meanwhile, so nobody's pinned event loses its
 * counter. Others that take turns miss a moment.
 *
 * Throws the error of the first event where none can be opened.
 */
function tryCounters(sys: Sys, extendedType: number): Trial {
  const open: Fd[] = [];
  const counted: number[] = [];
  const words = new BigUint64Array(3);
  let first: unknown = null;
  let running = 0;
  try {
    for (const config of TRIED) {
      const attr = makeAttr({
        type: PERF_TYPE_HARDWARE,
        config: (BigInt(extendedType) << 32n) | BigInt(config),
        readFormat: FORMAT_TIMES,
        flags: { pinned: 1, excludeKernel: 1, excludeHv: 1 },
      });
      while (open.length < MOST) {
        try {
          open.push(sys.perfEventOpen(encodeAttrShortest(attr), 0, -1, null));
        } catch (error) {
          if (!(error instanceof SysError)) throw error;
          first ??= error;
          break;
        }
        if (counted.at(-1) !== config) counted.push(config);
        if (sys.read(open.at(-1)!, new Uint8Array(words.buffer)) === 0) break;
        running++;
      }
    }
  } finally {
    for (const fd of open) fd.close();
  }
  if (counted.length === 0) throw first;
  return { running, counted };
}

/** Counters that any of the events can be on. */
function countersFor(model: PmuModel, events: readonly number[]): number {
  const found = new Set<number>();
  for (const event of events) {
    const config = model.generic.get(event);
    if (config === undefined) continue;
    for (const place of model.requirementOf({ config, config1: 0n }).places)
      for (const counter of place) found.add(counter);
  }
  return found.size;
}

export function countersText(model: PmuModel): string {
  const kinds = new Map<string, number[]>();
  for (const { kind, widthBits } of model.counters) {
    const widths = kinds.get(kind) ?? [];
    widths.push(widthBits);
    kinds.set(kind, widths);
  }
  const texts = [...kinds].map(([kind, widths]) => {
    const distinct = [...new Set(widths)].sort((a, b) => a - b);
    return `${widths.length} ${kind} (${distinct.join(' and ')} bits)`;
  });
  return texts.join(', ');
}

export interface CounterPlace {
  readonly files: KernelFiles;
  readonly standing: Standing;
  /** Where this thread runs, and which CPUs a core PMU has; null: all. */
  readonly cpu: number;
  readonly cpusOf: (pmu: string) => readonly number[] | null;
}

/** The counters of the core that this thread runs on: how many there are, and how many are free now. */
export function checkCounters(sys: Sys, identities: readonly CpuIdentity[], place: CounterPlace): Check {
  const name = 'counters';
  const identity = identities.find(
    ({ pmu, pmuType }) => pmuType !== null && place.cpusOf(pmu)?.includes(place.cpu) !== false,
  );
  if (identity === undefined) {
    const why = 'no PMU of a core in /sys/bus/event_source/devices';
    return { name, state: 'absent', why, fix: '', facts: { free: null, taken: null }, isDetail: true };
  }
  const model = describePmu(identity);
  let trial: Trial;
  try {
    trial = tryCounters(sys, identities.length > 1 ? identity.pmuType! : 0);
  } catch (error) {
    return refusal(name, error, 2, place.standing);
  }
  const { running: free, counted } = trial;
  const described = model === null ? null : countersFor(model, counted);
  const taken = described === null ? null : Math.max(0, described - free);
  const facts = {
    pmu: identity.pmu,
    cpu: place.cpu,
    title: model?.title ?? null,
    free,
    taken,
    events: counted.map((config) => HARDWARE_EVENTS[config]!),
    counters: (model?.counters ?? []).map((one) => ({
      name: one.name,
      kind: one.kind,
      widthBits: one.widthBits,
    })),
  };
  const more = [
    ...(model === null ? [] : [`${model.title}: ${countersText(model)}`]),
    ...(model?.notes ?? []),
  ];
  const total = described === null ? '' : ` of ${described}`;
  const where = `on CPU ${place.cpu}, for ${facts.events.join(', ')}`;
  const freeText = `${free}${total} free now ${where}`;
  if (taken === null || taken === 0) return { name, state: 'ok', why: freeText, fix: '', facts, more };
  const holders = eventHolders(place.files);
  const watchdog = identity.nmiWatchdog === true ? 1 : 0;
  const whose = [
    ...(watchdog > 0 ? ['the NMI watchdog'] : []),
    ...(taken > watchdog ? ['pinned events of whole CPUs'] : []),
  ];
  const named = taken > watchdog && holders.length > 0 ? ` (events are held by ${holders.join(', ')})` : '';
  const ways = [
    ...(watchdog > 0 ? ['sysctl kernel.nmi_watchdog=0'] : []),
    ...(taken > watchdog
      ? ["End the program that holds them, or make it count without pinned (perf's modifier D)."]
      : []),
  ];
  return {
    name,
    state: free === 0 ? 'forbidden' : 'ok',
    why: `${freeText}, ${taken} taken by ${whose.join(' and ')}${named}`,
    fix: ways.join('\n'),
    facts: { ...facts, holders },
    more,
  };
}

/**
 * Whether counters are read without a system call: `rdpmc` of the PMU on x86, a sysctl on arm64 and RISC-V.
 */
export function checkUserReads(identities: readonly CpuIdentity[], files: KernelFiles): Check {
  const name = 'reads in user space';
  const isDetail = true;
  const present = identities.filter(({ pmuType }) => pmuType !== null);
  const [first] = present;
  if (first === undefined) {
    const why = 'there is no hardware counter to read';
    return { name, state: 'absent', why, fix: '', facts: { allowed: null }, isDetail };
  }
  const slow = 'counters are read only by read(2)';
  const settings =
    first.architecture === 'x86'
      ? present.map(({ pmu }) => `/sys/bus/event_source/devices/${pmu}/rdpmc`)
      : ['/proc/sys/kernel/perf_user_access'];
  const values = settings.map((path) => files.read(path));
  const at = values.findIndex((value) => value === null || value === '0');
  if (at < 0) {
    const why = `counters are read from the mapped page (${settings[0]} is ${values[0]})`;
    return { name, state: 'ok', why, fix: '', facts: { allowed: true }, isDetail };
  }
  if (values[at] === null) {
    const why = `${settings[at]} cannot be read: ${slow} where the kernel has no such setting`;
    return { name, state: 'unknown', why, fix: '', facts: { allowed: null } };
  }
  const fix =
    first.architecture === 'x86' ? `As root: echo 1 > ${settings[at]}` : 'sysctl kernel.perf_user_access=1';
  return { name, state: 'forbidden', why: `${settings[at]} is 0: ${slow}`, fix, facts: { allowed: false } };
}

/** CPU that this thread was on last: field 39 of /proc/self/stat, the 37th after the name in brackets. */
export function currentCpu(files: KernelFiles): number {
  const stat = files.read('/proc/thread-self/stat') ?? '';
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[36] ?? 0);
}
