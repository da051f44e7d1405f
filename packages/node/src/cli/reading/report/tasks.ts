import { printable } from '@counterpoint/core/base';
import type { TasksAnswer } from '@counterpoint/core/query';
import type { Recording } from '../../../host/open/index.ts';
import { EXIT_OK, type VerbContext } from '../../common/args.ts';
import { damageLine } from '../../common/damage-text.ts';
import { ProgressLine } from '../../common/progress.ts';
import type { ReportName } from './report.ts';

type RecordedTask = TasksAnswer['tasks'][number];
type Output = VerbContext<ReportName>['out'];

/** `report --tasks`, `--mmaps` and `-T`: who was recorded, with what in its memory, and what it counted. */
export async function reportTasks(
  { args, out, err }: VerbContext<ReportName>,
  recording: Recording,
): Promise<number> {
  using progress = new ProgressLine(err);
  const { collectTasks } = await import('@counterpoint/core/query');
  const answer = await collectTasks(await recording.reader(), { onProgress: progress.listener() });
  progress.close();
  if (args.boolean('json')) out.json(answer);
  else if (args.boolean('threads')) printCounts(answer, out);
  else printTasks(answer.tasks, args.boolean('mmaps'), out);
  out.flush();
  for (const item of answer.damage) err.line(err.style.yellow(damageLine(item)));
  return EXIT_OK;
}

/** perf's tree: children below the process that began them, threads as its children. */
function printTasks(tasks: readonly RecordedTask[], hasMaps: boolean, out: Output): void {
  const children = new Map<RecordedTask | null, RecordedTask[]>();
  const latest = new Map(tasks.map((task) => [task.tid, task]));
  for (const task of tasks) {
    const parent = latest.get(task.ppid);
    const above = parent === undefined || parent === task ? null : parent;
    children.set(above, [...(children.get(above) ?? []), task]);
  }
  out.line('#      pid      tid     ppid  comm');
  const shown = new Set<RecordedTask>();
  const waiting = (children.get(null) ?? []).map((task) => ({ task, depth: 0 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { task, depth } = next;
    if (shown.has(task)) continue;
    shown.add(task);
    printTask(task, depth, hasMaps, out);
    for (const child of [...(children.get(task) ?? [])].reverse())
      waiting.push({ task: child, depth: depth + 1 });
  }
  // Parents of each other, as numbers that were used again make them.
  for (const task of tasks) if (!shown.has(task)) printTask(task, 0, hasMaps, out);
}

function printTask(task: RecordedTask, depth: number, hasMaps: boolean, out: Output): void {
  const numbers = [task.pid, task.tid, task.ppid].map((value) => String(value).padStart(8));
  const head = `  ${numbers.join(' ')} |${' '.repeat(depth)}`;
  out.line(`${head}${printable(task.comm)}`);
  if (!hasMaps) return;
  for (const { start, end, protection, fileOffset, inode, path } of task.maps) {
    const range = `${start}-${end} ${protection ?? '??xp'} ${fileOffset.padStart(8, '0')}`;
    out.line(`${' '.repeat(head.length)}  ${range} ${inode} ${printable(path)}`);
  }
}

function printCounts({ events, counts }: TasksAnswer, out: Output): void {
  if (counts.length === 0) {
    out.line('# No counts of tasks: record -s records them, of tasks that end.');
    return;
  }
  const rows = counts.map(({ pid, tid, values }) => [String(pid), String(tid), ...values]);
  const head = ['PID', 'TID', ...events.map(printable)];
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column]!.length)));
  const text = (cells: readonly string[]) => cells.map((cell, at) => cell.padStart(widths[at]!)).join('  ');
  out.line(`# ${text(head)}`);
  for (const row of rows) out.line(`  ${text(row)}`);
}
