import { CounterpointError, MOST_TIMER_MS, parseDurationMs } from '@counterpoint/core/base';
import { parseSortKeys, type SortKey } from '@counterpoint/core/query';
import type { LiveProfileOptions } from '../../../linux/sample/record/index.ts';
import type { VerbContext } from '../../common/args.ts';
import { UsageError } from '../../common/usage-error.ts';
import { samplingRequest } from '../shared/sampling-options.ts';
import { startState, type TopState } from './keys.ts';
import type { TopName } from './top.ts';

export interface TopSettings {
  readonly live: LiveProfileOptions;
  readonly state: TopState;
  /** Of rows, exact names. */
  readonly names: { comms?: ReadonlySet<string>; dsos?: ReadonlySet<string>; symbols?: ReadonlySet<string> };
  readonly refreshes: number | null;
  readonly asJson: boolean;
  /** No screen, even on a terminal. */
  readonly asText: boolean;
  readonly isQuiet: boolean;
}

/** Of what was before, where it fades: perf top's own. */
export const KEEP_SHARE = 7 / 8;
/** perf top's own. */
const DEFAULT_SORT: readonly SortKey[] = ['dso', 'symbol'];
const DEFAULT_DELAY_MS = 2000;
/** The work of a look is done in a few milliseconds; below this it would be most of what is seen. */
const LEAST_DELAY_MS = 50;

/** Keys that samples of the live view have. */
const KNOWN_KEYS: readonly SortKey[] = ['comm', 'dso', 'symbol', 'pid', 'tier', 'copy'];

export function topSettings(args: VerbContext<TopName>['args']): TopSettings {
  const hideKernel = args.boolean('hide_kernel_symbols');
  const hideUser = args.boolean('hide_user_symbols');
  if (hideKernel && hideUser)
    throw new UsageError(
      '-K and -U exclude each other',
      '-K leaves out the kernel, -U leaves out everything else.',
    );
  if (args.has('once') && args.has('refreshes'))
    throw new UsageError('--once and --refreshes exclude each other', '--once is -r 1.');
  const live: LiveProfileOptions = {
    command: args.words,
    systemWide: args.boolean('all-cpus'),
    inherit: !args.boolean('no-inherit'),
    ...samplingRequest(args),
    intervalMs: delayMs(args),
  };
  if (args.has('pid')) live.pids = args.numbers('pid', { min: 1 });
  if (args.has('tid')) live.tids = args.numbers('tid', { min: 1 });
  if (args.has('cpu')) live.cpus = args.ranges('cpu');
  const names: TopSettings['names'] = {
    ...(args.has('comms') ? { comms: new Set(args.list('comms')) } : {}),
    ...(args.has('dsos') ? { dsos: new Set(args.list('dsos')) } : {}),
    // Functions of C++ have commas in their names.
    ...(args.has('symbols') ? { symbols: new Set(args.names('symbols')) } : {}),
  };
  const refreshes = args.boolean('once') ? 1 : (args.number('refreshes', { min: 1 }) ?? null);
  const isZero = args.boolean('zero');
  live.keepShare = isZero ? 0 : KEEP_SHARE;
  return {
    live,
    state: startState({
      sort: sortKeys(args),
      isZero,
      hideKernel,
      hideUser,
      showIdle: args.boolean('idle'),
      lines: args.number('lines', { min: 1 }) ?? null,
      showSamples: args.boolean('show-nr-samples'),
    }),
    names,
    refreshes,
    asJson: args.boolean('json'),
    asText: args.boolean('stdio') || refreshes !== null,
    isQuiet: args.boolean('quiet'),
  };
}

/** Seconds, as in perf top, unless a unit is given. */
function delayMs(args: VerbContext<TopName>['args']): number {
  const text = args.string('delay');
  if (text === undefined) return DEFAULT_DELAY_MS;
  const value = parseDurationMs(/^[\d.]+$/.test(text) ? `${text}s` : text);
  if (value === null || value < LEAST_DELAY_MS || value > MOST_TIMER_MS)
    throw args.refuse(
      'delay',
      `a time of at least ${LEAST_DELAY_MS}ms and at most ${MOST_TIMER_MS}ms, such as 2 (seconds), 0.5 or 500ms`,
    );
  return value;
}

function sortKeys(args: VerbContext<TopName>['args']): readonly SortKey[] {
  const text = args.string('sort');
  if (text === undefined) return DEFAULT_SORT;
  const refused = args.refuse(
    'sort',
    `some of ${KNOWN_KEYS.join(', ')}`,
    'top counts by process and address; it keeps no threads or CPUs.',
  );
  const keys = knownKeys(text);
  if (keys === null || keys.some((key) => !KNOWN_KEYS.includes(key))) throw refused;
  return keys;
}

/** Null: there is one among them that nobody knows. */
function knownKeys(text: string): readonly SortKey[] | null {
  try {
    // perf's `pid` is the thread.
    return parseSortKeys(text).map((key) => (key === 'thread' ? 'pid' : key));
  } catch (error) {
    if (error instanceof CounterpointError && error.code === 'ERR_SORT_KEY') return null;
    throw error;
  }
}
