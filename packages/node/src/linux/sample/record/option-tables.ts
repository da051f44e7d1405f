import { MOST_TIMER_MS } from '@counterpoint/core/base';
import {
  ANYTHING,
  checkOptions,
  either,
  FLAG,
  FUNCTION,
  listOf,
  numberFrom,
  OBJECT,
  type OptionsOf,
  objectOf,
  oneOf,
  SIGNAL,
  TEXT,
  wholeNumberFrom,
} from '../../../host/options/index.ts';
import {
  MOST_STACK_BYTES,
  SAMPLE_PARTS,
  type SamplePart,
  SIDEBAND_PARTS,
  type SidebandPart,
} from '../../kernel/perf-events/index.ts';
import { COMMAND, LAUNCH_OPTIONS, SYNTHESIS_PARTS } from '../../kernel/target/index.ts';
import type { LiveProfileOptions } from './live/live-options.ts';
import type { RecordOptions } from './options.ts';
import { MOST_COMPRESSION_LEVEL } from './zstd-compressor.ts';

/** What `parseEvents` gives. */
const PARSED_EVENT = {
  expects: 'an event of parseEvents()',
  accepts: (value: unknown) => OBJECT.accepts(value) && OBJECT.accepts((value as { attr?: unknown }).attr),
};
const NUMBER = { expects: 'a number', accepts: (value: unknown) => typeof value === 'number' };
const TIME_MS = numberFrom(0, MOST_TIMER_MS);
const MOST_PAGES = 2 ** 20;
/** `sample_aux_size` of the kernel is 16 bits of bytes; perf allows as much. */
const MOST_SAMPLED_BYTES = 60 * 1024;
const NUMBERS = listOf(NUMBER, 'a list of numbers');

/**
 * Those that the kernel gives events (`perf_event_set_clock`): REALTIME, MONOTONIC, MONOTONIC_RAW,
 * BOOTTIME, TAI of linux/time.h.
 */
const CLOCKS = [0, 1, 4, 7, 11];

const REGISTER_LIST = either(listOf(TEXT, 'a list of registers'), oneOf('all'));

const OPTIONS: OptionsOf<RecordOptions> = {
  command: { ...COMMAND, code: 'ERR_COMMAND' },
  pids: NUMBERS,
  tids: NUMBERS,
  uid: wholeNumberFrom(0, 2 ** 32 - 1),
  systemWide: FLAG,
  cpus: NUMBERS,
  events: either(TEXT, listOf(either(TEXT, PARSED_EVENT), 'a list of events')),
  frequency: either(wholeNumberFrom(1), oneOf('max')),
  period: either(wholeNumberFrom(1), {
    expects: 'a bigint from 1',
    accepts: (value) => typeof value === 'bigint' && value >= 1n,
  }),
  // Says what it cannot do.
  callGraph: ANYTHING,
  // Says which words there are.
  branchStack: listOf(TEXT, 'a list of kinds of branches'),
  userStackBytes: wholeNumberFrom(8, MOST_STACK_BYTES),
  sampleParts: listOf(oneOf(...(Object.keys(SAMPLE_PARTS) as SamplePart[])), 'a list of parts of samples'),
  sideband: listOf(oneOf(...(Object.keys(SIDEBAND_PARTS) as SidebandPart[])), 'a list of side-band records'),
  samples: FLAG,
  taskCounts: FLAG,
  bpfPrograms: FLAG,
  synthesis: listOf(oneOf(...SYNTHESIS_PARTS), 'a list of what is synthesized'),
  interruptRegisters: REGISTER_LIST,
  userRegisters: REGISTER_LIST,
  filters: listOf(either(TEXT, oneOf(null)), 'a list of filters'),
  cgroups: listOf(either(TEXT, oneOf(null)), 'a list of control groups'),
  excludeRecorder: FLAG,
  callchains: oneOf('both', 'user', 'kernel'),
  levels: oneOf('all', 'user', 'kernel'),
  inherit: FLAG,
  perThread: FLAG,
  wakeupEvents: wholeNumberFrom(1, 2 ** 32 - 1),
  wakeupBytes: wholeNumberFrom(1, 2 ** 31),
  traceBytes: wholeNumberFrom(4096, 2 ** 40),
  traceSnapshots: oneOf('when-asked', 'and-at-end'),
  traceSnapshotBytes: wholeNumberFrom(1),
  traceSampleBytes: wholeNumberFrom(1, MOST_SAMPLED_BYTES),
  clockId: oneOf(...CLOCKS),
  eventLoops: FLAG,
  formats: listOf(either(TEXT, OBJECT), 'a list of sampling formats'),
  onFunction: TEXT,
  stopAfter: wholeNumberFrom(1),
  softWay: oneOf('step', 'fast'),
  mmapPages: wholeNumberFrom(1, MOST_PAGES),
  realtimePriority: wholeNumberFrom(1, 99),
  output: TEXT,
  bufferBytes: wholeNumberFrom(0),
  compressionLevel: wholeNumberFrom(1, MOST_COMPRESSION_LEVEL),
  delayMs: TIME_MS,
  startDisabled: FLAG,
  onControl: FUNCTION,
  timestampFilename: FLAG,
  switchOutput: objectOf({
    bytes: wholeNumberFrom(1),
    everyMs: numberFrom(1, MOST_TIMER_MS),
    mostFiles: wholeNumberFrom(1),
  }),
  onSwitch: FUNCTION,
  maxSizeBytes: wholeNumberFrom(1),
  buildIds: FLAG,
  nodeNames: oneOf('auto', true, false),
  keepPerfMaps: FLAG,
  launch: objectOf(LAUNCH_OPTIONS),
  signal: SIGNAL,
  onProgress: FUNCTION,
  progressIntervalMs: numberFrom(1, MOST_TIMER_MS),
  onStart: FUNCTION,
  onNote: FUNCTION,
  onWaitForReader: FUNCTION,
  onStop: FUNCTION,
  commandGraceMs: numberFrom(0),
  flushIntervalMs: TIME_MS,
  toolVersion: TEXT,
  commandLine: COMMAND,
  sys: OBJECT,
};

export function checkRecordOptions(where: string, options: RecordOptions): void {
  checkOptions(where, options, OPTIONS);
}

/** Those of a recording that a live profile has, too. */
const LIVE_NAMES = [
  'command',
  'pids',
  'tids',
  'systemWide',
  'cpus',
  'events',
  'frequency',
  'period',
  'levels',
  'inherit',
  'nodeNames',
  'launch',
  'commandGraceMs',
  'sys',
] as const;

/** The rows of some options, for whoever has them, too. */
export function recordingOptionTable<Name extends keyof RecordOptions>(
  names: readonly Name[],
): Pick<OptionsOf<RecordOptions>, Name> {
  return Object.fromEntries(names.map((name) => [name, OPTIONS[name]])) as Pick<
    OptionsOf<RecordOptions>,
    Name
  >;
}

const LIVE_OPTIONS: OptionsOf<LiveProfileOptions> = {
  ...recordingOptionTable(LIVE_NAMES),
  intervalMs: numberFrom(1, MOST_TIMER_MS),
  keepShare: numberFrom(0, 1),
  nameWaitMs: numberFrom(0),
  symbols: OBJECT,
};

export function checkLiveOptions(options: LiveProfileOptions): void {
  checkOptions('LiveProfile.open()', options, LIVE_OPTIONS);
}
