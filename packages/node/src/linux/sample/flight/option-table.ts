import {
  checkOptions,
  FLAG,
  FUNCTION,
  listOf,
  numberFrom,
  type OptionsOf,
  TEXT,
  wholeNumberFrom,
} from '../../../host/options/index.ts';
import { recordingOptionTable } from '../record/index.ts';
import type { FlightOptions } from './options.ts';

/** Of those that a recording has, too. */
const SHARED = [
  'command',
  'pids',
  'tids',
  'systemWide',
  'cpus',
  'events',
  'frequency',
  'period',
  'callGraph',
  'callchains',
  'formats',
  'levels',
  'inherit',
  'clockId',
  'buildIds',
  'nodeNames',
  'launch',
  'signal',
  'onNote',
  'commandGraceMs',
  'toolVersion',
  'commandLine',
  'sys',
] as const;

const OPTIONS: OptionsOf<FlightOptions> = {
  ...recordingOptionTable(SHARED),
  on: listOf(TEXT, 'a list of triggers'),
  minIntervalMs: numberFrom(0),
  onDump: FUNCTION,
  onDumpError: FUNCTION,
  keepMs: numberFrom(1),
  memoryBytes: wholeNumberFrom(1),
  directory: TEXT,
  prefix: TEXT,
  maxFiles: wholeNumberFrom(1),
  maxFileBytes: wholeNumberFrom(1),
  fixedSize: FLAG,
};

export function checkFlightOptions(options: FlightOptions): void {
  checkOptions('flight()', options, OPTIONS);
}
