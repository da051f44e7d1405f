import { optional, printable } from '@counterpoint/core/base';
import { branchesOfBinary, writeAutofdo } from '@counterpoint/core/export';
import type { VerbContext } from '../../common/args.ts';
import { writeChunks } from '../../common/export-file.ts';
import { formatBytes, formatCount } from '../../common/human.ts';
import { itraceOptions } from '../../common/itrace-option.ts';
import { lossLines } from '../../common/loss-text.ts';
import { ProgressLine } from '../../common/progress.ts';
import {
  notableDiagnostics,
  openInput,
  printDiagnostics,
  refuseCounts,
  sampleFilter,
  statusOfAnswer,
} from '../../common/recording-input.ts';
import { TraceLog } from '../../common/trace-log.ts';
import { chosenEvent } from './chosen-event.ts';
import type { ExportName } from './export-name.ts';

/** A row beside those of the exports of samples. */
export const AUTOFDO = {
  name: 'autofdo',
  extension: 'autofdo',
  description: 'branches of one program, for create_llvm_prof and create_gcov with --profiler=text',
};

/** `--format NAME`, or the name of a file. */
export function isAutofdo(name: string): boolean {
  return name === AUTOFDO.name || name.endsWith(`.${AUTOFDO.extension}`);
}

/** Branches that were recorded, as the text profile of AutoFDO. */
export async function exportAutofdo({ args, out, err }: VerbContext<ExportName>): Promise<number> {
  const path = args.string('output') ?? `perf.${AUTOFDO.extension}`;
  await using recording = await openInput(args);
  using progress = new ProgressLine(err);
  const filter = await sampleFilter(args, recording);
  // Of a hardware trace each branch becomes a sample.
  const itrace = await itraceOptions(args, 'report', args.string('itrace') === undefined ? 'b' : undefined);
  using log = new TraceLog(itrace, out, err);
  const { profile, diagnostics } = await recording.profile({
    aggregate: true,
    innermostOnly: true,
    branches: true,
    ...optional({ filter }),
    ...(itrace === null ? {} : { itrace }),
    ...log.options,
    onProgress: progress.listener(),
  });
  refuseCounts(args, recording);
  const event = chosenEvent(profile.events, args.string('event'));
  const branches = branchesOfBinary(profile, { event, binary: args.string('binary') });
  if (path === '-') progress.close();
  const bytes = await writeChunks(writeAutofdo(branches), path, out);
  progress.close();
  const { others } = branches;
  const program = `${printable(branches.path)}${branches.buildId === '' ? '' : ` (build id ${branches.buildId})`}`;
  if (bytes !== null)
    err.line(`Wrote ${path} (${AUTOFDO.name}, ${formatBytes(bytes)}): branches of ${program}.`);
  const left = others === 0 ? '' : ` Left out are ${formatCount(others)} from or to other files.`;
  err.line(
    err.style.yellow(
      `Note: an AutoFDO profile has the branches of one binary.${left} --binary chooses another one.`,
    ),
  );
  const verbose = args.boolean('verbose');
  printDiagnostics(verbose ? diagnostics : notableDiagnostics(diagnostics, profile), err, verbose);
  const { loss, damage } = profile;
  for (const line of lossLines(loss, damage)) err.line(err.style.yellow(`Lost: ${line}`));
  const samples = profile.events.reduce((sum, { samples: own }) => sum + own, 0);
  return statusOfAnswer(args, { loss, damage, samples }, err);
}
