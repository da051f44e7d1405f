import { CounterpointError } from '../../base/index.ts';
import type { Profile } from '../../profile/tables/index.ts';
import type { SortKey } from '../query/sort-keys.ts';
import type { TopRow } from '../query/top-functions.ts';
import {
  type ComparedSide,
  type Measure,
  pointsOfShare,
  ratioOfPeriods,
  weightedDifference,
} from './compare-methods.ts';
import { type ComparedRow, comparedRows, dsoOf, labelsOf, type Run, readRun } from './compared-rows.ts';
import { type RowDeviations, rowDeviations } from './row-deviations.ts';

/** Options of `compareFunctions()`. */
export interface CompareOptions {
  /** By name; by default the first event with samples of the first profile of before. */
  event?: string;
  /** Also the time of callees. Default: own time. */
  children?: boolean;
  /** What makes a row. Default: `dso` and `symbol`. */
  sort?: readonly SortKey[];
  /**
   * How a change is measured: `delta` and `delta-abs` in points of percent of the whole, the first ordered by
   * the change, the second (default) by its size; `ratio`, of periods; `wdiff`, of weighted periods.
   */
  method?: 'delta' | 'delta-abs' | 'ratio' | 'wdiff';
  /**
   * Of `wdiff`: by what the periods of the first and the second recording are multiplied. Default: 1 and 1.
   */
  weights?: readonly [before: number, after: number];
  /** The number of comparisons for which the ranges hold together. Default: 1. */
  comparisons?: number;
}

/** A function, or another row, before and after. Shares are in percent. */
export interface ChangedFunction {
  /** The function; empty where rows are no functions. */
  symbol: string;
  /** Empty for generated code, which lies elsewhere in each run. */
  dso: string;
  /** Its share before, in percent: the mean of the recordings. */
  before: number;
  /** Its share after, in percent. */
  after: number;
  /** Its share in each recording of before, in percent. */
  beforeShares: number[];
  /** Its share in each recording of after, in percent. */
  afterShares: number[];
  /** Sum of its periods in the recordings of before, decimal. */
  beforePeriod: string;
  /** Sum of its periods in the recordings of after, decimal. */
  afterPeriod: string;
  /** The other fields of the row, as `TopRow` has them. */
  labels: Partial<Pick<TopRow, 'comm' | 'srcfile' | 'srcline' | 'pid' | 'thread' | 'tid' | 'cpu'>>;
  /**
   * `after` less `before`, in points of percent; of `ratio` how many times the period is that of
   * before, of `wdiff` the difference of weighted periods, both of one recording. Null where it was not
   * there before, and for a ratio.
   */
  change: number | null;
  /**
   * How much it differs from run to run where nothing changed, beyond the chance of samples: a standard
   * deviation, relative (0.1 is a tenth). Taken from the recordings; of one a side what is usual.
   */
  spread: number;
  /** Lower end of the range in which the change lies: for all functions at once with `confidence`. */
  low: number;
  /** Upper end of the range; null: there is none. */
  high: number | null;
  /** False: chance alone, or the difference between runs, explains the change. */
  isBeyondNoise: boolean;
}

/** The answer of `compareFunctions()`. */
export interface CompareAnswer {
  /** Tells this answer from others. */
  type: 'compared-functions';
  /** Version of the form of this answer. */
  version: 1;
  /** The name of the event. */
  event: string;
  /** What its periods count: `nanoseconds` where they are time, else the name of the event. */
  unit: string;
  /** Whether time of callees is counted for their callers. */
  children: boolean;
  /** What makes a row. */
  sort: SortKey[];
  /** How changes are measured. */
  method: 'delta' | 'delta-abs' | 'ratio' | 'wdiff';
  /** The recordings of before: how many, their samples and the sum of their periods, decimal. */
  before: { recordings: number; samples: number; sumPeriod: string };
  /** The recordings of after. */
  after: { recordings: number; samples: number; sumPeriod: string };
  /** The probability with which the ranges of all rows hold together. */
  confidence: number;
  /**
   * Whether these recordings tell how much runs differ. False, of one recording a side: what is usual was
   * taken, and only large changes are beyond noise.
   */
  isSpreadMeasured: boolean;
  /** Changes beyond noise first, each by size. */
  rows: ChangedFunction[];
}

/** Who calls a change certain is believed: one comparison in a hundred may be wrong, not one in twenty. */
const CONFIDENCE = 0.99;

/**
 * Which functions took another share of the event than before, and whether that is more than chance.
 *
 * Samples of one run are not independent of each other, and two runs of the same program differ. Several
 * recordings a side tell by how much: three each are good, made in turn. Of one each, only a large change can
 * be told from the difference between runs.
 */
export function compareFunctions(
  before: Profile | readonly Profile[],
  after: Profile | readonly Profile[],
  options: CompareOptions = {},
): CompareAnswer {
  const [earlier, later] = [profilesOf(before, 'before'), profilesOf(after, 'after')];
  const event = options.event ?? eventOf(earlier[0]);
  const children = options.children === true;
  const method = options.method ?? 'delta-abs';
  const sort = [...(options.sort ?? (['dso', 'symbol'] as const))];
  const runsOf = (profiles: readonly Profile[], side: string) =>
    profiles.map((profile) => readRun(profile, indexOf(profile, event, side), { sort, children }));
  const [from, to] = [runsOf(earlier, 'before'), runsOf(later, 'after')];
  const compared = comparedRows(from, to);
  const outside = (1 - CONFIDENCE) / (options.comparisons ?? 1);
  const deviations = rowDeviations(compared, method.startsWith('delta') ? 'share' : 'period', outside);
  const measure = measureOf(method, options.weights ?? [1, 1]);
  const rows = compared.map((row, place) => changeOf(row, [from, to], measure, deviations[place]!));
  rows.sort((a, b) => Number(b.isBeyondNoise) - Number(a.isBeyondNoise) || byChange(a, b, method));
  return {
    type: 'compared-functions',
    version: 1,
    event,
    unit: from[0]!.answer.unit,
    children,
    sort,
    method,
    before: sumOf(from),
    after: sumOf(to),
    confidence: CONFIDENCE,
    isSpreadMeasured: from.length + to.length > 2,
    rows,
  };
}

function profilesOf(side: Profile | readonly Profile[], name: string): readonly [Profile, ...Profile[]] {
  const profiles = (Array.isArray(side) ? side : [side]) as readonly Profile[];
  const [first, ...more] = profiles;
  if (first === undefined)
    throw new CounterpointError(
      'ERR_ARGUMENT',
      `there is no recording of ${name}`,
      'Give one profile, or an array of some.',
    );
  return [first, ...more];
}

function eventOf({ events }: Profile): string {
  return events.find(({ samples }) => samples > 0)?.name ?? '';
}

function indexOf(profile: Profile, event: string, side: string): number {
  const index = profile.events.findIndex(({ name }) => name === event);
  if (index < 0) throw noEvent(profile, event, side);
  return index;
}

function changeOf(
  { row, before, after }: ComparedRow,
  [from, to]: readonly [readonly Run[], readonly Run[]],
  measure: Measure,
  { samples, spread, beforeWidth, afterWidth }: RowDeviations,
): ChangedFunction {
  const { change, low, high, isBeyondNoise } = measure(
    { ...sideOf(from), ...before, runWidth: beforeWidth },
    { ...sideOf(to), ...after, runWidth: afterWidth },
    samples,
  );
  return {
    symbol: row.symbol ?? '',
    dso: dsoOf(row),
    before: 100 * before.share,
    after: 100 * after.share,
    beforeShares: before.shares.map((share) => 100 * share),
    afterShares: after.shares.map((share) => 100 * share),
    beforePeriod: decimal(before.period),
    afterPeriod: decimal(after.period),
    labels: labelsOf(row),
    change: Number.isFinite(change) ? change : null,
    spread,
    low,
    high: Number.isFinite(high) ? high : null,
    isBeyondNoise,
  };
}

function sideOf(runs: readonly Run[]): Pick<ComparedSide, 'samples' | 'sumPeriod' | 'recordings'> {
  return {
    recordings: runs.length,
    samples: runs.reduce((sum, { samples }) => sum + samples, 0),
    sumPeriod: runs.reduce((sum, { sumPeriod }) => sum + sumPeriod, 0),
  };
}

function sumOf(runs: readonly Run[]): CompareAnswer['before'] {
  return {
    recordings: runs.length,
    samples: runs.reduce((sum, { answer }) => sum + answer.samples, 0),
    sumPeriod: runs.reduce((sum, { answer }) => sum + BigInt(answer.sumPeriod), 0n).toString(),
  };
}

function measureOf(method: CompareAnswer['method'], [before, after]: readonly [number, number]): Measure {
  if (method === 'ratio') return ratioOfPeriods;
  return method === 'wdiff' ? weightedDifference(before, after) : pointsOfShare;
}

/** The largest first. Of ratios what doubled is as far from before as what halved. */
function byChange(a: ChangedFunction, b: ChangedFunction, method: CompareAnswer['method']): number {
  const sizeOf = ({ change }: ChangedFunction) => {
    if (change === null) return Number.MAX_VALUE;
    if (method === 'delta') return change;
    return method === 'ratio' ? Math.abs(Math.log(Math.max(change, Number.MIN_VALUE))) : Math.abs(change);
  };
  const [left, right] = [sizeOf(a), sizeOf(b)];
  if (left !== right) return right - left;
  return Math.max(b.before, b.after) - Math.max(a.before, a.after) || (a.symbol < b.symbol ? -1 : 1);
}

function decimal(value: number): string {
  return BigInt(Math.round(value)).toString();
}

function noEvent({ events }: Profile, name: string, side: string): CounterpointError {
  return new CounterpointError(
    'ERR_NO_SUCH_EVENT',
    name === '' ? `the recording ${side} has no samples` : `the recording ${side} has no event "${name}"`,
    events.length === 0
      ? 'Record it again.'
      : `It has: ${events.map((event) => event.name).join(', ')}. Only samples of the same event can be compared.`,
  );
}
