import { optional, printableJson } from '@counterpoint/core/base';
import type { CallListener, FunctionLatency, TraceCalls } from '@counterpoint/trace/intel-pt';
import { defineVerb, EXIT_FAILURE, EXIT_OK, type VerbContext } from '../../common/args.ts';
import { UsageError } from '../../common/usage-error.ts';
import { addressFilter, namedCode, PT_CODE_OPTIONS, type PtCodeName } from './code.ts';
import { PT_SETTINGS_OPTIONS, type PtSettingsName, ptSettings } from './settings.ts';
import { PT_CLOCK_OPTIONS, type PtClockName, perfClock, TimeScale } from './time.ts';

type Name =
  | PtSettingsName
  | PtCodeName
  | PtClockName
  | 'function'
  | 'from'
  | 'to'
  | 'depth'
  | 'output'
  | 'format'
  | 'weight'
  | 'title'
  | 'resync-on-error'
  | 'json';

const OUTPUT = 'Output';
const SHOWN = 'Calls that are shown';
const EXPORT = 'Export of the call tree';

export default defineVerb<Name>({
  name: 'pt calls',
  summary: 'print the calls of a raw Intel PT trace, with their times',
  usage: '[options] FILE[:FROM[-TO]]',
  options: [
    { long: 'json', help: 'one JSON object a line (NDJSON); the last one sums up', group: OUTPUT },
    {
      long: 'function',
      value: 'NAME|ADDRESS',
      help: 'show how long this function takes, by caller, instead of the calls',
      group: OUTPUT,
    },
    {
      long: 'resync-on-error',
      help: 'after an error, go on at the next event that has an address instead of the next PSB',
      group: OUTPUT,
    },
    { long: 'depth', value: 'N', help: 'only the outer N levels', group: SHOWN },
    {
      long: 'from',
      value: 'TIME',
      help: 'only calls that begin at TIME (2.5ms of the trace, or a TSC) or later',
      group: SHOWN,
    },
    { long: 'to', value: 'TIME', help: 'only calls that begin at TIME or earlier', group: SHOWN },
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'write the call tree as svg, folded, speedscope, pprof, firefox or cpuprofile; the name chooses the format; `-` for standard output',
      group: EXPORT,
    },
    { long: 'format', short: 'f', value: 'NAME', help: 'the format (default: by the name)', group: EXPORT },
    {
      long: 'weight',
      value: 'instructions|time',
      help: 'the unit of widths and counts (default: instructions)',
      group: EXPORT,
    },
    {
      long: 'title',
      value: 'TEXT',
      mayBeEmpty: true,
      help: 'title of the picture or profile',
      group: EXPORT,
    },
    ...PT_CODE_OPTIONS,
    ...PT_SETTINGS_OPTIONS,
    ...PT_CLOCK_OPTIONS,
  ],
  examples: [
    ['pt calls --elf ./program trace.pt', 'the tree of calls, with instructions'],
    [
      'pt calls --elf a --mtc-freq 3 --nom-freq 21 --cpuid-0x15.eax 1 --cpuid-0x15.ebx 84 t',
      'the same with times',
    ],
    ['pt calls --elf ./program --from 2ms --to 3ms --depth 5 trace.pt', 'one millisecond, five levels'],
    ['pt calls --elf ./program --function parse trace.pt', 'how long `parse` takes, by caller'],
    ['pt calls --elf ./program -o flame.svg trace.pt', 'a flame graph of every instruction'],
    ['pt calls --elf ./program --json trace.pt', 'a line for each call, as it ends'],
  ],
  async run(context) {
    const { args, err } = context;
    const { CallTrace } = await import('@counterpoint/trace/intel-pt');
    const { notATrace, parseFilePart, readFilePart } = await import('./file.ts');
    const { namedFunctions, nameNotes } = await import('./functions.ts');
    const { ProgressLine } = await import('../../common/progress.ts');
    const [file, ...more] = args.words;
    if (file === undefined) throw new UsageError('no trace is named');
    if (more.length > 0) throw new UsageError(`one trace at a time, not also ${more.join(' ')}`);
    const settings = ptSettings<Name>(args);
    const filter = addressFilter<Name>(args);
    const scale = new TimeScale(perfClock<Name>(args), settings);
    const isExport = args.string('output') !== undefined || args.string('format') !== undefined;
    if (isExport && (args.boolean('json') || args.string('function') !== undefined))
      throw new UsageError('-o writes the call tree, and cannot be combined with --json or --function');
    const way = isExport
      ? await exportWay(context, scale)
      : args.string('function') !== undefined
        ? await latencyWay(context, scale)
        : await listWay(context, scale);
    const bytes = readFilePart(parseFilePart(file));
    const code = await namedCode<Name>(args);
    const functions = await namedFunctions<Name>(args, code);
    if (settings.unknownCpu) err.line('counterpoint: the CPU is not known: no errata are applied.');
    if (args.boolean('verbose')) for (const note of nameNotes(functions.diagnostics)) err.line(note);
    // On a terminal the lines themselves are the progress.
    using progress = new ProgressLine(err);
    const quiet = context.out.isTerminal && !isExport;
    const listener: CallListener = {};
    const trace = new CallTrace(
      bytes,
      code.image,
      {
        errata: settings.errata,
        settings,
        filter,
        resume: args.boolean('resync-on-error'),
        functions,
        withTree: isExport,
        onProgress: (done) => {
          if (!quiet) progress.update(() => `decoding: ${Math.floor((done / bytes.length) * 100)}%`);
        },
      },
      listener,
    );
    const { onEnter, onLeave, finish } = way(trace, functions);
    if (onEnter !== undefined) listener.onEnter = onEnter;
    if (onLeave !== undefined) listener.onLeave = onLeave;
    const found = trace.run();
    progress.close();
    await finish(found);
    const nothing = notATrace(bytes);
    if (nothing !== null) err.line(`counterpoint: ${nothing}.`);
    else {
      const { errorWords } = await import('./error-words.ts');
      for (const note of troubleNotes(found, errorWords)) err.line(`counterpoint: ${note}`);
    }
    return nothing === null ? EXIT_OK : EXIT_FAILURE;
  },
});

type Trace = InstanceType<typeof import('@counterpoint/trace/intel-pt').CallTrace>;
type Functions = InstanceType<typeof import('@counterpoint/trace/intel-pt').CodeFunctions>;
/** What is done with the calls, made before the trace is read: usage errors come first. */
type Way = (
  trace: Trace,
  functions: Functions,
) => CallListener & { finish(found: TraceCalls): Promise<void> | void };

async function listWay({ args, out, err }: VerbContext<Name>, scale: TimeScale): Promise<Way> {
  const { CallFilter, CallJson, CallTreeText, RowNames } = await import('./calls-print.ts');
  const { LineBytes } = await import('./line-bytes.ts');
  const time = (name: 'from' | 'to') => {
    const text = args.string(name);
    return text === undefined ? null : scale.parse(text, args.shown(name));
  };
  const filter = new CallFilter(
    time('from'),
    time('to'),
    args.number('depth', { min: 1 }) ?? Number.POSITIVE_INFINITY,
  );
  const json = args.boolean('json');
  const checkTime = ({ baseTsc }: TraceCalls) => {
    if (filter.isTimed && baseTsc === null)
      throw new UsageError(
        '--from, --to: the trace has no time',
        'It was recorded without TSC packets. Use --depth, which needs no time.',
      );
    const why = filter.whyNothing(scale);
    if (why !== null) err.line(`counterpoint: ${why}.`);
  };
  return (trace, functions) => {
    const names = new RowNames(trace.addresses, functions);
    let calls = 0;
    if (!json) {
      const lines = new LineBytes((bytes) => out.utf8(bytes), out.isTerminal);
      const text = new CallTreeText(names, scale, lines);
      return {
        onEnter: (call) => {
          const { baseTsc } = trace;
          if (filter.shows(call, baseTsc)) text.enter(call, baseTsc !== null);
        },
        onLeave: (call) => {
          if (filter.shows(call, trace.baseTsc)) text.leave(call);
        },
        finish: (found) => {
          text.finish();
          checkTime(found);
        },
      };
    }
    const lines = new CallJson(names, scale);
    return {
      onLeave: (call) => {
        const { baseTsc } = trace;
        if (!filter.shows(call, baseTsc)) return;
        calls++;
        out.line(lines.line(call, baseTsc));
      },
      finish: (found) => {
        checkTime(found);
        const { instructions, branches, errors, overflows, clockRestarts, baseTsc } = found;
        const sums = { calls: String(calls), instructions: String(instructions), branches: String(branches) };
        const end = { type: 'end', version: 1, ...sums, startTsc: baseTsc?.toString() ?? null };
        out.line(printableJson({ ...end, errors, overflows, clockRestarts }));
      },
    };
  };
}

async function latencyWay({ args, out }: VerbContext<Name>, scale: TimeScale): Promise<Way> {
  const { FunctionLatency } = await import('@counterpoint/trace/intel-pt');
  const { halvesOf, RowNames } = await import('./calls-print.ts');
  const { latencyObject, printLatency } = await import('./latency-print.ts');
  return (trace, functions) => {
    const named = functions.addressOf(args.string('function')!);
    const inside = halvesOf(named);
    // Any address of a function names it; where no symbol is known the address is where it begins.
    const start = functions.startOf(inside.lo, inside.hi);
    const address = Number.isNaN(start) ? named : BigInt.asUintN(64, BigInt(start));
    const { lo, hi } = halvesOf(address);
    const names = new RowNames(trace.addresses, functions);
    const latency: FunctionLatency = new FunctionLatency(trace.addresses, lo, hi);
    return {
      onLeave: (call) => latency.add(call),
      finish: ({ baseTsc }) => {
        const hex = `0x${address.toString(16)}`;
        const name = functions.nameOf(lo, hi);
        if (args.boolean('json')) out.json(latencyObject(latency, hex, name, names, scale));
        else printLatency(latency, name ?? hex, baseTsc !== null, names, scale, out);
      },
    };
  };
}

async function exportWay({ args, out, err }: VerbContext<Name>, scale: TimeScale): Promise<Way> {
  const { exportFormat, writeExport } = await import('../../common/export-file.ts');
  const { profileOfCalls } = await import('@counterpoint/trace/intel-pt');
  const { formatBytes } = await import('../../common/human.ts');
  const { lossLines } = await import('../../common/loss-text.ts');
  const output = args.string('output') ?? '-';
  const name = args.string('format') ?? (output === '-' ? undefined : output);
  if (name === undefined) throw new UsageError('--format is needed when the output has no name');
  const format = await exportFormat(name, [], false);
  const weight = args.choice('weight', ['instructions', 'time'], 'instructions');
  return (_trace, functions) => ({
    finish: async (found) => {
      // One tick or nanosecond of TSC is as long as the other where no clock says more.
      const { clock } = scale;
      const profile = profileOfCalls(found, functions, optional({ clock }));
      const event = weight === 'instructions' ? 0 : 1;
      if (event >= profile.events.length)
        throw new UsageError(
          '--weight time: the trace has no time',
          'It was recorded without TSC packets. Use --weight instructions.',
        );
      const title = args.string('title');
      const bytes = await writeExport(
        profile,
        format,
        output,
        { event, weight: 'period', ...optional({ title }) },
        out,
      );
      if (bytes !== null) err.line(`Wrote ${output} (${format.name}, ${formatBytes(bytes)}).`);
      for (const line of lossLines(profile.loss, [])) err.line(`Lost: ${line}`);
    },
  });
}

/** What a person should know of a trace that did not go well. */
function troubleNotes(
  { errors, overflows, clockRestarts, addresses, tree }: TraceCalls,
  errorWords: (kind: string) => string,
): string[] {
  const notes = errors.map(
    ({ code, count, firstOffset }) =>
      `${count} ${count === 1 ? 'error' : 'errors'}: ${errorWords(code)}, the first at offset 0x${firstOffset.toString(16)}`,
  );
  if (errors.some(({ code }) => code === 'no-map'))
    notes.push('the trace leads to unknown code: name it with --raw or --elf.');
  if (overflows > 0) notes.push(`${overflows} overflows: the processor lost packets, and calls with them`);
  if (clockRestarts > 0)
    notes.push(`time went back ${clockRestarts === 1 ? 'once' : `${clockRestarts} times`}`);
  if (addresses.leftOut > 0)
    notes.push(
      `the trace names more places of calls than there is room for: the places of ${addresses.leftOut} steps are shown as unknown. The trace is damaged or artificial.`,
    );
  if (tree !== null && tree.cut > 0)
    notes.push(
      `${tree.cut === 1 ? '1 call is' : `${tree.cut} calls are`} counted in their callers: there are too many call paths`,
    );
  return notes;
}
