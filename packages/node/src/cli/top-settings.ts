import { parseDurationMs } from '@counterpoint/core/base';
import { parseSortKeys, type SortKey } from '@counterpoint/core/query';
import type { LiveProfileOptions } from '../record/index.ts';
import { UsageError, type VerbContext } from './args.ts';
import type { TopName } from './top.ts';
import { startState, type TopState } from './top-keys.ts';

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

/** perf top's own. */
const DEFAULT_SORT: readonly SortKey[] = ['dso', 'symbol'];
const DEFAULT_DELAY_MS = 2000;
/** The work of a look is done in a few milliseconds; below this it would be most of what is seen. */
const LEAST_DELAY_MS = 50;
/** Longer than Node's timers. */
const MOST_DELAY_MS = 2 ** 31 - 1;

/** Keys that samples of the live view have. */
const KNOWN_KEYS: readonly SortKey[] = ['comm', 'dso', 'symbol', 'pid'];

export function topSettings(args: VerbContext<TopName>['args']): TopSettings {
  if (args.has('freq') && args.has('count'))
    throw new UsageError(
      '--freq and --count exclude each other',
      'A sample each N events (-c), or as many per second (-F), for which the kernel chooses N.',
    );
  const hideKernel = args.boolean('hide_kernel_symbols');
  const hideUser = args.boolean('hide_user_symbols');
  if (hideKernel && hideUser)
    throw new UsageError(
      '-K and -U exclude each other',
      'One leaves the kernel out, the other all but the kernel.',
    );
  if (args.has('once') && args.has('refreshes'))
    throw new UsageError('--once and --refreshes exclude each other', '--once is -r 1.');
  const live: LiveProfileOptions = {
    command: args.words,
    pids: args.numbers('pid', { min: 1 }),
    tids: args.numbers('tid', { min: 1 }),
    systemWide: args.boolean('all-cpus'),
    inherit: !args.boolean('no-inherit'),
    intervalMs: delayMs(args),
  };
  if (args.has('cpu')) live.cpus = args.ranges('cpu');
  if (args.has('event')) live.events = args.all('event');
  const frequency = args.string('freq') === 'max' ? 'max' : args.quantity('freq', { min: 1 });
  const period = args.quantity('count', { min: 1 });
  if (frequency !== undefined) live.frequency = frequency;
  if (period !== undefined) live.period = period;
  if (args.has('node-names')) live.nodeNames = args.boolean('node-names');
  const names: TopSettings['names'] = {
    ...(args.has('comms') ? { comms: new Set(args.list('comms')) } : {}),
    ...(args.has('dsos') ? { dsos: new Set(args.list('dsos')) } : {}),
    // Functions of C++ have commas in their names.
    ...(args.has('symbols')
      ? { symbols: new Set(args.all('symbols').flatMap((text) => [text, ...text.split(',')])) }
      : {}),
  };
  const refreshes = args.boolean('once') ? 1 : (args.number('refreshes', { min: 1 }) ?? null);
  const isZero = args.boolean('zero');
  live.keepShare = isZero ? 0 : 7 / 8;
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
  if (value === null || value < LEAST_DELAY_MS || value > MOST_DELAY_MS)
    throw args.refuse('delay', 'a time of at least 50ms, such as 2 (seconds), 0.5 or 500ms');
  return value;
}

function sortKeys(args: VerbContext<TopName>['args']): readonly SortKey[] {
  const text = args.string('sort');
  if (text === undefined) return DEFAULT_SORT;
  const keys = parseSortKeys(text);
  if (keys.some((key) => !KNOWN_KEYS.includes(key)))
    throw args.refuse(
      'sort',
      `some of ${KNOWN_KEYS.join(', ')}`,
      'Counts are by process and address: threads and CPUs are not kept.',
    );
  return keys;
}
