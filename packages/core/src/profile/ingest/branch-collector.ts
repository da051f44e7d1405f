import { TripleTable, TWO_32 } from '../../base/index.ts';
import type { RecordedEvent } from '../../file-formats/perfdata/index.ts';
import {
  BRANCH_CYCLES_MASK,
  BRANCH_CYCLES_SHIFT,
  BRANCH_MISPREDICTED,
  BRANCH_PREDICTED,
  BRANCH_TYPE_SHIFT,
  PERF_SAMPLE_BRANCH_ANY,
  PERF_TYPE_HARDWARE,
} from '../../format/abi/index.ts';
import { BranchTable, branchStackInto } from '../../format/branches/index.ts';
import { NONE, type Profile, type ProfileBranches } from '../tables/index.ts';
import type { NativeSources } from './native-sources.ts';
import type { SampleWalker, WalkedSample } from './sample-walker.ts';

/**
 * Longer code without a branch is taken for a hole in the records. As perf's.
 *
 * @internal
 */
export const MOST_RANGE_BYTES = 16384;
/** PERF_COUNT_HW_BRANCH_INSTRUCTIONS. */
const BRANCH_INSTRUCTIONS = 4n;

/**
 * Branches one by one, as samples of period 1 (BTS, single steps, decoded traces): `ip` went to `addr`.
 *
 * @internal
 */
export function isBranchEvent({ attr }: RecordedEvent): boolean {
  const isBranches = attr.type === PERF_TYPE_HARDWARE && (attr.config & BRANCH_INSTRUCTIONS) !== 0n;
  return isBranches && attr.samplePeriodOrFreq === 1n && attr.flags.freq === 0;
}

/** Where the newest branch went, of which the next range begins. */
interface Arrival {
  frame: number;
  lo: number;
  hi: number;
}

/**
 * Counts branches, and the code that ran between two of them. A gap that no record tells (a loss, a filter by
 * time or CPU) may be taken for straight code, once for each thread:
 *
 *     recorded     a → b          c → d                 in one stack, or by one thread
 *     edges        a → b, c → d
 *     range              b ... c  straight on, with the cycles that c → d says
 */
export class BranchCollector {
  readonly #branches: ProfileBranches;
  readonly #walker: SampleWalker;
  readonly #profile: Profile;
  readonly #littleEndian: boolean;
  readonly #edges = new TripleTable();
  readonly #ranges = new TripleTable();
  readonly #table = new BranchTable();
  /** Of branches one by one: where each thread is. */
  readonly #arrivals = new Map<number, Arrival>();

  constructor(walker: SampleWalker, profile: Profile, branches: ProfileBranches, littleEndian: boolean) {
    this.#walker = walker;
    this.#profile = profile;
    this.#branches = branches;
    this.#littleEndian = littleEndian;
  }

  sample(sample: WalkedSample): void {
    if (sample.fields.branchCount > 0) this.#stack(sample);
    else if (isBranchEvent(sample.event)) this.#single(sample);
  }

  /** Frames of branches have lines of their own accord: stacks are made anew for samples only. */
  addLines(sources: NativeSources): void {
    const { edges, ranges } = this.#branches;
    const { frames } = this.#profile;
    for (const column of [edges.from, edges.to, ranges.first, ranges.last])
      for (let row = 0; row < column.length; row++) {
        const frame = column.at(row);
        const place = sources.at(frame, false)[0];
        if (place !== undefined && frames.source.at(frame) === NONE)
          frames.source.data[frame] = sources.rowOf(place);
      }
  }

  #stack(sample: WalkedSample): void {
    const table = this.#table;
    table.clear();
    branchStackInto(table, sample.view, sample.fields, this.#littleEndian);
    // Filters leave branches out: what is between two others is not straight.
    const isWhole = (sample.event.attr.branchSampleType & BigInt(PERF_SAMPLE_BRANCH_ANY)) !== 0n;
    let before: Arrival | null = null;
    for (let row = 0; row < table.length; row++)
      before = this.#branch(
        sample,
        [table.fromLo(row), table.fromHi(row), table.toLo(row), table.toHi(row)],
        table.flagsLo(row),
        isWhole ? before : null,
      );
  }

  /**
   * Traces begin and end where nothing branched: an address is 0 there. What ran up to an end, such as a
   * system call, ran straight on.
   */
  #single(sample: WalkedSample): void {
    const { ipLo, ipHi, addrLo, addrHi, tid } = sample.fields;
    const before = this.#arrivals.get(tid) ?? null;
    this.#arrivals.delete(tid);
    const hasFrom = (ipLo | ipHi) !== 0;
    const hasTo = (addrLo | addrHi) !== 0;
    if (hasFrom && hasTo)
      this.#arrivals.set(tid, this.#branch(sample, [ipLo, ipHi, addrLo, addrHi], 0, before));
    else if (hasTo)
      this.#arrivals.set(tid, { frame: this.#frameAt(sample, addrLo, addrHi), lo: addrLo, hi: addrHi });
    else if (hasFrom && before !== null) {
      const from = this.#frameAt(sample, ipLo, ipHi);
      if (this.#isStraight(before, from, ipLo, ipHi)) this.#range(sample.event.index, before.frame, from, 0);
    }
  }

  #branch(
    sample: WalkedSample,
    [fromLo, fromHi, toLo, toHi]: readonly [number, number, number, number],
    flags: number,
    before: Arrival | null,
  ): Arrival {
    const event = sample.event.index;
    const from = this.#frameAt(sample, fromLo, fromHi);
    const to = this.#frameAt(sample, toLo, toHi);
    const cycles = (flags >>> BRANCH_CYCLES_SHIFT) & BRANCH_CYCLES_MASK;
    const type = (flags >>> BRANCH_TYPE_SHIFT) & 15;
    const { edges } = this.#branches;
    const edge = this.#rowOf(this.#edges, event, from, to, () => this.#newEdge(event, from, to));
    edges.count.data[edge]!++;
    if (type !== 0) edges.type.data[edge] = type;
    if ((flags & BRANCH_MISPREDICTED) !== 0) edges.mispredicted.data[edge]!++;
    else if ((flags & BRANCH_PREDICTED) !== 0) edges.predicted.data[edge]!++;
    if (cycles > 0) {
      edges.cycles.data[edge]! += cycles;
      edges.withCycles.data[edge]!++;
    }
    if (before !== null && this.#isStraight(before, from, fromLo, fromHi))
      this.#range(event, before.frame, from, cycles);
    return { frame: to, lo: toLo, hi: toHi };
  }

  #isStraight(before: Arrival, from: number, fromLo: number, fromHi: number): boolean {
    const { binary } = this.#profile.frames;
    const bytes = ((fromHi | 0) - (before.hi | 0)) * TWO_32 + (fromLo >>> 0) - (before.lo >>> 0);
    return bytes >= 0 && bytes <= MOST_RANGE_BYTES && binary.at(before.frame) === binary.at(from);
  }

  #range(event: number, first: number, last: number, cycles: number): void {
    const { ranges } = this.#branches;
    const range = this.#rowOf(this.#ranges, event, first, last, () => this.#newRange(event, first, last));
    ranges.count.data[range]!++;
    if (cycles === 0) return;
    ranges.cycles.data[range]! += cycles;
    ranges.withCycles.data[range]!++;
  }

  #rowOf(table: TripleTable, event: number, a: number, b: number, add: () => void): number {
    const row = table.find(event, a, b);
    if (row >= 0) return row;
    add();
    return -1 - row;
  }

  #newEdge(event: number, from: number, to: number): void {
    const { edges } = this.#branches;
    edges.event.push(event);
    edges.from.push(from);
    edges.to.push(to);
    for (const column of [edges.type, edges.count, edges.predicted, edges.mispredicted]) column.push(0);
    edges.cycles.push(0);
    edges.withCycles.push(0);
  }

  #newRange(event: number, first: number, last: number): void {
    const { ranges } = this.#branches;
    ranges.event.push(event);
    ranges.first.push(first);
    ranges.last.push(last);
    for (const column of [ranges.count, ranges.cycles, ranges.withCycles]) column.push(0);
  }

  #frameAt(sample: WalkedSample, lo: number, hi: number): number {
    return this.#profile.stacks.frame.at(this.#walker.stackAt(sample, lo, hi));
  }
}
