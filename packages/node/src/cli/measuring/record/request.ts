import { MOST_TIMER_MS, optional, parseDurationMs, parseSizeBytes } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { MOST_STACK_BYTES } from '../../../linux/kernel/perf-events/index.ts';
import type { SynthesisPart } from '../../../linux/kernel/target/index.ts';
import { MOST_COMPRESSION_LEVEL, type RecordOptions } from '../../../linux/sample/record/index.ts';
import { eventTexts } from '../../common/group-option.ts';
import type { ParsedArguments } from '../../common/parsed-arguments.ts';
import { UsageError } from '../../common/usage-error.ts';
import { packageVersion } from '../../common/version.ts';
import { samplingRequest } from '../shared/sampling-options.ts';
import type { RecordName } from './record.ts';
import { sampleOptions } from './sample-rows.ts';
import { bufferSizes, snapshotOptions } from './trace-options.ts';
import { userNumber } from './user-number.ts';

type Arguments = ParsedArguments<RecordName>;

/** The command line as a request of `record`. */
export async function recordOptions(args: Arguments): Promise<RecordOptions> {
  refuseWhatIsMissing(args);
  const options: RecordOptions = {
    command: args.words,
    systemWide: args.boolean('all-cpus'),
    ...callGraph(args),
    ...branchStack(args),
    callchains: exclusive(args, 'user-callchains', 'kernel-callchains', ['user', 'kernel', 'both']),
    levels: exclusive(args, 'all-user', 'all-kernel', ['user', 'kernel', 'all']),
    inherit: !args.boolean('no-inherit'),
    ...perThread(args),
    ...samplingRequest(args),
    buildIds: !args.boolean('no-buildid'),
    toolVersion: `counterpoint ${packageVersion()}`,
    commandLine: [process.argv[1] ?? 'counterpoint', ...process.argv.slice(2)],
  };
  const set = <Name extends keyof RecordOptions>(name: Name, value: RecordOptions[Name]) => {
    if (value !== undefined) options[name] = value;
  };
  if (args.has('pid')) set('pids', args.numbers('pid', { min: 1 }));
  if (args.has('tid')) set('tids', args.numbers('tid', { min: 1 }));
  const cpus = args.ranges('cpu');
  if (args.has('cpu')) set('cpus', cpus);
  if (args.has('uid')) set('uid', await userNumber(args));
  if (args.has('cgroup')) set('cgroups', cgroupsOf(args));
  if (args.has('synth')) set('synthesis', synthesisOf(args));
  set('formats', formats(args));
  Object.assign(options, sampleOptions(args), await eventsOf(args));
  if (args.boolean('exclude-perf')) options.excludeRecorder = true;
  set('clockId', clockId(args));
  set('onFunction', args.string('on-function'));
  set('softWay', args.choice('soft-way', ['step', 'fast']) as RecordOptions['softWay']);
  set('stopAfter', args.quantity('stop-after', { min: 1 }));
  Object.assign(options, bufferSizes(args), snapshotOptions(args));
  set('traceSampleBytes', args.sizeBytes('aux-sample', { min: 1 }));
  if (args.boolean('no-buffering')) options.wakeupEvents = 1;
  set('bufferBytes', args.sizeBytes('buffer', { min: 0 }));
  set('realtimePriority', args.number('realtime', { min: 1, max: 99 }));
  if (args.boolean('no-js')) set('nodeNames', false);
  if (args.boolean('keep-perf-maps')) set('keepPerfMaps', true);
  set('output', args.string('output'));
  set('compressionLevel', args.number('compression-level', { min: 1, max: MOST_COMPRESSION_LEVEL }));
  if (args.string('delay') !== '-1') set('delayMs', args.durationMs('delay', { min: 0, max: MOST_TIMER_MS }));
  else if (args.has('control')) options.startDisabled = true;
  else
    throw new UsageError(
      '-D -1 begins with everything off, but nothing would turn it on',
      'Give a pipe for the word enable: mkfifo FILE, then --control fifo:FILE',
    );
  Object.assign(options, outputSwitching(args));
  set('maxSizeBytes', args.sizeBytes('max-size', { min: 1 }));
  if (args.boolean('loop')) options.eventLoops = true;
  return options;
}

/** `fp`, `lbr`, `dwarf` or `dwarf,SIZE`, as perf has it; `auto`. */
function callGraph(args: Arguments): Pick<RecordOptions, 'callGraph' | 'userStackBytes'> {
  const given = args.string('call-graph');
  if (given === undefined) return { callGraph: args.boolean('g') };
  const [mode, size, ...rest] = given.split(',');
  const expected = 'auto, fp, lbr, dwarf or dwarf,SIZE';
  const isPlain = mode === 'auto' || mode === 'fp' || mode === 'lbr';
  if ((!isPlain && mode !== 'dwarf') || rest.length > 0 || (isPlain && size !== undefined))
    throw args.refuse('call-graph', expected);
  if (isPlain) return { callGraph: mode };
  if (size === undefined) return { callGraph: 'dwarf' };
  const userStackBytes = parseSizeBytes(size);
  if (userStackBytes === null || userStackBytes < 8 || userStackBytes > MOST_STACK_BYTES)
    throw args.refuse('call-graph', expected, `SIZE is from 8 to ${MOST_STACK_BYTES} bytes.`);
  return { callGraph: 'dwarf', userStackBytes };
}

/** `-b` is `-j any`, as in perf. */
function branchStack(args: Arguments): Pick<RecordOptions, 'branchStack'> {
  const given = args.list('branch-filter');
  if (!args.boolean('branch-any')) return given.length > 0 ? { branchStack: given } : {};
  if (given.length === 0) return { branchStack: ['any'] };
  throw new UsageError('-b and -j exclude each other', '-b is -j any: add words to -j, as in -j any,u.');
}

/** Events in the order in which they were given, and the filters of each: all of them must hold. */
async function eventsOf(args: Arguments): Promise<Pick<RecordOptions, 'events' | 'filters'>> {
  const events: (string | ParsedEvent)[] = [];
  const filters: (string | null)[] = [];
  if (args.boolean('group')) return { events: eventTexts(args) };
  for (const { name, value } of args.given) {
    if (name === 'event' || name === 'pfm-events') {
      const added = name === 'event' ? [value!] : await pfmEvents(value!);
      events.push(...added);
      filters.push(...added.map(() => null));
    }
    if (name !== 'filter') continue;
    if (filters.length === 0)
      throw new UsageError(
        '--filter stands before any event',
        "Give it behind its tracepoint: -e sched:sched_switch --filter 'prev_pid == 1'.",
      );
    const before = filters.pop() ?? null;
    filters.push(before === null ? value : `(${before}) && (${value})`);
  }
  return {
    ...(args.has('pfm-events') ? { events: events as RecordOptions['events'] & object } : {}),
    ...(filters.some((filter) => filter !== null) ? { filters } : {}),
  };
}

async function pfmEvents(text: string): Promise<ParsedEvent[]> {
  const [{ parsePfmEvents }, { systemPfmLibrary }] = await Promise.all([
    import('@counterpoint/core/events'),
    import('../../../linux/kernel/local-pmus/index.ts'),
  ]);
  return parsePfmEvents(text, systemPfmLibrary());
}

/** perf's --off-cpu is a format beside those that are given, or beside the kernel's own records. */
function formats(args: Arguments): RecordOptions['formats'] {
  const given = args.all('format');
  if (!args.boolean('off-cpu')) return given.length > 0 ? given : undefined;
  const isGiven = given.some((one) => /^off-cpu(?:,|$)/.test(one));
  return [...(given.length > 0 ? given : ['ring']), ...(isGiven ? [] : ['off-cpu'])];
}

function refuseWhatIsMissing(args: Arguments): void {
  const named = ['pid', 'tid', 'uid', 'cpu', 'cgroup'] as const;
  const hasTarget = named.some((name) => args.has(name)) || args.boolean('all-cpus');
  if (!hasTarget && args.words.length === 0) {
    throw new UsageError(
      'there is nothing to record',
      'Give a command, a process (-p PID), a thread (-t TID) or all CPUs (-a).',
    );
  }
  if (args.boolean('json') && !args.boolean('plan'))
    throw new UsageError(
      '--json is for --plan',
      'To read a recording as JSON, use report --json or script --json.',
    );
  if (args.string('output') === '-' && process.stdout.isTTY)
    throw new UsageError(
      '-o - writes a binary stream, and standard output is a terminal',
      'Send it to a file or a pipe.',
    );
}

function perThread(args: Arguments): Pick<RecordOptions, 'perThread'> {
  if (!args.boolean('per-thread')) return {};
  const names = ['all-cpus', 'cpu', 'cgroup', 'inherit', 'format', 'off-cpu', 'loop'] as const;
  const given = names.find((name) => args.boolean(name) || args.string(name) !== undefined);
  if (given !== undefined) throw new UsageError(`--per-thread does not go with ${args.shown(given)}`);
  return { perThread: true };
}

function exclusive<Value>(
  args: Arguments,
  first: RecordName,
  second: RecordName,
  values: [Value, Value, Value],
): Value {
  const [one, two] = [args.boolean(first), args.boolean(second)];
  if (one && two) throw new UsageError(`--${first} and --${second} exclude each other`);
  return one ? values[0] : two ? values[1] : values[2];
}

const CLOCKS: Readonly<Record<string, number>> = {
  realtime: 0,
  real: 0,
  monotonic: 1,
  mono: 1,
  monotonic_raw: 4,
  raw: 4,
  boottime: 7,
  boot: 7,
  tai: 11,
};

function clockId(args: Arguments): number | undefined {
  const text = args.string('clockid');
  if (text === undefined) return undefined;
  const known = CLOCKS[text.toLowerCase().replace(/^clock_/, '')];
  if (known !== undefined) return known;
  if (/^\d+$/.test(text) && Object.values(CLOCKS).includes(Number(text))) return Number(text);
  throw args.refuse('clockid', `one of ${Object.keys(CLOCKS).join(', ')}`);
}

/** perf's words: `no` is nothing of /proc, `all` everything. Maps are of tasks. */
const SYNTHESIS: Readonly<Record<string, readonly SynthesisPart[]>> = {
  no: [],
  task: ['tasks'],
  mmap: ['tasks', 'maps'],
  cgroup: ['cgroups'],
  all: ['tasks', 'maps', 'cgroups'],
};

function synthesisOf(args: Arguments): readonly SynthesisPart[] {
  const words = args.list('synth');
  const unknown = words.find((word) => SYNTHESIS[word] === undefined);
  if (unknown !== undefined) throw args.refuse('synth', `some of ${Object.keys(SYNTHESIS).join(', ')}`);
  return [...new Set(words.flatMap((word) => SYNTHESIS[word]!))];
}

/** perf's rule: one for all events, or one for each; an empty place is an event of everybody. */
function cgroupsOf(args: Arguments): readonly (string | null)[] {
  const paths = args.all('cgroup').flatMap((value) => value.split(','));
  const outside = paths.find((path) => path.split('/').includes('..'));
  if (outside !== undefined)
    throw new UsageError(
      `'${outside}' is not a control group: its path begins at the mount and has no ..`,
      'Give it as in /proc/PID/cgroup, after the last colon.',
    );
  return paths.map((path) => (path === '' ? null : path));
}

/** perf's order: a size has a unit of bytes, a time one of seconds, and a signal is meant without either. */
function outputSwitching(args: Arguments): Pick<RecordOptions, 'switchOutput' | 'timestampFilename'> {
  const text = args.string('switch-output');
  const mostFiles = args.number('switch-max-files', { min: 1 });
  if (text === undefined) {
    if (mostFiles !== undefined)
      throw new UsageError('--switch-max-files is for --switch-output', 'Give --switch-output=10M, too.');
    return args.boolean('timestamp-filename') ? { timestampFilename: true } : {};
  }
  const most = optional({ mostFiles });
  if (text === 'signal') return { switchOutput: most };
  const everyMs = /[smhd]$/.test(text) ? parseDurationMs(text) : null;
  if (everyMs !== null && everyMs > 0 && everyMs <= MOST_TIMER_MS)
    return { switchOutput: { everyMs, ...most } };
  const bytes = /[BKMG]$/i.test(text) ? parseSizeBytes(text) : null;
  if (bytes !== null && bytes > 0) return { switchOutput: { bytes, ...most } };
  throw args.refuse('switch-output', 'signal, a size such as 100M, or a time such as 30s');
}
