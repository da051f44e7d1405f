import { CounterpointError, checkOptionNames, type OptionNames } from '../../base/index.ts';
import { checkProfile, type Profile, type ProfileBranches } from '../../profile/tables/index.ts';
import { type FrameFilter, frameTest } from '../query/frame-filter.ts';
import type {
  BranchAnswer,
  BranchBlock,
  BranchCounts,
  BranchEdge,
  BranchFunction,
  BranchLoop,
  BranchRows,
  BranchView,
  MispredictedBranch,
} from './branch-answers.ts';
import { findLoops } from './branch-loops.ts';
import { PlaceNames } from './branch-places.ts';

/** Options of `branchReport()`. */
export interface BranchOptions extends FrameFilter {
  /** Index of the event; default 0. */
  event?: number;
  /** What the rows are; default `functions`. */
  view?: BranchView;
  /** Show of source files of programs and libraries only the last part of the path, as perf does. */
  shortPaths?: boolean;
  /** At most this many rows. Default: all. */
  most?: number;
}

const OPTIONS: OptionNames<BranchOptions> = {
  event: true,
  view: true,
  shortPaths: true,
  most: true,
  dsos: true,
  symbols: true,
};

/** A row whose places have no names yet. */
interface Unnamed<View extends BranchView> {
  /** Rows are ordered by it, the largest first. */
  weight: number;
  name(): BranchRows[View];
}

/**
 * The branches of an event: from which function to which, from which instruction to which, where the CPU
 * guessed wrongly, loops with their trip counts, and the cycles of the code between branches. Needs a profile
 * that was made with `branches: true`; filters take what has either end in such a function. Throws
 * `ERR_ARGUMENT` without branches.
 */
export function branchReport(profile: Profile, options: BranchOptions = {}): BranchAnswer {
  checkProfile('branchReport()', profile);
  checkOptionNames('branchReport()', options, OPTIONS);
  const { branches } = profile;
  if (branches === null)
    throw new CounterpointError(
      'ERR_ARGUMENT',
      'branchReport(): the profile has no branches',
      'Make it with branches: true: await recording.profile({ branches: true }).',
    );
  const { view = 'functions' } = options;
  const report = new Report(profile, branches, options);
  switch (view) {
    case 'functions':
      return report.answer(view, report.functions());
    case 'edges':
      return report.answer(view, report.edges());
    case 'mispredicts':
      return report.answer(view, report.mispredicts());
    case 'loops':
      return report.answer(view, report.loops());
    case 'blocks':
      return report.answer(view, report.blocks());
  }
}

class Report {
  readonly #profile: Profile;
  readonly #branches: ProfileBranches;
  readonly #event: number;
  readonly #names: PlaceNames;
  readonly #isWanted: (frame: number) => boolean;
  readonly #most: number;
  readonly #rows: number[] = [];
  readonly #total = new EdgeSum();

  constructor(profile: Profile, branches: ProfileBranches, options: BranchOptions) {
    this.#profile = profile;
    this.#branches = branches;
    this.#event = options.event ?? 0;
    this.#names = new PlaceNames(profile, options.shortPaths === true);
    this.#isWanted = frameTest(profile, this.#names.functions, options);
    this.#most = options.most ?? Number.POSITIVE_INFINITY;
    const { edges } = branches;
    for (let row = 0; row < edges.length; row++) {
      if (edges.event.at(row) !== this.#event) continue;
      this.#total.add(branches, row);
      if (this.#isEitherWanted(edges.from.at(row), edges.to.at(row))) this.#rows.push(row);
    }
  }

  answer<View extends BranchView>(view: View, rows: Unnamed<View>[]): BranchAnswer {
    const { events, loss, damage } = this.#profile;
    const event = events[this.#event];
    const head = {
      type: 'branches',
      version: 1,
      view,
      event: event?.name ?? '',
      samples: event?.samples ?? 0,
      branches: this.#total.count,
      mispredicted: this.#total.mispredictedOrNull,
      rowCount: rows.length,
      loss,
      damage,
    };
    rows.sort((a, b) => b.weight - a.weight);
    return { ...head, rows: rows.slice(0, this.#most).map((row) => row.name()) } as BranchAnswer;
  }

  functions(): Unnamed<'functions'>[] {
    const { edges } = this.#branches;
    const { functions } = this.#names;
    const groups = new Map<number, Map<number, EdgeSum>>();
    for (const row of this.#rows) {
      const from = functions.ofFrame(edges.from.at(row));
      const to = functions.ofFrame(edges.to.at(row));
      const targets = groups.get(from) ?? new Map<number, EdgeSum>();
      groups.set(from, targets);
      const sum = targets.get(to) ?? new EdgeSum(row);
      targets.set(to, sum);
      sum.add(this.#branches, row);
    }
    return [...groups.values()].flatMap((targets) =>
      [...targets.values()].map((sum) => ({
        weight: sum.count,
        name: (): BranchEdge<BranchFunction> => ({
          ...this.#counts(sum),
          from: this.#names.functionOf(edges.from.at(sum.row)),
          to: this.#names.functionOf(edges.to.at(sum.row)),
        }),
      })),
    );
  }

  edges(): Unnamed<'edges'>[] {
    const { edges } = this.#branches;
    return this.#rows.map((row) => {
      const sum = new EdgeSum(row);
      sum.add(this.#branches, row);
      const name = (): BranchEdge => ({
        ...this.#counts(sum),
        from: this.#names.placeOf(edges.from.at(row)),
        to: this.#names.placeOf(edges.to.at(row)),
      });
      return { weight: sum.count, name };
    });
  }

  mispredicts(): Unnamed<'mispredicts'>[] {
    const { edges } = this.#branches;
    const byPlace = new Map<number, EdgeSum>();
    for (const row of this.#rows) {
      const from = edges.from.at(row);
      const sum = byPlace.get(from) ?? new EdgeSum(row);
      byPlace.set(from, sum);
      sum.add(this.#branches, row);
    }
    return [...byPlace.values()]
      .filter(({ mispredicted }) => mispredicted > 0)
      .map((sum) => ({
        weight: sum.mispredicted,
        name: (): MispredictedBranch => ({
          percent: percent(sum.mispredicted, this.#total.mispredicted),
          mispredicted: sum.mispredicted,
          count: sum.count,
          rate: percent(sum.mispredicted, sum.mispredicted + sum.predicted),
          place: this.#names.placeOf(edges.from.at(sum.row)),
        }),
      }));
  }

  loops(): Unnamed<'loops'>[] {
    return findLoops(this.#profile, this.#branches, this.#event)
      .filter(({ first }) => this.#isWanted(first))
      .map((loop) => ({
        weight: loop.branches,
        name: (): BranchLoop => ({
          percent: percent(loop.branches, this.#total.count),
          iterations: loop.iterations,
          entries: loop.entries,
          trips: loop.entries === 0 ? null : loop.iterations / loop.entries,
          cycles: loop.withCycles === 0 || loop.iterations === 0 ? null : loop.cycles / loop.iterations,
          depth: loop.depth,
          first: this.#names.placeOf(loop.first),
          last: this.#names.placeOf(loop.last),
        }),
      }));
  }

  blocks(): Unnamed<'blocks'>[] {
    const { ranges } = this.#branches;
    const rows: number[] = [];
    let cycles = 0;
    let count = 0;
    for (let row = 0; row < ranges.length; row++) {
      if (ranges.event.at(row) !== this.#event) continue;
      cycles += ranges.cycles.at(row);
      count += ranges.count.at(row);
      if (this.#isEitherWanted(ranges.first.at(row), ranges.last.at(row))) rows.push(row);
    }
    const weights = cycles > 0 ? ranges.cycles : ranges.count;
    return rows.map((row) => ({
      weight: weights.at(row),
      name: (): BranchBlock => ({
        percent: percent(weights.at(row), cycles > 0 ? cycles : count),
        totalCycles: cycles > 0 ? ranges.cycles.at(row) : null,
        cycles: average(ranges.cycles.at(row), ranges.withCycles.at(row)),
        count: ranges.count.at(row),
        first: this.#names.placeOf(ranges.first.at(row)),
        last: this.#names.placeOf(ranges.last.at(row)),
      }),
    }));
  }

  #isEitherWanted(from: number, to: number): boolean {
    return this.#isWanted(from) || this.#isWanted(to);
  }

  #counts(sum: EdgeSum): BranchCounts {
    return {
      percent: percent(sum.count, this.#total.count),
      count: sum.count,
      mispredicted: sum.mispredictedOrNull,
      cycles: average(sum.cycles, sum.withCycles),
    };
  }
}

/** Rows of the table of branches, added up. `row` is one of them. */
class EdgeSum {
  readonly row: number;
  count = 0;
  predicted = 0;
  mispredicted = 0;
  cycles = 0;
  withCycles = 0;

  constructor(row = -1) {
    this.row = row;
  }

  get mispredictedOrNull(): number | null {
    return this.predicted + this.mispredicted === 0 ? null : this.mispredicted;
  }

  add({ edges }: ProfileBranches, row: number): void {
    this.count += edges.count.at(row);
    this.predicted += edges.predicted.at(row);
    this.mispredicted += edges.mispredicted.at(row);
    this.cycles += edges.cycles.at(row);
    this.withCycles += edges.withCycles.at(row);
  }
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole;
}

function average(sum: number, count: number): number | null {
  return count === 0 ? null : sum / count;
}
