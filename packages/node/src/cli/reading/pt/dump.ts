import { defineVerb, EXIT_FAILURE, EXIT_OK } from '../../common/args.ts';
import { UsageError } from '../../common/usage-error.ts';
import { PT_SETTINGS_OPTIONS, type PtSettingsName, ptSettings } from './settings.ts';
import { PT_SIDEBAND_OPTIONS, type PtSidebandName, sidebandFiles } from './sideband.ts';

type Name =
  | PtSettingsName
  | PtSidebandName
  | 'no-sync'
  | 'quiet'
  | 'no-pad'
  | 'no-timing'
  | 'no-cyc'
  | 'no-offset'
  | 'raw'
  | 'lastip'
  | 'exec-mode'
  | 'time'
  | 'tcal'
  | 'time-delta'
  | 'no-tcal'
  | 'no-wall-clock'
  | 'keep-tcal-on-ovf'
  | 'sb'
  | 'sb:compact'
  | 'sb:verbose'
  | 'sb:filename'
  | 'sb:offset'
  | 'sb:time'
  | 'sb:warn'
  | 'json'
  | Unused;

/** Options of libipt's tools that say where code is: a dump of packets has no use for it. */
const UNUSED = ['sysroot', 'kcore', 'vdso-x64', 'vdso-x32', 'vdso-ia32'] as const;
type Unused = `pevent:${(typeof UNUSED)[number]}`;

const OUTPUT = 'Output';
const TIME = 'Time';
const RECORDS = 'Records beside the trace';

export default defineVerb<Name>({
  name: 'pt dump',
  summary: 'print the packets of a raw Intel PT trace',
  usage: '[options] FILE[:FROM[-TO]]',
  options: [
    { long: 'no-sync', help: 'begin at the first byte instead of the first PSB', group: OUTPUT },
    { long: 'raw', help: "the packet's bytes", group: OUTPUT },
    { long: 'lastip', help: 'the whole address of packets that carry one', group: OUTPUT },
    { long: 'exec-mode', help: 'the execution mode at mode.exec', group: OUTPUT },
    { long: 'no-offset', help: 'no offsets', group: OUTPUT },
    { long: 'no-pad', help: 'no PAD packets', group: OUTPUT },
    { long: 'no-timing', help: 'no timing packets', group: OUTPUT },
    { long: 'no-cyc', help: 'no CYC packets, neither shown nor used for time', group: OUTPUT },
    { long: 'quiet', help: 'print only errors', group: OUTPUT },
    { long: 'json', help: 'one JSON object a line (NDJSON); the last one sums up', group: OUTPUT },
    { long: 'time', help: 'the estimated TSC at timing packets', group: TIME },
    { long: 'tcal', help: 'the estimated TSC ticks per cycle at timing packets', group: TIME },
    { long: 'time-delta', help: 'differences instead of values', group: TIME },
    {
      long: 'no-tcal',
      help: 'do not learn the TSC ticks per cycle; CYC packets then give no time',
      group: TIME,
    },
    { long: 'no-wall-clock', help: 'expect no TSC packet; time may be relative', group: TIME },
    { long: 'keep-tcal-on-ovf', help: 'keep the TSC ticks per cycle at overflows', group: TIME },
    ...PT_SETTINGS_OPTIONS,
    ...PT_SIDEBAND_OPTIONS,
    { long: 'sb:compact', help: 'show the records, one line for each', group: RECORDS },
    { long: 'sb', help: 'the same', group: RECORDS },
    { long: 'sb:verbose', help: 'show the records, a line for each field', group: RECORDS },
    { long: 'sb:filename', help: 'the name of the file before each record', group: RECORDS },
    { long: 'sb:offset', help: 'the offset in the file before each record', group: RECORDS },
    { long: 'sb:time', help: 'the TSC before each record', group: RECORDS },
    { long: 'sb:warn', help: 'say what is wrong with the files', group: RECORDS },
    ...UNUSED.map((name) => ({
      long: `pevent:${name}` as const,
      value: 'PATH',
      help: 'accepted for libipt; has no effect here',
      group: RECORDS,
    })),
  ],
  examples: [
    ['pt dump trace.pt', 'every packet, a line each'],
    ['pt dump --raw --lastip trace.pt:0x1000-0x2000', 'a part of the file, with bytes and whole addresses'],
    [
      'pt dump --time --mtc-freq 3 --nom-freq 21 --cpuid-0x15.eax 1 --cpuid-0x15.ebx 84 t.pt',
      'the TSC at each timing packet',
    ],
    ['pt dump --json trace.pt | tail -1', 'how many packets, and how many errors'],
  ],
  async run({ args, out, err }) {
    const { dumpPackets, sidebandLines } = await import('@counterpoint/trace/intel-pt');
    const { notATrace, parseFilePart, readFilePart } = await import('./file.ts');
    const { ProgressLine } = await import('../../common/progress.ts');
    const [file, ...more] = args.words;
    if (file === undefined) throw new UsageError('no trace is named');
    if (more.length > 0) throw new UsageError(`one trace at a time, not also ${more.join(' ')}`);
    if (args.boolean('time') && args.boolean('tcal')) throw new UsageError('give either --time or --tcal');
    const settings = ptSettings<Name>(args);
    const files = sidebandFiles<Name>(args);
    const bytes = readFilePart(parseFilePart(file));
    const verbose = args.boolean('sb:verbose');
    const shows = verbose || args.boolean('sb:compact') || args.boolean('sb');
    const json = args.boolean('json');
    if (settings.unknownCpu && !json) out.line('[0: failed to determine errata: unknown cpu]');
    // On a terminal the lines themselves are the progress.
    using progress = out.isTerminal ? null : new ProgressLine(err);
    dumpPackets(
      bytes,
      {
        settings,
        noSync: args.boolean('no-sync'),
        quiet: args.boolean('quiet'),
        noPad: args.boolean('no-pad'),
        noTiming: args.boolean('no-timing'),
        noCyc: args.boolean('no-cyc'),
        noOffset: args.boolean('no-offset'),
        raw: args.boolean('raw'),
        lastIp: args.boolean('lastip'),
        execMode: args.boolean('exec-mode'),
        delta: args.boolean('time-delta'),
        noCalibration: args.boolean('no-tcal'),
        noWallClock: args.boolean('no-wall-clock'),
        keepCalibrationOnOverflow: args.boolean('keep-tcal-on-ovf'),
        json,
        ...(args.boolean('time') ? { track: 'time' } : args.boolean('tcal') ? { track: 'calibration' } : {}),
        ...(files.length > 0 && shows
          ? {
              sideband: sidebandLines(files, {
                verbose,
                filename: args.boolean('sb:filename'),
                offset: args.boolean('sb:offset'),
                time: args.boolean('sb:time'),
                warn: args.boolean('sb:warn'),
              }),
            }
          : {}),
        onProgress: (done) => progress?.update(() => `dumping: ${Math.floor((done / bytes.length) * 100)}%`),
      },
      (line) => out.line(line),
    );
    // From the first byte on, packets need no synchronization point.
    const nothing = args.boolean('no-sync') && bytes.length > 0 ? null : notATrace(bytes);
    if (nothing !== null) err.line(`counterpoint: ${nothing}.`);
    return nothing === null ? EXIT_OK : EXIT_FAILURE;
  },
});
