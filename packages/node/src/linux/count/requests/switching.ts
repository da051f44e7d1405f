import { CounterpointError } from '@counterpoint/core/base';
import {
  ANYTHING,
  checkOptions,
  isPlainObject,
  numberFrom,
  type OptionTable,
  required,
  shownValue,
} from '../../../host/options/index.ts';
import type { OverflowRequest } from './types.ts';

/** When the next event set is loaded. `manual` is by `session.next()` alone. */
export type SwitchRule =
  | { by: 'manual' }
  | { by: 'time'; sliceMs: number }
  /**
   * Each time a counter of the loaded set (one for each thread, on each CPU where it follows children) has
   * counted `count` of this event. Sets that do not have it get it.
   */
  | { by: 'overflow'; event: string; count: bigint | number };

const LEAST_SLICE_MS = 1;
/** What a timer takes. */
const MOST_SLICE_MS = 2 ** 31 - 1;

/** Parses `time:100ms`, `overflow:EVENT:N` or `manual`. The event may contain colons. */
export function parseSwitchRule(text: string): SwitchRule {
  const time = /^time:(\d+(?:\.\d+)?)(ms|s|us)?$/.exec(text);
  if (time !== null) {
    const sliceMs = Number(time[1]) * { ms: 1, s: 1000, us: 0.001 }[(time[2] ?? 'ms') as 'ms' | 's' | 'us'];
    if (sliceMs >= LEAST_SLICE_MS) return { by: 'time', sliceMs };
    throw new CounterpointError(
      'ERR_SWITCH_RULE',
      `a slice of ${time[1]}${time[2] ?? 'ms'} is too short: at least 1 ms`,
      'Give a longer slice, such as time:10ms.',
    );
  }
  const overflow = /^overflow:(.+):(\d+)$/.exec(text);
  if (overflow !== null && BigInt(overflow[2]!) > 0n) {
    return { by: 'overflow', event: overflow[1]!, count: BigInt(overflow[2]!) };
  }
  if (text === 'manual') return { by: 'manual' };
  throw new CounterpointError(
    'ERR_SWITCH_RULE',
    `'${text}' is not a rule for switching event sets`,
    'Write time:100ms, overflow:EVENT:N (N at least 1) or manual.',
  );
}

const RULES: Readonly<Record<SwitchRule['by'], OptionTable>> = {
  manual: { by: ANYTHING },
  time: { by: ANYTHING, sliceMs: required(numberFrom(LEAST_SLICE_MS, MOST_SLICE_MS)) },
  overflow: {
    by: ANYTHING,
    event: required({
      expects: 'the name of an event',
      accepts: (value) => typeof value === 'string' && value !== '',
    }),
    // How many a counter takes is looked into with all other periods.
    count: required({
      expects: 'a number of overflows',
      accepts: (value) => typeof value === 'bigint' || Number.isSafeInteger(value),
    }),
  },
};

/** Throws for a rule that cannot be followed, as programs without types may give it. */
export function checkSwitchRule(rule: SwitchRule): void {
  const by: unknown = isPlainObject(rule) ? rule.by : undefined;
  if (typeof by !== 'string' || !Object.hasOwn(RULES, by))
    throw new CounterpointError(
      'ERR_SWITCH_RULE',
      `sets cannot switch by ${shownValue(by ?? rule)}`,
      "A rule is { by: 'time', sliceMs }, { by: 'overflow', event, count } or { by: 'manual' }.",
    );
  checkOptions('switching', rule, RULES[by as SwitchRule['by']], 'ERR_SWITCH_RULE');
}

/** The overflow that a rule stands on. */
export function switchOverflow(rule: SwitchRule): OverflowRequest | null {
  return rule.by === 'overflow' ? { event: rule.event, period: rule.count } : null;
}
