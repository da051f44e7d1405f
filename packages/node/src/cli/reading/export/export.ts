import { optional, printable } from '@counterpoint/core/base';
import type { Profile, ProfileEvent } from '@counterpoint/core/profile';
import { defineVerb } from '../../common/args.ts';
import { exportFormat, writeExport } from '../../common/export-file.ts';
import { countOf } from '../../common/human.ts';
import { ITRACE_OPTION, itraceOptions, keepsStream } from '../../common/itrace-option.ts';
import { foldingAsked, foldOption } from '../../common/javascript-fold.ts';
import { javascriptOption, javascriptView, showJavascript } from '../../common/javascript-option.ts';
import {
  FILTERS,
  filterWords,
  INPUT_OPTIONS,
  notableDiagnostics,
  openInput,
  printDiagnostics,
  refuseCounts,
  sampleFilter,
  statusOfAnswer,
} from '../../common/recording-input.ts';
import { SOURCE_MAPS_OPTION, sourceMapsOf } from '../../common/source-maps-option.ts';
import { INLINE_OPTION, showsInlined } from '../../common/source-options.ts';
import { UsageError } from '../../common/usage-error.ts';
import { AUTOFDO, exportAutofdo, isAutofdo } from './autofdo.ts';
import { CALLS_OPTION, callSteps, chosenCalls, sampledNote } from './call-steps.ts';
import { chosenEvent } from './chosen-event.ts';
import type { ExportName } from './export-name.ts';

export default defineVerb<ExportName>({
  name: 'export',
  summary: 'turn a recording into a flame graph or the format of another tool',
  usage: ['[options] -o FILE', '[options] --format NAME'],
  options: [
    ...INPUT_OPTIONS,
    {
      long: 'format',
      short: 'f',
      value: 'NAME',
      help: 'svg, folded, speedscope, pprof, firefox, cpuprofile, perfetto, chrome or autofdo (default: by the name of the output, else svg)',
      group: 'Output',
    },
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'where to write; `-` for standard output',
      group: 'Output',
    },
    {
      long: 'event',
      value: 'NAME|N',
      help: 'the event to show, by name or by its number in the recording (default: the first with samples)',
      group: 'Output',
    },
    {
      long: 'binary',
      value: 'NAME|PATH',
      help: 'autofdo: the program or library (default: the recorded program)',
      group: 'Output',
    },
    {
      long: 'weight',
      value: 'samples|period',
      help: 'the unit of widths and counts (default: period, as in report; folded: samples if all have the same period)',
      group: 'Output',
    },
    {
      long: 'title',
      value: 'TEXT',
      mayBeEmpty: true,
      help: 'title of the picture or profile',
      group: 'Output',
    },
    {
      long: 'minimum-percent',
      value: 'PERCENT',
      help: 'svg: fold frames below this share into their callers',
      group: 'Output',
    },
    { long: 'icicle', help: 'svg: roots at the top', group: 'Output' },
    javascriptOption('default: charge for cpuprofile, else --no-js'),
    foldOption('default: none'),
    SOURCE_MAPS_OPTION,
    INLINE_OPTION,
    ITRACE_OPTION,
    CALLS_OPTION,
  ],
  examples: [
    ['export -o flame.svg', 'an interactive flame graph of perf.data'],
    ['export -i app.data -f folded -o -', 'folded stacks on standard output'],
    ['export -o app.pb.gz', 'for pprof'],
    ['export -o app.profile.json', 'for profiler.firefox.com'],
    ['export -o app.speedscope.json', 'for speedscope.app'],
    ['export -o app.cpuprofile', 'of a Node program, for Chrome DevTools and VS Code'],
    ['export -o calls.pftrace', 'of a hardware trace: each call in time, for ui.perfetto.dev'],
    [
      'export -o app.autofdo',
      'of branches (record -b, -e soft_bts//u), for create_llvm_prof --profiler=text',
    ],
  ],
  async run(context) {
    const { args, out, err } = context;
    const { ProgressLine } = await import('../../common/progress.ts');
    const { formatBytes } = await import('../../common/human.ts');
    const { lossLines } = await import('../../common/loss-text.ts');
    const output = args.string('output');
    const name =
      args.string('format') ?? (output === undefined ? 'svg' : output === '-' ? undefined : output);
    if (name === undefined) throw new UsageError('--format is needed when the output has no name');
    if (isAutofdo(name)) return await exportAutofdo(context);
    if (args.has('binary'))
      throw new UsageError('--binary is for AutoFDO profiles only', 'Add --format autofdo.');
    const format = await exportFormat(name, [AUTOFDO]);
    const path = output ?? `perf.${format.extension}`;

    await using recording = await openInput(args, keepsStream(args));
    using progress = new ProgressLine(err);
    const filter = await sampleFilter(args, recording);
    const steps = await callSteps(args, format, recording);
    const itrace = steps ?? (await itraceOptions(args, 'report', undefined, recording));
    const { TraceLog } = await import('../../common/trace-log.ts');
    using log = new TraceLog(itrace, out, err);
    const isInlined = await showsInlined(args, recording, true);
    const { profile, diagnostics, firstTimeNs, lastTimeNs } = await recording.profile({
      aggregate: !format.hasTimeline,
      ...sourceMapsOf(args),
      debugInfo: isInlined ? 'inlines' : undefined,
      ...optional({ filter }),
      ...(itrace === null ? {} : { itrace }),
      ...log.options,
      onProgress: progress.listener(),
    });
    refuseCounts(args, recording);
    if (args.has('js') || args.has('fold') || format.name === 'cpuprofile')
      showJavascript(profile, javascriptView(args), err, foldingAsked(args, [], [profile], err));
    const event =
      chosenCalls(args, recording, profile.events) ?? chosenEvent(profile.events, args.string('event'));
    const minimumPercent = args.number('minimum-percent', { min: 0, max: 100, fraction: true });
    const options = {
      event,
      title: args.string('title'),
      weight: args.choice('weight', ['samples', 'period']),
      minimumPercent,
      orientation: args.boolean('icicle') ? ('icicle' as const) : ('flame' as const),
      // An aggregated profile has no times of its own.
      durationNs: firstTimeNs === null || lastTimeNs === null ? undefined : Number(lastTimeNs - firstTimeNs),
    };
    if (path === '-') progress.close();
    const bytes = await writeExport(profile, format, path, options, out);
    progress.close();
    if (bytes !== null) err.line(`Wrote ${path} (${format.name}, ${formatBytes(bytes)}).`);
    const sampled = sampledNote(format, profile.events[event]);
    if (sampled !== null) err.line(err.style.yellow(`Note: ${sampled}`));
    const left = format.name === 'cpuprofile' ? await otherThreads(profile, event) : null;
    if (left !== null) err.line(err.style.yellow(`Note: ${left}`));
    const others = otherEvents(profile.events, event);
    if (others !== null) err.line(err.style.yellow(`Note: ${others}`));
    if ((profile.events[event]?.samples ?? 0) === 0) {
      const filters = filterWords(args, FILTERS);
      const why = filters === '' ? 'the recording has no samples' : `nothing passes ${filters}`;
      err.line(err.style.yellow(`Note: it is empty: ${why}.`));
    }
    const verbose = args.boolean('verbose');
    printDiagnostics(verbose ? diagnostics : notableDiagnostics(diagnostics, profile), err, verbose);
    for (const line of lossLines(profile.loss, profile.damage)) err.line(err.style.yellow(`Lost: ${line}`));
    const samples = profile.events.reduce((sum, { samples: own }) => sum + own, 0);
    return statusOfAnswer(args, { loss: profile.loss, damage: profile.damage, samples }, err);
  },
});

/** A CPU profile shows one thread: which, and how to have another. Null where there is no other. */
async function otherThreads(profile: Profile, event: number): Promise<string | null> {
  const { threadOfCpuProfile } = await import('@counterpoint/core/export');
  const shown = threadOfCpuProfile(profile, event);
  if (shown === null || shown.others === 0) return null;
  const { comm, pid, tid, others } = shown;
  return `the export has only thread ${tid} (${printable(comm)}, process ${pid}); ${countOf(others, 'other thread')} can be had with --tid`;
}

/**
 * An export shows one event; what of the others is left out, and how to have it
 * instead. Null where that is nothing.
 */
function otherEvents(events: readonly ProfileEvent[], shown: number): string | null {
  const others = events.flatMap(({ name, samples }, index) => {
    if (index === shown || samples === 0) return [];
    const isAlone = events.filter((one) => one.name === name).length === 1;
    return [`--event ${isAlone ? printable(name) : index + 1} (${countOf(samples, 'sample')})`];
  });
  if (others.length === 0) return null;
  const more = others.length > MOST_OTHERS ? `, and ${others.length - MOST_OTHERS} more` : '';
  const list = others.slice(0, MOST_OTHERS).join(', ');
  return `the export has only ${printable(events[shown]!.name)}; the recording also has: ${list}${more}`;
}

/** Others that are named. */
const MOST_OTHERS = 8;
