import { printable } from '@counterpoint/core/base';
import { unitOfEvent } from '@counterpoint/core/profile';
import type { CategoryShare, ReportAnswer, ShownJavascript } from '@counterpoint/core/query';
import { formatDuration } from '../../common/human.ts';
import { categoriesText } from '../../common/javascript-option.ts';
import type { Output } from '../../common/output.ts';

/** `3K`, `551K`: perf's round numbers. */
export function roundCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${Math.floor(count / 1000)}K` : `${Math.floor(count / 1_000_000)}M`;
}

/** Of which events the rows below are. */
export function printHead(answer: ReportAnswer['events'][number], hasLoss: boolean, out: Output): void {
  if (!hasLoss) out.line('# Nothing lost.\n#');
  const events = answer.type === 'event-group' ? answer.events : [answer];
  const names = printable(events.map(({ event }) => event).join(', '));
  const samples = events.reduce((sum, event) => sum + event.samples, 0);
  out.line(`# Samples: ${roundCount(samples)} of event${events.length > 1 ? 's' : ''} '${names}'`);
  const isTime = events.every(({ event }) => unitOfEvent(event) === 'nanoseconds');
  const sum = events.reduce((total, { sumPeriod }) => total + BigInt(sumPeriod), 0n);
  out.line(`# Event count (approx.): ${sum}${isTime ? ` (${formatDuration(Number(sum))})` : ''}`);
}

/** Above rows of programs in JavaScript: what they did, and for whom it counts. */
export function printJavascript(
  shares: readonly CategoryShare[],
  { namelessBinaries, isNodeFolded }: ShownJavascript,
  isByCategory: boolean,
  out: Output,
): void {
  out.line(`# Programs in JavaScript: ${categoriesText(shares)}`);
  if (shares.some(({ category }) => category === 'nameless')) {
    const names = printable(namelessBinaries.join(', '));
    const hint = `no names are known of ${names}, so its GC, compilation and builtins cannot be told apart`;
    out.line(out.style.yellow(`# Code without names: ${hint}`));
    out.line(out.style.yellow('# (report on the recorded machine, or give a copy of the file: --symfs DIR)'));
  }
  if (isByCategory) return;
  const who = isNodeFolded ? 'Node, V8 and the kernel' : 'V8 and the kernel';
  out.line(`# What ${who} did counts for the function of the program that called them`);
  out.line(
    `# (${isNodeFolded ? '--no-fold shows functions of Node apart, ' : ''}--no-js shows everything apart)`,
  );
}
