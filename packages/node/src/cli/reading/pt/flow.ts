import { printableJson } from '@counterpoint/core/base';
import { defineVerb, EXIT_FAILURE, EXIT_OK } from '../../common/args.ts';
import { UsageError } from '../../common/usage-error.ts';
import { addressFilter, codeOpener, namedCode, PT_CODE_OPTIONS, type PtCodeName } from './code.ts';
import { PT_SETTINGS_OPTIONS, type PtSettingsName, ptSettings } from './settings.ts';
import { PT_SIDEBAND_OPTIONS, type PtSidebandName, sidebandFiles } from './sideband.ts';

type Name =
  | PtSettingsName
  | PtSidebandName
  | PtCodeName
  | 'quiet'
  | 'offset'
  | 'time'
  | 'no-inst'
  | 'keep-tcal-on-ovf'
  | 'insn:keep-tcal-on-ovf'
  | 'block:keep-tcal-on-ovf'
  | 'event:time'
  | 'event:ip'
  | 'event:tick'
  | 'event:iflags'
  | 'resync-on-error'
  | 'insn-decoder'
  | 'block-decoder'
  | 'block:show-blocks'
  | 'block:end-on-call'
  | 'block:end-on-jump'
  | 'stat'
  | 'stat:insn'
  | 'stat:blocks'
  | 'sb'
  | 'sb:compact'
  | 'sb:verbose'
  | 'sb:filename'
  | 'sb:offset'
  | 'sb:time'
  | 'sb:switch'
  | 'sb:warn'
  | 'pevent:sysroot'
  | 'pevent:vdso-x64'
  | 'json';

const OUTPUT = 'Output';
const EVENTS = 'Events';
const BLOCKS = 'Blocks';
const RECORDS = 'Records beside the trace';

export default defineVerb<Name>({
  name: 'pt flow',
  summary: 'print the instructions and events of a raw Intel PT trace',
  usage: '[options] FILE[:FROM[-TO]]',
  options: [
    { long: 'quiet', help: 'print only errors and what --stat counts', group: OUTPUT },
    { long: 'offset', help: 'the offset in the trace before each line', group: OUTPUT },
    { long: 'time', help: 'the TSC of the last event before each instruction', group: OUTPUT },
    { long: 'no-inst', help: 'addresses only', group: OUTPUT },
    { long: 'stat', help: 'print at the end how many instructions (and blocks) there were', group: OUTPUT },
    { long: 'stat:insn', help: 'print at the end how many instructions there were', group: OUTPUT },
    { long: 'stat:blocks', help: 'print at the end how many blocks there were', group: OUTPUT },
    { long: 'json', help: 'one JSON object a line (NDJSON); the last one sums up', group: OUTPUT },
    {
      long: 'resync-on-error',
      help: 'after an error, go on at the next event that has an address instead of the next PSB',
      group: OUTPUT,
    },
    { long: 'event:time', help: 'the TSC of events', group: EVENTS },
    { long: 'event:ip', help: 'the addresses of events', group: EVENTS },
    { long: 'event:tick', help: 'an event where time advances with a branch', group: EVENTS },
    { long: 'event:iflags', help: 'an event where interrupts are enabled or disabled', group: EVENTS },
    { long: 'insn-decoder', help: 'instructions without blocks (default)', group: BLOCKS },
    { long: 'block-decoder', help: 'instructions in blocks, as a block decoder gives them', group: BLOCKS },
    { long: 'block:show-blocks', help: 'print a line where a block begins', group: BLOCKS },
    { long: 'block:end-on-call', help: 'blocks end with direct calls, too', group: BLOCKS },
    { long: 'block:end-on-jump', help: 'blocks end with direct jumps, too', group: BLOCKS },
    { long: 'keep-tcal-on-ovf', help: 'keep the TSC ticks per cycle at overflows', group: EVENTS },
    { long: 'insn:keep-tcal-on-ovf', help: 'the same', group: EVENTS },
    { long: 'block:keep-tcal-on-ovf', help: 'the same', group: EVENTS },
    ...PT_CODE_OPTIONS,
    ...PT_SETTINGS_OPTIONS,
    ...PT_SIDEBAND_OPTIONS,
    {
      long: 'pevent:sysroot',
      value: 'DIR',
      mayBeEmpty: true,
      help: 'look for mapped files under DIR',
      group: RECORDS,
    },
    { long: 'pevent:vdso-x64', value: 'FILE', help: 'the file of [vdso]', group: RECORDS },
    { long: 'sb:compact', help: 'show the records, one line for each', group: RECORDS },
    { long: 'sb', help: 'the same', group: RECORDS },
    { long: 'sb:verbose', help: 'show the records, a line for each field', group: RECORDS },
    { long: 'sb:filename', help: 'the name of the file before each record', group: RECORDS },
    { long: 'sb:offset', help: 'the offset in the file before each record', group: RECORDS },
    { long: 'sb:time', help: 'the TSC before each record', group: RECORDS },
    { long: 'sb:switch', help: 'say which process runs', group: RECORDS },
    { long: 'sb:warn', help: 'say what was lost, and which code cannot be known', group: RECORDS },
  ],
  examples: [
    ['pt flow --raw code.bin:0x401000 trace.pt', 'every instruction of one piece of code'],
    [
      'pt flow --elf /bin/true --event:ip --event:time trace.pt',
      'an ELF file at its own addresses, events in full',
    ],
    [
      'pt flow --raw code.bin:0x401000 --quiet --stat trace.pt',
      'how many instructions, and where decoding failed',
    ],
    ['pt flow --json --raw code.bin:0x401000 trace.pt | tail -1', 'the same for a program'],
  ],
  async run({ args, out, err }) {
    const { FlowDecoder, printFlow, Sideband } = await import('@counterpoint/trace/intel-pt');
    const { notATrace, parseFilePart, readFilePart } = await import('./file.ts');
    const { ProgressLine } = await import('../../common/progress.ts');
    const [file, ...more] = args.words;
    if (file === undefined) throw new UsageError('no trace is named');
    if (more.length > 0) throw new UsageError(`one trace at a time, not also ${more.join(' ')}`);
    if (args.boolean('insn-decoder') && args.boolean('block-decoder'))
      throw new UsageError('give either --insn-decoder or --block-decoder');
    const settings = ptSettings<Name>(args);
    const channels = sidebandFiles<Name>(args);
    const filter = addressFilter<Name>(args);
    const part = parseFilePart(file);
    const bytes = readFilePart(part);
    const code = await namedCode<Name>(args);
    const json = args.boolean('json');
    const hasBlocks = args.boolean('block-decoder');
    const stat = args.boolean('stat');
    const statInsn = args.boolean('stat:insn');
    const statBlocks = args.boolean('stat:blocks');
    if (settings.unknownCpu && !json) out.line('[0, 0: config error: unknown cpu]');
    const decoder = new FlowDecoder(bytes, code.image, {
      errata: settings.errata,
      settings,
      filter,
      ticks: args.boolean('event:tick'),
      interruptFlags: args.boolean('event:iflags'),
      keepCalibrationOnOverflow:
        args.boolean('keep-tcal-on-ovf') ||
        args.boolean('insn:keep-tcal-on-ovf') ||
        args.boolean('block:keep-tcal-on-ovf'),
    });
    const say = (text: string) => out.line(json ? printableJson({ type: 'record', text }) : text);
    const verbose = args.boolean('sb:verbose');
    const vdso = args.string('pevent:vdso-x64');
    const session =
      channels.length === 0
        ? null
        : new Sideband(
            channels,
            {
              show: verbose || args.boolean('sb:compact') || args.boolean('sb'),
              verbose,
              filename: args.boolean('sb:filename'),
              offset: args.boolean('sb:offset'),
              time: args.boolean('sb:time'),
              warn: args.boolean('sb:warn'),
              showSwitches: args.boolean('sb:switch'),
              addCommonCode: (image) => code.addTo(image),
              openCode: codeOpener(
                part.path,
                args.string('pevent:sysroot') ?? '',
                new Map(vdso === undefined ? [] : [['[vdso]', vdso]]),
              ),
            },
            say,
          );
    // On a terminal the lines themselves are the progress.
    using progress = out.isTerminal ? null : new ProgressLine(err);
    const summary = printFlow(
      decoder,
      {
        json,
        quiet: args.boolean('quiet'),
        offset: args.boolean('offset'),
        time: args.boolean('time'),
        eventTime: args.boolean('event:time'),
        eventIp: args.boolean('event:ip'),
        resume: args.boolean('resync-on-error'),
        ...(hasBlocks
          ? {
              blocks: {
                show: args.boolean('block:show-blocks'),
                endOnCall: args.boolean('block:end-on-call'),
                endOnJump: args.boolean('block:end-on-jump'),
              },
              countBlocks: stat || statInsn || statBlocks,
            }
          : {}),
        ...(session === null
          ? {}
          : {
              onEvent: (event) => {
                const image = session.apply(event);
                if (image !== null) decoder.image = image;
              },
            }),
        onProgress: (done) => progress?.update(() => `decoding: ${Math.floor((done / bytes.length) * 100)}%`),
      },
      (line) => out.line(line),
    );
    // What is counted was named, or else everything.
    const all = stat && !statInsn && !statBlocks;
    if ((all || statInsn) && !json) out.line(`insn: ${summary.instructions}.`);
    if (((all && hasBlocks) || statBlocks) && !json) out.line(`blocks:\t${summary.blocks}.`);
    const nothing = notATrace(bytes);
    if (nothing !== null) err.line(`counterpoint: ${nothing}.`);
    return nothing === null ? EXIT_OK : EXIT_FAILURE;
  },
});
