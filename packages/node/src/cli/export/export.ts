import { CounterpointError, printable } from '@counterpoint/core/base';
import type { Profile, ProfileEvent } from '@counterpoint/core/profile';
import { defineVerb } from '../common/args.ts';
import { exportFormat, writeExport } from '../common/export-file.ts';
import { countOf } from '../common/human.ts';
import { ITRACE_OPTION, type ItraceName, itraceOptions, keepsStream } from '../common/itrace-option.ts';
import {
  type JavascriptName,
  javascriptOption,
  javascriptView,
  showJavascript,
} from '../common/javascript-option.ts';
import {
  FILTERS,
  filterWords,
  INPUT_OPTIONS,
  type InputName,
  notableDiagnostics,
  openInput,
  printDiagnostics,
  refuseCounts,
  sampleFilter,
  statusOfAnswer,
} from '../common/recording-input.ts';
import { UsageError } from '../common/usage-error.ts';

type ExportName =
  | InputName
  | ItraceName
  | JavascriptName
  | 'format'
  | 'output'
  | 'event'
  | 'weight'
  | 'title'
  | 'minimum-percent'
  | 'icicle';

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
      help: 'svg, folded, speedscope, pprof, firefox or cpuprofile (default: by the name of the output, else svg)',
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
    javascriptOption('default, but for cpuprofile'),
    ITRACE_OPTION,
  ],
  examples: [
    ['export -o flame.svg', 'an interactive flame graph of perf.data'],
    ['export -i app.data -f folded -o -', 'folded stacks on standard output'],
    ['export -o app.pb.gz', 'for pprof'],
    ['export -o app.profile.json', 'for profiler.firefox.com'],
    ['export -o app.speedscope.json', 'for speedscope.app'],
    ['export -o app.cpuprofile', 'of a Node program, for Chrome DevTools and VS Code'],
  ],
  async run(context) {
    const { args, out, err } = context;
    const { ProgressLine } = await import('../common/progress.ts');
    const { formatBytes } = await import('../common/human.ts');
    const { lossLines } = await import('../common/loss-text.ts');
    const output = args.string('output');
    const name =
      args.string('format') ?? (output === undefined ? 'svg' : output === '-' ? undefined : output);
    if (name === undefined) throw new UsageError('--format is needed when the output has no name');
    const format = await exportFormat(name);
    const path = output ?? `perf.${format.extension}`;

    await using recording = await openInput(args, keepsStream(args));
    using progress = new ProgressLine(err);
    const filter = await sampleFilter(args, recording);
    const itrace = await itraceOptions(args, 'report');
    const { TraceLog } = await import('../common/trace-log.ts');
    using log = new TraceLog(itrace, out, err);
    const { profile, diagnostics, firstTimeNs, lastTimeNs } = await recording.profile({
      aggregate: !format.hasTimeline,
      ...(filter === undefined ? {} : { filter }),
      ...(itrace === null ? {} : { itrace }),
      ...log.options,
      onProgress: progress.listener(),
    });
    refuseCounts(args, recording);
    if (args.has('js') || format.name === 'cpuprofile') showJavascript(profile, javascriptView(args), err);
    const event = chosenEvent(profile.events, args.string('event'));
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

function chosenEvent(events: readonly ProfileEvent[], name: string | undefined): number {
  if (name === undefined)
    return Math.max(
      0,
      events.findIndex((event) => event.samples > 0),
    );
  const byName = events.findIndex((event) => event.name === name);
  // Copies of an event, of several sampling formats, have one name.
  const found = byName < 0 && /^\d{1,4}$/.test(name) && events[Number(name) - 1] ? Number(name) - 1 : byName;
  if (found >= 0) return found;
  throw new CounterpointError(
    'ERR_NO_SUCH_EVENT',
    `the recording has no event "${name}"`,
    `It has: ${events.map((event, index) => `${index + 1}: ${printable(event.name)}`).join(', ')}`,
  );
}

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
