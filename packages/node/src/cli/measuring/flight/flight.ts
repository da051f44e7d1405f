import { defineVerb } from '../../common/args.ts';
import { nodeNamesOption, type SamplingName, samplingOptions } from '../shared/sampling-options.ts';
import { type TargetName, targetOptions } from '../shared/target-options.ts';

export type FlightName =
  | Exclude<TargetName, 'delay'>
  | SamplingName
  | 'call-graph'
  | 'format'
  | 'node-names'
  | 'on'
  | 'min-interval'
  | 'max-dumps'
  | 'keep'
  | 'memory'
  | 'output'
  | 'prefix'
  | 'max-files'
  | 'max-size'
  | 'fixed-size'
  | 'no-buildid'
  | 'json'
  | 'quiet';

const TARGET = 'Target';
const EVENTS = 'Events';
const TRIGGERS = 'Triggers';
const HISTORY = 'History';
const FILES = 'Files';

export default defineVerb<FlightName>({
  name: 'flight',
  needsLinux: true,
  summary: 'keep what happened last, and write it to a file when something happens',
  usage: [
    '[--on TRIGGER]... [options] [--] COMMAND [ARGUMENTS]',
    '[--on TRIGGER]... [options] -p PID | -t TID | -a',
  ],
  command: true,
  options: [
    ...targetOptions(TARGET).filter(isOurs),
    ...samplingOptions(EVENTS).map((row) =>
      row.long === 'freq'
        ? { ...row, help: 'samples per second (default 99); max: as many as the kernel allows' }
        : row,
    ),
    {
      long: 'call-graph',
      value: 'MODE',
      help: 'fp: call chains by frame pointers (the default); no: none',
      group: EVENTS,
    },
    {
      long: 'format',
      value: 'NAME[,OPTION=VALUE]',
      help: 'keep what a sampling format gives: stacks (counts by call stack for each second: minutes in\nlittle memory), histogram, double-buffer, on-miss, ring, or a file of your own;\nNAME,help shows the options of one',
      repeat: true,
      group: EVENTS,
    },
    nodeNamesOption(EVENTS),
    {
      long: 'on',
      value: 'TRIGGER',
      help: 'write a file when this happens (counterpoint help triggers); signal:USR2 always does',
      repeat: true,
      group: TRIGGERS,
    },
    {
      long: 'min-interval',
      value: 'TIME',
      help: 'after a trigger has written a file, write none for this time (default 10s); every:TIME and signal:USR2 are not held back',
      group: TRIGGERS,
    },
    { long: 'max-dumps', value: 'N', help: 'end after N files', group: TRIGGERS },
    {
      long: 'keep',
      value: 'TIME',
      help: 'keep at most this much history (default 30s)',
      group: HISTORY,
    },
    {
      long: 'memory',
      short: 'm',
      value: 'SIZE',
      help: 'use at most this much memory for all buffers together (default 64M)',
      group: HISTORY,
    },
    {
      long: 'output',
      short: 'o',
      value: 'DIR',
      help: 'the directory for files (default: here)',
      group: FILES,
    },
    {
      long: 'prefix',
      value: 'NAME',
      help: 'begin the names of files with NAME (default flight)',
      group: FILES,
    },
    { long: 'max-files', value: 'N', help: 'keep the newest N files (default 16)', group: FILES },
    { long: 'max-size', value: 'SIZE', help: 'keep at most this much in files (default 1G)', group: FILES },
    {
      long: 'fixed-size',
      help: 'write histories of fixed-size records, each record one read away (counterpoint convert)',
      group: FILES,
    },
    { long: 'no-buildid', short: 'B', help: 'do not store build ids', group: FILES },
    { long: 'json', help: 'a line of JSON on standard output for each file', group: 'General' },
    { long: 'quiet', short: 'q', help: 'print errors only', group: 'General' },
  ],
  examples: [
    ['flight -p 1234', 'watch a service; kill -USR2 PID-OF-FLIGHT writes the last 30 seconds'],
    ['flight --on crash --on exit -- node app.js', 'what a program did before it ended'],
    ['flight --on key -p 1234', 'press Enter when it hangs'],
    ['flight --format stacks --keep 10m -p 1234', 'ten minutes, counted by call stack for each second'],
    ['flight --on psi:cpu:50% -a -o /var/tmp/flight', 'the whole machine, when tasks wait for a CPU'],
    [
      'flight --on event:syscalls:sys_enter_fsync --keep 2s -p 1234',
      'what led to each fsync, at most every 10 s',
    ],
    ['report flight-20261123-101500.250-1.data', 'read a file like any recording'],
  ],
  async run(context) {
    const { runFlight } = await import('./run.ts');
    return await runFlight(context);
  },
});

/** A delay says nothing here: what is old goes by itself. */
function isOurs<Row extends { long: string }>(row: Row): row is Row & { long: Exclude<TargetName, 'delay'> } {
  return row.long !== 'delay';
}
