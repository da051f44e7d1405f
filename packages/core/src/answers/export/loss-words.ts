import { checkArgument } from '../../base/index.ts';
import type { LossEntry, LossKind } from '../../format/loss/index.ts';
import { checkProfile, type Profile } from '../../profile/tables/index.ts';
import { countText, durationText } from './numbers.ts';

/** One kind of loss, summed over the ledger. */
export interface LossTotal {
  /** What was lost: a `LossKind`. */
  kind: string;
  /** What is counted, such as `samples`. */
  unit: string;
  /** How much, of all entries of that kind. */
  count: bigint;
  /** False where any part of the sum is a lower bound or a guess. */
  exact: boolean;
  /** For a person, as in `12 samples dropped by the kernel`. */
  words: string;
}

/** What happened, after the count. A kind that is not here is named as it is. */
const WORDS: Partial<Record<LossKind, string>> = {
  'ring-full': '(samples and others) lost because the ring buffer was full',
  'lost-samples': 'dropped by the kernel',
  throttled: 'throttled by the kernel',
  multiplexed: 'in which events had no counter',
  'call-chain-cut': 'with call chains cut at the kernel’s limit of depth',
  'user-stack-not-unwound': 'with user stacks that could not be followed to their end',
  'user-stack-cut': 'with user stacks that were copied only in part',
  'history-overwritten': 'overwritten before they were wanted',
  'history-paused': 'not kept while an earlier history was read',
  'aux-truncated': 'of trace data cut short',
  'aux-partial': 'of trace data with gaps',
  'aux-collision': 'of trace data in which samples collided',
  'aux-full': 'at which the buffer for trace data was full',
  'aux-overwritten': 'of trace data overwritten',
  'trace-overflow': 'in which the processor lost trace packets',
  'trace-error': 'where the trace could not be followed',
  'profile-full': 'at addresses for which the profile had no room',
  'file-missing': 'of the recording missing, with all that a CPU or thread recorded',
  'file-truncated': 'missing at the end of the file',
  'recorder-stopped': 'not written because the output took no more',
  'record-damaged': 'damaged in the history that this was made of',
  'events-taken': 'not watched any more, because they began a program with more rights',
};

/** Sums by kind and unit, in order of first appearance. */
export function lossTotals(entries: readonly LossEntry[]): LossTotal[] {
  const remedy = 'Give the `loss` of a profile or of another answer.';
  checkArgument(Array.isArray(entries), 'lossTotals()', 'the ledger', entries, 'a list of losses', remedy);
  const byKind = new Map<string, LossTotal>();
  for (const entry of entries) {
    const key = `${entry.kind} ${entry.unit}`;
    const count = BigInt(entry.count);
    const total = byKind.get(key);
    if (total === undefined) {
      byKind.set(key, { kind: entry.kind, unit: entry.unit, count, exact: entry.exact, words: '' });
    } else {
      total.count += count;
      total.exact &&= entry.exact;
    }
  }
  const totals = [...byKind.values()];
  for (const total of totals) total.words = wordsOf(total);
  return totals;
}

function wordsOf(total: LossTotal): string {
  const prefix = total.exact ? '' : 'at least ';
  const what = WORDS[total.kind as LossKind] ?? `lost (${total.kind})`;
  if (total.count === 0n && !total.exact)
    return `an unknown ${total.unit === 'nanoseconds' ? 'length' : `number of ${total.unit}`} ${what}`;
  if (total.unit === 'nanoseconds') return `${prefix}${durationText(Number(total.count))} ${what}`;
  const unit = total.count === 1n ? total.unit.replace(/(?<=ss)es$|s$/, '') : total.unit;
  return `${prefix}${countText(total.count)} ${unit} ${what}`;
}

/** The ledger in one line, and what was wrong in the input; `nothing lost` where both are empty. */
export function lossLine(profile: Profile): string {
  checkProfile('lossLine()', profile);
  const parts = lossTotals(profile.loss).map((total) => total.words);
  const damaged = profile.damage.reduce((sum, damage) => sum + damage.count, 0);
  if (damaged > 0)
    parts.push(`${countText(damaged)} damaged ${damaged === 1 ? 'place' : 'places'} in the input`);
  return parts.length === 0 ? 'nothing lost' : parts.join('; ');
}

/** True where the result does not hold everything that happened. */
export function isIncomplete(profile: Profile): boolean {
  return profile.loss.length > 0 || profile.damage.length > 0;
}

/** Under this key the JSON formats carry the ledger, whole, for programs. */
export const VENDOR_KEY = 'counterpoint';

export interface VendorFacts {
  version: 1;
  event: string;
  commandLine: string[] | null;
  loss: LossEntry[];
  damage: Profile['damage'];
}

export function vendorFacts(profile: Profile, event: string): VendorFacts {
  return {
    version: 1,
    event,
    commandLine: profile.meta.commandLine,
    loss: profile.loss,
    damage: profile.damage,
  };
}
