import { printableJson } from '../../../base/index.ts';
import type { LossEntry } from '../../../format/loss/index.ts';
import { NONE, type Profile } from '../../../profile/tables/index.ts';
import type { ByteWriter } from '../byte-writer.ts';
import { lossTotals } from '../loss-words.ts';
import type { ExportPlan } from '../options.ts';
import { groupSamples, type SampleGroups } from '../stacks/sample-groups.ts';
import { CATEGORY_LOST, LOSS_MARKER, PHASE_INSTANT, PHASE_INTERVAL } from './facts.ts';
import { type SharedTables, writeColumn } from './shared-tables.ts';

type Chunks = Generator<Uint8Array<ArrayBuffer>>;

interface Marker {
  startNs: number;
  /** NaN for an instant. */
  endNs: number;
  entry: LossEntry;
}

/** `profile.threads`: samples and loss markers of each thread that has a sample of the event. */
export class ThreadList {
  readonly groups: SampleGroups;
  /** Where losses without a known thread are shown: the thread with most samples. */
  readonly busiest: number;
  readonly #profile: Profile;
  readonly #plan: ExportPlan;
  /** Command of each process's main thread, by pid. */
  readonly #mainComms = new Map<number, number>();

  constructor(profile: Profile, plan: ExportPlan) {
    const { samples, threads } = profile;
    this.#profile = profile;
    this.#plan = plan;
    this.groups = groupSamples(profile, plan.eventIndex, (sample) => samples.thread.at(sample));
    let busiest = NONE;
    let most = 0;
    for (const group of this.groups.keys.keys()) {
      const count = this.groups.start[group + 1]! - this.groups.start[group]!;
      if (count > most) {
        most = count;
        busiest = group;
      }
    }
    this.busiest = busiest;
    for (let thread = 0; thread < threads.length; thread++) {
      const pid = threads.pid.at(thread);
      if (pid === threads.tid.at(thread)) this.#mainComms.set(pid, threads.comm.at(thread));
    }
  }

  /** Mean time between samples of the busiest thread, in nanoseconds. */
  get intervalNs(): number {
    if (this.busiest === NONE) return 1e6;
    const { order, start } = this.groups;
    const time = this.#profile.samples.timeNs;
    const from = start[this.busiest]!;
    const last = start[this.busiest + 1]! - 1;
    const span = time.at(order[last]!) - time.at(order[from]!);
    let count = 0;
    for (let at = from; at < last; at++) count += this.#profile.samples.count.at(order[at]!);
    return count > 0 && span > 0 ? span / count : 1e6;
  }

  *write(out: ByteWriter, tables: SharedTables): Chunks {
    const markers = this.#markersByGroup();
    out.text('[');
    for (const group of this.groups.keys.keys()) {
      if (group > 0) out.text(',');
      yield* this.#writeThread(out, tables, group, markers.get(group) ?? []);
    }
    out.text(']');
  }

  *#writeThread(out: ByteWriter, tables: SharedTables, group: number, markers: Marker[]): Chunks {
    const { threads, strings, samples } = this.#profile;
    const thread = this.groups.keys[group]!;
    const pid = threads.pid.at(thread);
    const tid = threads.tid.at(thread);
    const first = samples.timeNs.at(this.groups.order[this.groups.start[group]!]!);
    const head = {
      processType: 'default',
      processName: strings.get(this.#mainComms.get(pid) ?? threads.comm.at(thread)),
      processStartupTime: 0,
      processShutdownTime: null,
      registerTime: Number.isNaN(first) ? 0 : first / 1e6,
      unregisterTime: null,
      pausedRanges: [],
      name: strings.get(threads.comm.at(thread)),
      isMainThread: pid === tid,
      showMarkersInTimeline: true,
      pid: String(pid),
      tid,
    };
    out.text(printableJson(head).slice(0, -1));
    out.text(',"samples":');
    yield* this.#writeSamples(out, group);
    out.text(',"markers":');
    yield* this.#writeMarkers(out, tables, markers);
    out.text('}');
  }

  *#writeSamples(out: ByteWriter, group: number): Chunks {
    const { samples } = this.#profile;
    const { event, weight } = this.#plan;
    const order = this.groups.order.subarray(this.groups.start[group]!, this.groups.start[group + 1]!);
    const { length } = order;
    const isClock = event.unit === 'nanoseconds';
    out.text('{"stack":');
    yield* writeColumn(out, length, (at) => {
      const stack = samples.stack.at(order[at]!);
      if (stack === NONE) out.text('null');
      else out.integer(stack);
    });
    // A sample without a time is put where the one before it was.
    out.text(',"timeDeltas":');
    let lastNs = 0;
    yield* writeColumn(out, length, (at) => {
      const timeNs = samples.timeNs.at(order[at]!);
      out.millionths(Number.isNaN(timeNs) ? 0 : timeNs - lastNs);
      if (!Number.isNaN(timeNs)) lastNs = timeNs;
    });
    out.text(`,"weightType":"${weight === 'period' && isClock ? 'tracing-ms' : 'samples'}","weight":`);
    yield* writeColumn(out, length, (at) => {
      const sample = order[at]!;
      if (weight === 'samples') out.integer(samples.count.at(sample));
      else if (isClock) out.millionths(samples.weight.at(sample));
      else out.integer(samples.weight.at(sample));
    });
    if (cpuUnit(event.name, event.unit) !== null) {
      out.text(',"threadCPUDelta":');
      yield* writeColumn(out, length, (at) => out.integer(samples.weight.at(order[at]!)));
    }
    out.text(`,"length":${length}}`);
  }

  /** A loss of a known thread goes to it, any other to the busiest one. */
  #markersByGroup(): Map<number, Marker[]> {
    const { loss, threads, baseTimeNs } = this.#profile;
    const groupOfTid = new Map<number, number>();
    for (const [group, thread] of this.groups.keys.entries()) groupOfTid.set(threads.tid.at(thread), group);
    const markers = new Map<number, Marker[]>();
    for (const entry of loss) {
      const group = (entry.tid === null ? undefined : groupOfTid.get(entry.tid)) ?? this.busiest;
      const from = entry.fromNs ?? entry.toNs;
      const to = entry.toNs ?? entry.fromNs;
      const startNs = from === null ? 0 : Math.max(0, Number(BigInt(from) - baseTimeNs));
      const endNs = to === null ? Number.NaN : Math.max(startNs, Number(BigInt(to) - baseTimeNs));
      const list = markers.get(group) ?? [];
      list.push({ startNs, endNs: endNs > startNs ? endNs : Number.NaN, entry });
      markers.set(group, list);
    }
    for (const list of markers.values()) list.sort((a, b) => a.startNs - b.startNs);
    return markers;
  }

  *#writeMarkers(out: ByteWriter, tables: SharedTables, markers: Marker[]): Chunks {
    const name = markers.length === 0 ? 0 : tables.string(LOSS_MARKER);
    const { length } = markers;
    const isInstant = (row: number) => Number.isNaN(markers[row]!.endNs);
    out.text('{"data":');
    yield* writeColumn(out, length, (row) => out.json(markerData(markers[row]!.entry)));
    out.text(',"name":');
    yield* writeColumn(out, length, () => out.integer(name));
    out.text(',"startTime":');
    yield* writeColumn(out, length, (row) => out.millionths(markers[row]!.startNs));
    out.text(',"endTime":');
    yield* writeColumn(out, length, (row) => {
      if (isInstant(row)) out.text('null');
      else out.millionths(markers[row]!.endNs);
    });
    out.text(',"phase":');
    yield* writeColumn(out, length, (row) => out.integer(isInstant(row) ? PHASE_INSTANT : PHASE_INTERVAL));
    out.text(',"category":');
    yield* writeColumn(out, length, () => out.integer(CATEGORY_LOST));
    out.text(`,"length":${length}}`);
  }
}

function markerData(entry: LossEntry): Record<string, unknown> {
  return {
    type: LOSS_MARKER,
    words: lossTotals([entry])[0]!.words,
    kind: entry.kind,
    ...(entry.event === null ? {} : { event: entry.event }),
    ...(entry.cpu === null ? {} : { cpu: entry.cpu }),
    exact: entry.exact ? 'yes' : 'at least',
  };
}

/** The profiler draws CPU use from clocks and cycles; other events say nothing about it. */
export function cpuUnit(name: string, unit: string): 'ns' | 'variable CPU cycles' | null {
  if (unit === 'nanoseconds') return 'ns';
  return /^(?:cpu-)?cycles(?::|$)/.test(name) ? 'variable CPU cycles' : null;
}
