import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import {
  type ControlOptions,
  type ControlRequest,
  parseList,
  parseSwitchRule,
  type SwitchRule,
} from '../../../linux/count/counting/index.ts';
import {
  type Aggregation,
  countOncePerPackage,
  defaultEvents,
  detailEvents,
  findMetric,
  groupText,
  type MetricGroup,
  type NamedMetric,
  type StatScope,
  sharedGroups,
  topdownMetrics,
} from '../../../linux/count/stat/index.ts';
import type { VerbContext } from '../../common/args.ts';
import { eventTexts } from '../../common/group-option.ts';
import { UsageError } from '../../common/usage-error.ts';
import { type ControlPlace, parseControlPlace } from '../shared/control-channel.ts';
import { type Control, readControl } from './control.ts';
import { formatOf, givenAggregation, localeHasCommas, type StatFormat } from './forms.ts';
import type { StatName } from './stat.ts';

type Arguments = VerbContext<StatName>['args'];

/** What the command line asks for, checked. */
export interface StatSettings {
  scope: StatScope;
  command: readonly string[];
  control: ControlRequest | null;
  /** For `--save-control`: the same in names. */
  saved: { path: string; control: Control } | null;
  named: { metric: NamedMetric; events: number[] }[];
  by: Aggregation;
  /** Infinity until Ctrl-C. */
  runs: number;
  /** The target, the part of it, and how the counters are held. */
  options: ControlOptions;
  delayMs: number;
  /** Begin when `commands` say so. */
  startDisabled: boolean;
  /** `--control`: where words come from that turn the counting on and off. */
  commands: ControlPlace | null;
  timeoutMs: number | undefined;
  intervalMs: number | undefined;
  intervalCount: number | undefined;
  withSummary: boolean;
  format: StatFormat;
  separator: string;
  output: string | null;
  append: boolean;
  bigNumbers: boolean;
  withTable: boolean;
  sync: boolean;
  unscaled: boolean;
  quiet: boolean;
}

const LEAST_TIMEOUT_MS = 10;
const MOST_MS = 2 ** 31 - 1;
const MOST_RUNS = 1_000_000;

export async function statSettings(args: Arguments): Promise<StatSettings> {
  const scope = scopeOf(args);
  if (args.boolean('plan'))
    for (const name of ['field-separator', 'json-output'] as const)
      if (args.has(name))
        throw new UsageError(
          `--plan does not support ${args.shown(name)}`,
          'It prints text, or JSON with --json.',
        );
  const what = await controlOf(args, scope);
  const runs = args.number('repeat', { min: 0, max: MOST_RUNS }, 1);
  if (runs !== 1 && args.words.length === 0)
    throw new UsageError(
      '-r repeats a command, but there is no command',
      'Write it at the end: -r 5 -- COMMAND',
    );
  // As in perf, 0 is off.
  const intervalMs = zeroIsOff(args, 'interval-print', 1);
  if (args.has('interval-count') && intervalMs === undefined)
    throw new UsageError('--interval-count is for -I', 'Give the length of an interval: -I 1000');
  return {
    scope,
    command: args.words,
    ...what,
    by: aggregationOf(args, scope),
    runs: runs === 0 ? Number.POSITIVE_INFINITY : runs,
    ...beginningOf(args),
    timeoutMs: zeroIsOff(args, 'timeout', LEAST_TIMEOUT_MS),
    intervalMs,
    intervalCount: args.number('interval-count', { min: 1 }),
    withSummary: args.boolean('summary'),
    format: formatOf(args),
    separator: (args.string('field-separator') ?? ',').replaceAll('\\t', '\t'),
    output: args.string('output') ?? null,
    append: args.boolean('append'),
    bigNumbers: args.boolean('big-num', localeHasCommas(process.env)),
    withTable: args.boolean('table'),
    sync: args.boolean('sync'),
    unscaled: !args.boolean('scale', true),
    quiet: args.boolean('quiet'),
  };
}

function zeroIsOff(args: Arguments, name: 'interval-print' | 'timeout', min: number): number | undefined {
  return args.string(name) === '0' ? undefined : args.durationMs(name, { min, max: MOST_MS });
}

/** As in perf, `-D -1` begins with everything off. */
function beginningOf(args: Arguments): Pick<StatSettings, 'delayMs' | 'startDisabled' | 'commands'> {
  const place = args.string('control');
  const commands = place === undefined ? null : parseControlPlace(place);
  if (args.string('delay') !== '-1')
    return {
      delayMs: args.durationMs('delay', { min: 0, max: MOST_MS }, 0),
      startDisabled: false,
      commands,
    };
  if (commands === null)
    throw new UsageError(
      '-D -1 begins with everything off, but nothing would turn it on',
      'Give a pipe for the word enable: mkfifo FILE, then --control fifo:FILE',
    );
  return { delayMs: 0, startDisabled: true, commands };
}

type What = Pick<StatSettings, 'control' | 'saved' | 'named' | 'options'>;

/** What is counted: by the command line, or by a file. */
async function controlOf(args: Arguments, scope: StatScope): Promise<What> {
  const path = args.string('save-control');
  const given = optionsOf(args);
  const fromFile = readControl(args);
  if (fromFile !== null) {
    const options = { ...fromFile.options, ...given };
    const control = { ...fromFile, options };
    return {
      control: control.request,
      named: [],
      options,
      saved: path === undefined ? null : { path, control },
    };
  }
  if (args.boolean('null')) {
    if (path !== undefined) throw new UsageError('-n counts nothing, so there is nothing to save');
    return { control: null, named: [], options: given, saved: null };
  }
  const { parsed, named, texts } = await eventsOf(args, scope);
  const sets = args.all('set');
  const switching = switchingOf(args, sets.length + (parsed.length > 0 ? 1 : 0));
  const rest = {
    ...(sets.length > 0 ? { sets } : {}),
    ...(switching === null ? {} : { switching }),
  };
  const control = { ...(parsed.length > 0 ? { events: parsed } : {}), ...rest };
  if (path === undefined) return { control, named, options: given, saved: null };
  if (texts === null)
    throw new UsageError(
      "--save-control saves names in perf's grammar, but not --pfm-events or --filter",
      'Leave them out.',
    );
  const request = { ...(texts.length > 0 ? { events: texts } : {}), ...rest };
  return {
    control,
    named,
    options: given,
    saved: { path, control: { request, options: given, before: undefined } },
  };
}

function optionsOf(args: Arguments): ControlOptions {
  const levels = levelsOf(args);
  return {
    ...(args.boolean('no-inherit') ? { inherit: false } : args.boolean('inherit') ? { inherit: true } : {}),
    ...(levels === 'all' ? {} : { levels }),
  };
}

/** Processes win over threads, and both over whole CPUs, as in perf. */
function scopeOf(args: Arguments): StatScope {
  const pids = args.numbers('pid', { min: 1 });
  const tids = args.numbers('tid', { min: 1 });
  const cgroups = [...args.list('cgroup'), ...args.list('for-each-cgroup')];
  if (args.has('cgroup') && args.has('for-each-cgroup'))
    throw new UsageError(
      `${args.shown('cgroup')} and ${args.shown('for-each-cgroup')} exclude each other`,
      'Name all of them with one.',
    );
  if (args.list('cgroup').length > 1)
    throw new UsageError(
      '-G accepts one control group (in perf, a second group is for the second event)',
      `To count all events for each group: --for-each-cgroup ${args.list('cgroup').join(',')}`,
    );
  for (const path of cgroups)
    if (path.split('/').includes('..'))
      throw new UsageError(
        `'${path}' is not a control group: its path begins at the mount and has no ..`,
        'Give it as in /proc/PID/cgroup, after the last colon.',
      );
  const isWide = args.boolean('all-cpus') || args.has('cpu') || cgroups.length > 0;
  if (isWide && (pids.length > 0 || tids.length > 0))
    throw new UsageError(
      'whole CPUs and single tasks exclude each other',
      'Give either -a, -C or -G, or -p or -t.',
    );
  if (pids.length > 0) return { kind: 'processes', pids };
  if (tids.length > 0) return { kind: 'threads', tids };
  const isByThread = args.boolean('per-thread') && !args.has('cpu') && cgroups.length === 0;
  // As in perf, nothing but --per-thread is everybody, too.
  if (isByThread && (isWide || args.words.length === 0)) return { kind: 'all-threads' };
  if (isWide) {
    return {
      kind: 'cpus',
      ...(args.has('cpu') ? { cpus: args.ranges('cpu') } : {}),
      ...(cgroups.length > 0 ? { cgroups } : {}),
    };
  }
  if (args.words.length > 0) return { kind: 'command' };
  // Events without a target are counted everywhere, as in perf; no words at all are a question.
  if (args.given.length > 0) return { kind: 'cpus' };
  throw new UsageError(
    'there is nothing to count',
    'Give a command, a process (-p PID), a thread (-t TID) or all CPUs (-a).',
  );
}

function aggregationOf(args: Arguments, scope: StatScope): Aggregation {
  const given = givenAggregation(args);
  if (given === null) return 'all';
  const { name, by } = given;
  if (by === 'thread' ? scope.kind === 'command' || scope.kind === 'cpus' : scope.kind !== 'cpus') {
    const who = by === 'thread' ? 'running threads (-p, -t or -a)' : 'whole CPUs (-a or -C)';
    const remedy =
      by === 'thread' && scope.kind === 'command'
        ? `A command is counted with all its threads. Start it first, then: counterpoint stat ${args.shown(name)} -p PID`
        : '';
    throw new UsageError(`${args.shown(name)} is for ${who}`, remedy);
  }
  return by;
}

function levelsOf(args: Arguments): 'all' | 'user' | 'kernel' {
  const [user, kernel] = [args.boolean('all-user'), args.boolean('all-kernel')];
  if (user && kernel) throw new UsageError('--all-user and --all-kernel exclude each other');
  return user ? 'user' : kernel ? 'kernel' : 'all';
}

interface Events {
  parsed: ParsedEvent[];
  /** The same as text; null where some of it is not in perf's grammar. */
  texts: string[] | null;
  named: StatSettings['named'];
}

/** `-e`, `--pfm-events`, `--filter` and `-M` in the order in which they stand. */
async function eventsOf(args: Arguments, scope: StatScope): Promise<Events> {
  const { systemEventLookup } = await import('../../../linux/kernel/local-pmus/index.ts');
  const lookup = systemEventLookup();
  const parsed: ParsedEvent[] = [];
  const named: StatSettings['named'] = [];
  let texts: string[] | null = [];
  const metrics = args.boolean('topdown') ? topdownMetrics(lookup) : [];
  for (const metric of args.all('metrics').flatMap(metricsOf))
    if (!metrics.includes(metric)) metrics.push(metric);
  const shared = sharedGroups(metrics);
  /** Where the events of a group begin. */
  const firstOf = new Map<MetricGroup, number>();
  const addMetrics = () => {
    for (const metric of metrics.splice(0)) {
      const events = metric.groups.flatMap((group) => {
        const counted = shared.get(group)!;
        const first = firstOf.get(counted) ?? parsed.length;
        if (!firstOf.has(counted)) {
          firstOf.set(counted, first);
          append(parsed, parseList(groupText(counted)));
          texts?.push(groupText(counted));
        }
        return group.map((event) => first + counted.indexOf(event));
      });
      named.push({ metric, events });
    }
  };
  let last: ParsedEvent[] = [];
  const eventsLeft = eventTexts(args);
  for (const { name, value } of args.given) {
    if (name === 'pfm-events' || name === 'filter') texts = null;
    if (name === 'event') {
      const text = eventsLeft.shift();
      // With --group the first one is all of them.
      if (text === undefined) continue;
      last = parseList(text);
      texts?.push(text);
    } else if (name === 'pfm-events') last = await pfmEvents(value!);
    else if (name === 'metrics' || name === 'topdown') {
      // All that -M names stands where the first one does.
      addMetrics();
      continue;
    } else if (name === 'filter') {
      if (last.length === 0 && args.has('set'))
        throw new UsageError(
          '--filter applies to the tracepoints of the -e before it, not to a --set',
          'Use -e for it.',
        );
      const { applyFilter } = await import('@counterpoint/core/events');
      applyFilter(last, value!, lookup);
      continue;
    } else continue;
    append(parsed, last);
  }
  const detail = args.count('detailed');
  if (parsed.length === 0 && detail > 0 && args.has('set'))
    throw new UsageError(
      '-d adds to the events of -e, but there are only sets',
      'Name the events of -d in a set.',
    );
  if (parsed.length > 0 && detail > 0) {
    const names = detailEvents(detail);
    append(parsed, parseList(names.join(',')));
    texts?.push(...names);
  }
  if (parsed.length === 0 && !args.has('set')) {
    const names = defaultEvents({
      detail,
      wholeCpus: scope.kind === 'cpus' || scope.kind === 'all-threads',
      hasPmuEvent: (name) => lookup.pmu('cpu')?.events.has(name) === true,
    });
    append(parsed, parseList(names.join(',')));
    texts?.push(...names);
  }
  if (scope.kind === 'cpus') countOncePerPackage(parsed, scope.cpus);
  return { parsed, named, texts };
}

/** Groups of different lists stay apart. */
function append(all: ParsedEvent[], more: readonly ParsedEvent[]): void {
  const first = Math.max(-1, ...all.map(({ group }) => group ?? -1)) + 1;
  for (const event of more) {
    if (event.group !== null) event.group += first;
    all.push(event);
  }
}

async function pfmEvents(text: string): Promise<ParsedEvent[]> {
  const [{ parsePfmEvents }, { systemPfmLibrary }] = await Promise.all([
    import('@counterpoint/core/events'),
    import('../../../linux/kernel/local-pmus/index.ts'),
  ]);
  return parsePfmEvents(text, systemPfmLibrary());
}

function metricsOf(names: string): NamedMetric[] {
  return fromCommandLine(() => names.split(',').map(findMetric));
}

/** What a room below says about a text is here about the command line. */
function fromCommandLine<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof CounterpointError) throw new UsageError(error.message, error.remedy);
    throw error;
  }
}

const DEFAULT_SLICE_MS = 100;

function switchingOf(args: Arguments, sets: number): SwitchRule | null {
  const text = args.string('switch');
  if (text === undefined) return sets > 1 ? { by: 'time', sliceMs: DEFAULT_SLICE_MS } : null;
  if (sets < 2) throw new UsageError('--switch is for several event sets', 'Give each set its own --set.');
  const rule = fromCommandLine(() => parseSwitchRule(text));
  if (rule.by === 'time' && rule.sliceMs > MOST_MS)
    throw new UsageError(`a slice of ${rule.sliceMs} ms is too long: at most ${MOST_MS} ms`);
  if (rule.by === 'overflow' && rule.count >= 1n << 63n)
    throw new UsageError(`an overflow of ${rule.event} after ${rule.count} never comes: at most 2^63 - 1`);
  return rule;
}
