import { CounterpointError } from '@counterpoint/core/base';
import {
  ANYTHING,
  checkOptions,
  either,
  FLAG,
  FUNCTION,
  isPlainObject,
  listOf,
  numberFrom,
  OBJECT,
  type OptionsOf,
  type OptionTable,
  objectOf,
  oneOf,
  required,
  SIGNAL,
  shownValue,
  TEXT,
  wholeNumberFrom,
} from '../../../host/options/index.ts';
import { COMMAND, LAUNCH_OPTIONS } from '../../kernel/target/index.ts';
import type { ControlRequest } from '../counting/index.ts';
import type { Measurement } from './measurement.ts';
import type { RowOptions } from './row-options.ts';
import type { RunOptions, StatScope } from './run-options.ts';

/** What a timer takes. */
const MOST_MS = 2 ** 31 - 1;
const IDS = listOf(wholeNumberFrom(0), 'a list of numbers');

/** What it says is looked into where it is opened. */
const CONTROL: OptionsOf<ControlRequest> = {
  events: ANYTHING,
  sets: ANYTHING,
  overflows: ANYTHING,
  switching: ANYTHING,
  madeOf: OBJECT,
};

const OPTIONS: OptionsOf<RunOptions> = {
  scope: ANYTHING,
  command: COMMAND,
  launch: objectOf(LAUNCH_OPTIONS),
  control: { ...required(either(OBJECT, oneOf(null))), fields: CONTROL },
  inherit: FLAG,
  levels: oneOf('all', 'user', 'kernel'),
  pinned: FLAG,
  exclusive: oneOf(true, false, 'require'),
  delayMs: numberFrom(0, MOST_MS),
  startDisabled: FLAG,
  timeoutMs: numberFrom(0, MOST_MS),
  intervalMs: numberFrom(1, MOST_MS),
  intervalCount: wholeNumberFrom(1),
  signal: SIGNAL,
  sys: OBJECT,
  onStart: FUNCTION,
  onInterval: FUNCTION,
};

const SCOPES: Readonly<Record<StatScope['kind'], OptionTable>> = {
  command: {},
  processes: { pids: required(IDS) },
  threads: { tids: required(IDS) },
  'all-threads': {},
  cpus: { cpus: IDS, cgroups: listOf(TEXT, 'a list of paths') },
};

export function checkRunOptions(options: RunOptions): void {
  checkOptions('countRun()', options, OPTIONS);
  const scope: unknown = options.scope;
  const { kind, ...rest } = isPlainObject(scope) ? scope : {};
  if (typeof kind !== 'string' || !Object.hasOwn(SCOPES, kind))
    throw new CounterpointError(
      'ERR_OPTION',
      `countRun(): scope should be an object whose kind is one of ${Object.keys(SCOPES).join(', ')}, but is ${shownValue(kind ?? scope)}`,
      "Give { kind: 'command' } and a command, or another kind.",
    );
  checkOptions(`the scope ${kind}`, rest, SCOPES[kind as StatScope['kind']]);
  const { command = [] } = options;
  if (kind === 'command' && command.length === 0)
    throw new CounterpointError(
      'ERR_OPTION',
      'countRun(): the scope is a command, but there is no command',
      "Give command: ['node', 'app.js'], for example, or another scope.",
    );
}

const ROW_OPTIONS: OptionsOf<RowOptions> = {
  by: required(oneOf('all', 'cpu', 'core', 'die', 'socket', 'node', 'thread')),
  named: listOf(OBJECT, 'a list of metrics with their events'),
  unscaled: FLAG,
  hideIdle: FLAG,
  cpuPlace: FUNCTION,
  threadName: FUNCTION,
};
const RUNS = {
  runs: required({
    expects: 'a list of one or more measurements',
    accepts: (runs: unknown) => Array.isArray(runs) && runs.length > 0 && runs.every(isPlainObject),
  }),
};

export function checkRowOptions(runs: readonly Measurement[], options: RowOptions): void {
  checkOptions('rowsOf()', { runs }, RUNS);
  checkOptions('rowsOf()', options, ROW_OPTIONS);
}
