import { CounterpointError } from '../base/index.ts';
import type { Profile } from '../profile/index.ts';
import { type Measure, pointsOfShare, ratioOfPeriods, weightedDifference } from './compare-methods.ts';
import { deviationsOf } from './share-interval.ts';
import type { SortKey } from './sort-keys.ts';
import { type TopAnswer, type TopRow, topFunctions } from './top-functions.ts';

/** Options of `compareFunctions()`. */
export interface CompareOptions {
  /** By name; by default the first event of the earlier profile with samples. */
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

/** A function, or another row, in two recordings. Shares are in percent. */
export interface ChangedFunction {
  /** The function; empty where rows are no functions. */
  symbol: string;
  /** Empty for generated code, which lies elsewhere in each run. */
  dso: string;
  /** Its share in the first recording, in percent. */
  before: number;
  /** Its share in the second recording, in percent. */
  after: number;
  /** Sum of its periods in the first recording, decimal. */
  beforePeriod: string;
  /** Sum of its periods in the second recording, decimal. */
  afterPeriod: string;
  /** The other fields of the row, as `TopRow` has them. */
  labels: Partial<Pick<TopRow, 'comm' | 'srcfile' | 'srcline' | 'pid' | 'thread' | 'tid' | 'cpu'>>;
  /**
   * `after` less `before`, in points of percent; of `ratio` how many times the period is that of before, of
   * `wdiff` the difference of weighted periods. Null where it was not there before, and for a ratio.
   */
  change: number | null;
  /** Lower end of the range in which the change lies: for all functions at once with 95 %. */
  low: number;
  /** Upper end of the range; null: there is none. */
  high: number | null;
  /** False: chance alone explains the change. */
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
  /** The first recording: its samples and the sum of their periods, decimal. */
  before: { samples: number; sumPeriod: string };
  /** The second recording: its samples and the sum of their periods, decimal. */
  after: { samples: number; sumPeriod: string };
  /** Changes beyond noise first, each by size. */
  rows: ChangedFunction[];
}

const CONFIDENCE = 0.95;

/** Which functions took another share of the event than before, and whether that is more than chance. */
export function compareFunctions(
  before: Profile,
  after: Profile,
  options: CompareOptions = {},
): CompareAnswer {
  const event = options.event ?? before.events.find(({ samples }) => samples > 0)?.name ?? '';
  const children = options.children === true;
  const method = options.method ?? 'delta-abs';
  const sort = [...(options.sort ?? (['dso', 'symbol'] as const))];
  const [from, to] = [before, after].map((profile, place) => {
    const index = profile.events.findIndex(({ name }) => name === event);
    if (index < 0) throw noEvent(profile, event, place === 0 ? 'before' : 'after');
    const answer = topFunctions(profile, { event: index, sort, children });
    return { answer, samples: equalSamples(profile, index), sumPeriod: Number(answer.sumPeriod) };
  }) as [Recorded, Recorded];
  const shares = sharesOf(from.answer, to.answer);
  // Of many functions some would differ by chance: the intervals hold for all at once (Bonferroni).
  const compared = Math.max(1, shares.length) * (options.comparisons ?? 1);
  const deviations = deviationsOf(1 - (1 - CONFIDENCE) / compared);
  const measure = measureOf(method, options.weights ?? [1, 1]);
  const rows = shares.map(({ row, before: earlier, after: later }): ChangedFunction => {
    const sides = [
      { ...from, ...earlier, share: Math.min(1, earlier.share) },
      { ...to, ...later, share: Math.min(1, later.share) },
    ] as const;
    const { change, low, high, isBeyondNoise } = measure(...sides, deviations);
    return {
      symbol: row.symbol ?? '',
      dso: dsoOf(row),
      before: 100 * earlier.share,
      after: 100 * later.share,
      beforePeriod: decimal(earlier.period),
      afterPeriod: decimal(later.period),
      labels: labelsOf(row),
      change: Number.isFinite(change) ? change : null,
      low,
      high: Number.isFinite(high) ? high : null,
      isBeyondNoise,
    };
  });
  rows.sort((a, b) => Number(b.isBeyondNoise) - Number(a.isBeyondNoise) || byChange(a, b, method));
  return {
    type: 'compared-functions',
    version: 1,
    event,
    unit: from.answer.unit,
    children,
    sort,
    method,
    before: { samples: from.answer.samples, sumPeriod: from.answer.sumPeriod },
    after: { samples: to.answer.samples, sumPeriod: to.answer.sumPeriod },
    rows,
  };
}

interface Recorded {
  answer: TopAnswer;
  samples: number;
  sumPeriod: number;
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

interface Shared {
  share: number;
  period: number;
}

/** A row of either answer, with what it has in each. */
interface SharedRow {
  row: TopRow;
  before: Shared;
  after: Shared;
}

function sharesOf(from: TopAnswer, to: TopAnswer): SharedRow[] {
  const shares = new Map<string, SharedRow>();
  const add = (answer: TopAnswer, side: 'before' | 'after') => {
    for (const row of answer.rows) {
      const key = [dsoOf(row), row.symbol, ...Object.values(labelsOf(row))].join('\0');
      const nothing = () => ({ share: 0, period: 0 });
      const shared = shares.get(key) ?? { row, before: nothing(), after: nothing() };
      shared[side].share += row.percent / 100;
      shared[side].period += Number(row.totalPeriod);
      shares.set(key, shared);
    }
  };
  add(from, 'before');
  add(to, 'after');
  return [...shares.values()];
}

function labelsOf({ comm, srcfile, srcline, pid, tid, cpu }: TopRow): ChangedFunction['labels'] {
  return {
    ...(comm === undefined ? {} : { comm }),
    ...(srcfile === undefined ? {} : { srcfile }),
    ...(srcline === undefined ? {} : { srcline }),
    ...(pid === undefined ? {} : { pid }),
    ...(tid === undefined ? {} : { tid }),
    ...(cpu === undefined ? {} : { cpu }),
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

function dsoOf({ dso = '' }: TopRow): string {
  return dso.startsWith('[JIT]') ? '' : dso;
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
