import { CounterpointError } from '../base/index.ts';
import type { Profile } from '../profile/index.ts';
import { deviationsOf, shareDifference } from './share-interval.ts';
import { type TopAnswer, type TopRow, topFunctions } from './top-functions.ts';

/** Options of `compareFunctions()`. */
export interface CompareOptions {
  /** By name; by default the first event of the earlier profile with samples. */
  event?: string;
  /** Also the time of callees. Default: own time. */
  children?: boolean;
}

/** A function in two recordings. Shares and differences are in percent, and in percentage points. */
export interface ChangedFunction {
  /** The function. */
  symbol: string;
  /** Empty for generated code, which lies elsewhere in each run. */
  dso: string;
  /** Its share in the first recording, in percent. */
  before: number;
  /** Its share in the second recording, in percent. */
  after: number;
  /** `after` less `before`, in points of percent. */
  change: number;
  /** Between which values the change lies, for all functions together with 95 %. */
  low: number;
  /** The upper end of the range. */
  high: number;
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
  /** What its periods count: `events`, or `ns` for clocks. */
  unit: string;
  /** Whether time of callees is counted for their callers. */
  children: boolean;
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
  const [from, to] = [before, after].map((profile, place) => {
    const index = profile.events.findIndex(({ name }) => name === event);
    if (index < 0) throw noEvent(profile, event, place === 0 ? 'before' : 'after');
    return topFunctions(profile, { event: index, sort: ['dso', 'symbol'], children });
  }) as [TopAnswer, TopAnswer];
  const shares = new Map<string, { row: TopRow; before: number; after: number }>();
  const add = (answer: TopAnswer, side: 'before' | 'after') => {
    for (const row of answer.rows) {
      const key = `${dsoOf(row)}\0${row.symbol}`;
      const share = shares.get(key) ?? { row, before: 0, after: 0 };
      share[side] += row.percent / 100;
      shares.set(key, share);
    }
  };
  add(from, 'before');
  add(to, 'after');
  // Of many functions some would differ by chance: the intervals hold for all at once (Bonferroni).
  const deviations = deviationsOf(1 - (1 - CONFIDENCE) / Math.max(1, shares.size));
  const rows = [...shares.values()].map(({ row, ...share }): ChangedFunction => {
    const { difference, low, high } = shareDifference(
      { share: Math.min(1, share.before), samples: from.samples },
      { share: Math.min(1, share.after), samples: to.samples },
      deviations,
    );
    return {
      symbol: row.symbol ?? '',
      dso: dsoOf(row),
      before: 100 * share.before,
      after: 100 * share.after,
      change: 100 * difference,
      low: 100 * low,
      high: 100 * high,
      isBeyondNoise: low > 0 || high < 0,
    };
  });
  rows.sort(
    (a, b) =>
      Number(b.isBeyondNoise) - Number(a.isBeyondNoise) ||
      Math.abs(b.change) - Math.abs(a.change) ||
      (a.symbol < b.symbol ? -1 : 1),
  );
  return {
    type: 'compared-functions',
    version: 1,
    event,
    unit: from.unit,
    children,
    before: { samples: from.samples, sumPeriod: from.sumPeriod },
    after: { samples: to.samples, sumPeriod: to.sumPeriod },
    rows,
  };
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
