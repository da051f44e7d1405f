import { printable } from '@counterpoint/core/base';
import type {
  LoopFunction,
  LoopRow,
  LoopShare,
  LoopsAnswer,
  LoopTurn,
  LoopWait,
  PoolRow,
  TurnKind,
} from '@counterpoint/core/query';
import { countOf, formatCount, formatDuration } from '../../common/human.ts';
import { lossLines } from '../../common/loss-text.ts';
import type { Output } from '../../common/output.ts';

const MOST_CALLERS = 3;
const MOST_WAITS = 3;
const MOST_BLOCKERS = 10;
const LEAST_PERCENT = 0.5;
const BAR_CHARS = 40;
const NS_PER_SECOND = 1e9;

/** The answer for people: --json has everything. */
export function printLoops(answer: LoopsAnswer, out: Output): void {
  const lost = lossLines(answer.loss, answer.damage);
  for (const line of lost) out.line(out.style.yellow(`# Lost: ${line}`));
  if (lost.length === 0) out.line('# Nothing lost.');
  for (const note of answer.notes) out.line(out.style.yellow(`# Note: ${note}`));
  if (answer.loops.length === 0) {
    out.line(
      `# No event loop was seen in ${formatDuration(answer.durationNs)}: no thread of the target called epoll_wait,`,
    );
    out.line('# and no main thread ran JavaScript. A loop that waits all the time makes no turn.');
  }
  for (const loop of answer.loops) printLoop(loop, answer, out);
  printPool(answer.pool, out);
}

function printLoop(loop: LoopRow, { slowNs }: LoopsAnswer, out: Output): void {
  const { role, pid, tid, comm } = loop;
  const who =
    role === 'main' ? `main thread of ${pid}` : `${role === 'worker' ? 'worker' : 'thread'} ${tid} of ${pid}`;
  out.line('#');
  out.line(out.style.bold(`# Event loop of ${printable(comm)}, ${who}: ${headText(loop)}`));
  if (loop.state === 'no-wait')
    out.line(
      '#   It did not come back to its wait once: it ran from the first to the last moment that was seen.',
    );
  const { lengths } = loop;
  if (lengths !== null) {
    const { p50Ns, p90Ns, p99Ns, maxNs } = lengths;
    const parts = [
      `median ${time(p50Ns)}`,
      `p90 ${time(p90Ns)}`,
      `p99 ${time(p99Ns)}`,
      `longest ${time(maxNs)}`,
    ];
    out.line(`#   Turns: ${parts.join(', ')}`);
  }
  const cpuNs = loop.work.reduce((sum, { timeNs }) => sum + timeNs, 0);
  const waits = [`on the CPU ${time(cpuNs)}`, `waiting ${time(loop.waitingNs)}`];
  if (loop.readyNs > 0) waits.push(`ready while no CPU was free ${time(loop.readyNs)}`);
  out.line(`#   In turns: ${waits.join(', ')}`);
  if (loop.work.length > 0) out.line(`#   On the CPU: ${workText(loop.work)}`);
  if (loop.waits.length > 0) out.line(`#   Waiting: ${waitsText(loop.waits, MOST_WAITS)}`);
  printHistogram(loop, out);
  printBlockers(loop, slowNs, out);
  printLongest(loop, out);
}

function headText({ busyPercent, busyNs, idleNs, turns }: LoopRow): string {
  return `busy ${busyPercent.toFixed(1)} % of ${time(busyNs + idleNs)} (${time(busyNs)}), ${countOf(turns, 'turn')}`;
}

/** Where all turns are short, a picture of them says little. */
function printHistogram({ histogram, turns }: LoopRow, out: Output): void {
  const most = Math.max(...histogram.map((row) => row.turns), 1);
  if (turns === 0) return;
  out.line('#');
  out.line('#   Turns by length');
  for (const { fromNs, toNs, turns: count } of histogram) {
    const range =
      toNs === null
        ? `from ${time(fromNs)}`
        : fromNs === 0
          ? `to ${time(toNs)}`
          : `${time(fromNs)} to ${time(toNs)}`;
    // One of a million is seen, too.
    const bar = '#'.repeat(count === 0 ? 0 : Math.max(1, Math.round((BAR_CHARS * count) / most)));
    out.line(`    ${range.padEnd(20)} ${formatCount(count).padStart(9)}  ${bar}`.trimEnd());
  }
}

function printBlockers({ blockers, slowTurns, slowTurnsNs }: LoopRow, slowNs: number, out: Output): void {
  out.line('#');
  if (slowTurns === 0) {
    out.line(`#   No turn took ${time(slowNs)} (--slow).`);
    return;
  }
  const title = `What took the time of ${countOf(slowTurns, 'turn')} of at least ${time(slowNs)} (${time(slowTurnsNs)} together)`;
  out.line(out.style.bold(`#   ${title}`));
  out.line('#      Time  Most of  Longest  Function');
  for (const row of blockers.slice(0, MOST_BLOCKERS)) {
    if (row.timeNs < (slowTurnsNs * LEAST_PERCENT) / 100) break;
    const cells = [
      time(row.timeNs).padStart(9),
      countOf(row.turns, 'turn').padStart(9),
      longestText(row.longestTurnNs),
    ];
    out.line(`  ${cells.join(' ')}  ${functionText(row)}`);
  }
}

function longestText(ns: number): string {
  return (ns === 0 ? '' : time(ns)).padStart(8);
}

const KINDS: Record<TurnKind, string> = {
  turn: '',
  start: 'start of the program, before its first wait: ',
  end: 'the thread ended in it: ',
  cut: 'cut by the recording: ',
};

function printLongest({ longest }: LoopRow, out: Output): void {
  if (longest.length === 0) return;
  out.line('#');
  out.line(out.style.bold('#   Longest turns'));
  out.line('#   At second   Length    CPU  Waits  Ready     GC  Compile  Function');
  for (const turn of longest) {
    const share = (ns: number) => `${Math.round((100 * ns) / Math.max(1, turn.lengthNs))} %`.padStart(5);
    const cells = [
      (turn.startNs / NS_PER_SECOND).toFixed(3).padStart(11),
      time(turn.lengthNs).padStart(8),
      share(turn.cpuNs).padStart(6),
      share(turn.waitingNs).padStart(6),
      share(turn.readyNs).padStart(6),
      share(workNs(turn.work, /^GC/)).padStart(6),
      share(workNs(turn.work, /^(?:compile|parse)/)).padStart(8),
    ];
    out.line(
      `  ${cells.join(' ')}  ${KINDS[turn.kind]}${turn.function === null ? '[not sampled]' : functionText(turn.function)}`,
    );
    printDetails(turn, out);
  }
}

function printDetails({ function: most, stack, functions, waits, lengthNs }: LoopTurn, out: Output): void {
  const indent = ' '.repeat(13);
  const share = functions[0]?.percent ?? 0;
  if (most !== null && share < 90) {
    const others = functions.slice(1, MOST_CALLERS).filter(({ percent }) => percent >= 5);
    const texts = others.map((one) => `${functionText(one)} ${one.percent.toFixed(0)} %`);
    if (texts.length > 0) out.line(out.style.dim(`${indent}${share.toFixed(0)} %, then ${texts.join(', ')}`));
  }
  const callers = ownCallers(stack).slice(0, MOST_CALLERS);
  if (callers.length > 0)
    out.line(out.style.dim(`${indent}called by ${callers.map(functionText).join(' < ')}`));
  const long = waits.filter(({ timeNs }) => timeNs > lengthNs / 20);
  if (long.length > 0) out.line(out.style.dim(`${indent}waited: ${waitsText(long, MOST_WAITS)}`));
}

/** The program's own functions; if there are none, those of Node. */
function ownCallers(stack: readonly LoopFunction[]): LoopFunction[] {
  const scripts = stack.filter(({ file }) => file !== null);
  const own = scripts.filter(({ file }) => !file!.startsWith('node:'));
  return own.length > 0 ? own : scripts;
}

function printPool(pool: readonly PoolRow[], out: Output): void {
  if (pool.length === 0) return;
  out.line('#');
  out.line(out.style.bold("# Work in threads of libuv's pool"));
  out.line('#      Pid  Threads    On CPU    Waiting      Ready  Work');
  for (const { pid, kind, threads, cpuNs, waitingNs, readyNs } of pool) {
    const cells = [String(pid).padStart(8), String(threads).padStart(8), time(cpuNs).padStart(9)];
    out.line(`  ${cells.join(' ')} ${time(waitingNs).padStart(10)} ${time(readyNs).padStart(10)}  ${kind}`);
  }
}

function workNs(work: readonly LoopShare[], pattern: RegExp): number {
  return work.reduce((sum, { name, timeNs }) => sum + (pattern.test(name) ? timeNs : 0), 0);
}

function workText(work: readonly LoopShare[]): string {
  const rows = work.filter(({ percent }) => percent >= LEAST_PERCENT);
  return rows.map(({ name, percent }) => `${printable(name)} ${percent.toFixed(1)} %`).join(', ');
}

function waitsText(waits: readonly LoopWait[], most: number): string {
  const texts = waits.slice(0, most).map(({ cause, kernelFunction, function: who, isInferred, timeNs }) => {
    const where = kernelFunction === null ? '' : ` (${printable(kernelFunction)})`;
    return `${cause}${where} ${time(timeNs)}${who === null ? '' : `${isInferred ? ' probably' : ''} in ${functionText(who)}`}`;
  });
  if (waits.length > most) texts.push(`${waits.length - most} more`);
  return texts.join(', ');
}

function functionText({ name, file, line }: LoopFunction): string {
  const place = file === null ? '' : ` (${file}${line === null ? '' : `:${line}`})`;
  return printable(`${name}${place}`);
}

function time(ns: number): string {
  return formatDuration(ns);
}
