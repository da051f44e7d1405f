/** The rows of several recordings, each with what it has in every one of them. */
import { optional } from '../../base/index.ts';
import type { Profile } from '../../profile/tables/index.ts';
import { type TopAnswer, type TopOptions, type TopRow, topFunctions } from '../query/top-functions.ts';

/** One recording. */
export interface Run {
  readonly answer: TopAnswer;
  /** How many samples of equal weight it is worth. */
  readonly samples: number;
  readonly sumPeriod: number;
}

/** A row in the recordings of one side. */
export interface RowSide {
  /** The mean of its shares, from 0 to 1. */
  readonly share: number;
  /** The sum of its periods. */
  readonly period: number;
  /** In each recording. */
  readonly shares: readonly number[];
  readonly periods: readonly number[];
  /** What the recordings have in all, as `Run` has it. */
  readonly runs: readonly Run[];
}

export interface ComparedRow {
  readonly row: TopRow;
  readonly before: RowSide;
  readonly after: RowSide;
}

export function readRun(
  profile: Profile,
  event: number,
  options: Pick<TopOptions, 'sort' | 'children'>,
): Run {
  const answer = topFunctions(profile, { event, ...options });
  return { answer, samples: equalSamples(profile, event), sumPeriod: Number(answer.sumPeriod) };
}

/**
 * How many samples of equal weight an event's are worth (Kish 1965): a few that weigh much make a share less
 * certain than their number says.
 */
function equalSamples({ samples }: Profile, event: number): number {
  let sum = 0;
  let squares = 0;
  let count = 0;
  for (let row = 0; row < samples.length; row++) {
    if (samples.event.at(row) !== event) continue;
    const weight = samples.weight.at(row);
    const own = samples.count.at(row);
    sum += weight;
    squares += own > 0 ? (weight * weight) / own : 0;
    count += own;
  }
  return squares > 0 ? Math.min(count, (sum * sum) / squares) : count;
}

export function comparedRows(before: readonly Run[], after: readonly Run[]): ComparedRow[] {
  const found = new Map<string, { row: TopRow; shares: number[]; periods: number[] }>();
  const runs = [...before, ...after];
  for (const [place, { answer }] of runs.entries())
    for (const row of answer.rows) {
      const key = [dsoOf(row), row.symbol, ...Object.values(labelsOf(row))].join('\0');
      const nothing = () => runs.map(() => 0);
      const known = found.get(key) ?? { row, shares: nothing(), periods: nothing() };
      known.shares[place]! += row.percent / 100;
      known.periods[place]! += Number(row.totalPeriod);
      found.set(key, known);
    }
  return [...found.values()].map(({ row, shares, periods }) => {
    const side = (from: number, to: number): RowSide => {
      const own = shares.slice(from, to).map((share) => Math.min(1, share));
      const ownPeriods = periods.slice(from, to);
      return {
        share: sum(own) / own.length,
        period: sum(ownPeriods),
        shares: own,
        periods: ownPeriods,
        runs: runs.slice(from, to),
      };
    };
    return { row, before: side(0, before.length), after: side(before.length, runs.length) };
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

type RowLabels = Partial<Pick<TopRow, 'comm' | 'srcfile' | 'srcline' | 'pid' | 'thread' | 'tid' | 'cpu'>>;

/** What tells rows apart, beside function and binary. */
export function labelsOf({ comm, srcfile, srcline, pid, thread, tid, cpu }: TopRow): RowLabels {
  return optional({ comm, srcfile, srcline, pid, thread, tid, cpu });
}

/** Empty for generated code, which lies elsewhere in each run. */
export function dsoOf({ dso = '' }: TopRow): string {
  return dso.startsWith('[JIT]') ? '' : dso;
}
