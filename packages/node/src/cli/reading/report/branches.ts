import { CounterpointError, optional, printable } from '@counterpoint/core/base';
import type { IngestResult } from '@counterpoint/core/ingest';
import {
  type BranchAnswer,
  type BranchOptions,
  type BranchView,
  branchReport,
  shownEvents,
} from '@counterpoint/core/query';
import type { Recording } from '../../../host/open/index.ts';
import type { VerbContext } from '../../common/args.ts';
import { percentText } from '../../common/human.ts';
import { itraceOptions } from '../../common/itrace-option.ts';
import { lossLines } from '../../common/loss-text.ts';
import type { Output } from '../../common/output.ts';
import { ProgressLine } from '../../common/progress.ts';
import {
  inputName,
  printDiagnostics,
  refuseCounts,
  sampleFilter,
  statusOfAnswer,
} from '../../common/recording-input.ts';
import { type Column, printTable, type TableOptions } from '../../common/row-table.ts';
import { TraceLog } from '../../common/trace-log.ts';
import { COLUMNS_OF_VIEW } from './branch-columns.ts';
import { splitNames } from './function-names.ts';
import { roundCount } from './head-text.ts';
import { BRANCH_WORDS, type ReportName } from './report.ts';
import { nothingPasses } from './request.ts';

type Context = VerbContext<ReportName>;

/** `report --branch-stack` and `--total-cycles`: what branches were taken, for each event that has some. */
export async function reportBranches(context: Context, recording: Recording): Promise<number> {
  const { args, out, err } = context;
  const view = viewOf(args);
  const table = { separator: args.string('field-separator') ?? null, isQuiet: args.boolean('quiet') };
  const options = optionsOf(args, view);
  const { profile, diagnostics } = await readProfile(context, recording, view);
  refuseCounts(args, recording);
  const { loss, damage } = profile;
  const samples = profile.events.reduce((sum, event) => sum + event.samples, 0);
  const answers = shownEvents(profile, args.string('event'))
    .map((event) => branchReport(profile, { ...options, event }))
    .filter(({ branches }) => branches > 0);
  if (answers.length === 0 && samples > 0) throw noBranches(inputName(args), args.string('event'));
  const emptyNote = answers.every(({ rowCount }) => rowCount === 0) ? nothingPasses(args, profile) : null;
  if (args.boolean('json')) {
    if (emptyNote !== null) err.line(err.style.yellow(`Note: ${emptyNote}`));
    out.json({ type: 'report', version: 1, events: answers, loss, damage, diagnostics });
    return statusOfAnswer(args, { loss, damage, samples }, err);
  }
  const lines = lossLines(loss, damage);
  for (const line of lines) (table.isQuiet ? err : out).line(out.style.yellow(`# Lost: ${line}`));
  if (answers.length === 0 && !table.isQuiet) out.line('# No samples.');
  answers.forEach((answer, place) => {
    if (place > 0) out.line();
    if (!table.isQuiet) printHead(answer, lines.length > 0, out);
    printRows(answer, table, out);
    if (answer.rowCount === 0 && emptyNote === null && !table.isQuiet) out.line(`# ${EMPTY[answer.view]}`);
  });
  if (emptyNote !== null && !table.isQuiet) out.line(`# ${emptyNote}`);
  out.flush();
  printDiagnostics(diagnostics, err, args.boolean('verbose'));
  return statusOfAnswer(args, { loss, damage, samples }, err);
}

/** Why there may be no rows though branches were recorded. */
const EMPTY: Readonly<Record<BranchView, string>> = {
  functions: 'No branches.',
  edges: 'No branches.',
  mispredicts: 'No branch is known to have been mispredicted.',
  loops: 'No loops: no branch is known to have repeated code of its function. Functions need symbols.',
  blocks: 'No blocks: of filtered branches (-j) it is not known what ran between them.',
};

function viewOf(args: Context['args']): BranchView {
  const view = args.choice('branch-stack', BRANCH_WORDS);
  return args.boolean('total-cycles') ? 'blocks' : (view ?? 'functions');
}

function optionsOf(args: Context['args'], view: BranchView): BranchOptions {
  const dsos = args.list('dsos');
  const symbols = args.all('symbols').flatMap(splitNames);
  if (args.has('symbols') && symbols.length === 0) throw args.refuse('symbols', 'names of functions');
  return {
    view,
    most: args.number('limit', { min: 1 }, Number.POSITIVE_INFINITY),
    shortPaths: !args.boolean('full-source-path') && !args.boolean('json'),
    ...(dsos.length > 0 ? { dsos: new Set(dsos) } : {}),
    ...(symbols.length > 0 ? { symbols: new Set(symbols) } : {}),
  };
}

async function readProfile(
  { args, out, err }: Context,
  recording: Recording,
  view: BranchView,
): Promise<IngestResult> {
  using progress = new ProgressLine(err);
  const filter = await sampleFilter(args, recording);
  // Of a hardware trace each branch becomes a sample.
  const itrace = await itraceOptions(args, 'report', args.string('itrace') === undefined ? 'b' : undefined);
  using log = new TraceLog(itrace, out, err);
  return await recording.profile({
    aggregate: true,
    innermostOnly: true,
    branches: true,
    debugInfo: view === 'functions' ? undefined : 'lines',
    ...optional({ filter }),
    ...(itrace === null ? {} : { itrace }),
    ...log.options,
    onProgress: progress.listener(),
  });
}

function noBranches(name: string, event: string | undefined): CounterpointError {
  return new CounterpointError(
    'ERR_NOT_RECORDED',
    `${printable(name)} has no branches${event === undefined ? '' : ` of ${printable(event)}`}: no sample says where a branch went`,
    'Record them: -b on a CPU with branch records, -e intel_pt//u with a hardware trace, -e soft_bts//u on any x86-64 machine.',
  );
}

function printHead(answer: BranchAnswer, hasLoss: boolean, out: Output): void {
  const { samples, event, branches, mispredicted } = answer;
  if (!hasLoss) out.line('# Nothing lost.\n#');
  out.line(`# Samples: ${roundCount(samples)} of event '${printable(event)}'`);
  const wrong =
    mispredicted === null
      ? 'whether the CPU had guessed them is not known'
      : `${percentText((100 * mispredicted) / branches)} mispredicted`;
  out.line(`# Branches: ${branches}, ${wrong}`);
  if (answer.view === 'mispredicts' && mispredicted === null)
    out.line(out.style.yellow('# The hardware did not say which branches it had guessed wrongly.'));
  if (answer.view === 'loops')
    out.line('# Trips: iterations for each time the loop was come to; loops inside of loops are indented');
  if (answer.view === 'blocks' && answer.rows[0]?.totalCycles === null)
    out.line('# No cycles were recorded: shares are of executions');
  out.line('#');
}

function printRows(answer: BranchAnswer, table: TableOptions, out: Output): void {
  const columns = COLUMNS_OF_VIEW[answer.view](answer.mispredicted !== null);
  printTable(columns as Column<{ percent: number }>[], answer.rows, table, out);
}
