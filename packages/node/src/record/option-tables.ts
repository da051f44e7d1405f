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
} from '../options/index.ts';
import { COMMAND, LAUNCH_OPTIONS } from '../target/index.ts';
import type { RecordOptions } from './options.ts';

const NUMBER = { expects: 'a number', accepts: (value: unknown) => typeof value === 'number' };
const NUMBERS = listOf(NUMBER, 'a list of numbers');

/** What each may be; how large, where it is used. */
const OPTIONS: OptionsOf<RecordOptions> = {
  command: { ...COMMAND, code: 'ERR_COMMAND' },
  pids: NUMBERS,
  tids: NUMBERS,
  systemWide: FLAG,
  cpus: NUMBERS,
  events: either(TEXT, listOf(either(TEXT, OBJECT), 'a list of events')),
  frequency: either(NUMBER, oneOf('max')),
  period: either(wholeNumberFrom(Number.MIN_SAFE_INTEGER), {
    expects: 'a bigint',
    accepts: (value) => typeof value === 'bigint',
  }),
  // Says what it cannot do.
  callGraph: ANYTHING,
  callchains: oneOf('both', 'user', 'kernel'),
  levels: oneOf('all', 'user', 'kernel'),
  inherit: FLAG,
  clockId: wholeNumberFrom(0),
  formats: listOf(either(TEXT, OBJECT), 'a list of sampling formats'),
  mmapPages: NUMBER,
  output: TEXT,
  delayMs: NUMBER,
  maxSizeBytes: NUMBER,
  buildIds: FLAG,
  nodeNames: oneOf('auto', true, false),
  launch: objectOf(LAUNCH_OPTIONS),
  signal: SIGNAL,
  onProgress: FUNCTION,
  progressIntervalMs: NUMBER,
  onStart: FUNCTION,
  commandGraceMs: numberFrom(0),
  flushIntervalMs: NUMBER,
  toolVersion: TEXT,
  commandLine: COMMAND,
  sys: OBJECT,
};

export function checkRecordOptions(where: string, options: RecordOptions): void {
  checkOptions(where, options, OPTIONS);
}
