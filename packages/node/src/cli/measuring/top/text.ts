/** The tables of `top` one below the other, for people and, as JSON, for programs. */
import { printableJson } from '@counterpoint/core/base';
import type { LiveEnd } from '../../../linux/sample/record/index.ts';
import { lossLines } from '../../common/loss-text.ts';
import type { Output } from '../../common/output.ts';
import type { TopState } from './keys.ts';
import { headText, lookText, tableLines } from './screen.ts';
import type { TopSettings } from './settings.ts';
import { type TopHead, type TopLook, tableOf } from './view.ts';

const DEFAULT_LINES = 20;

/** A look, with a table for each event. */
export function printLook(head: TopHead, look: TopLook, settings: TopSettings, out: Output): void {
  const { state } = settings;
  head.events.forEach((_, event) => {
    const shown: TopState = { ...state, event };
    const table = tableOf(look, shown, settings, state.lines ?? DEFAULT_LINES);
    out.line(`# counterpoint top: ${headText(head, shown)}`);
    out.line(`# ${lookText(head, look, table)}`);
    for (const line of lossLines(look.losses, []))
      out.line(out.style.yellow(`# LOST since the start: ${line}`));
    const size = { columns: 0, rows: state.lines ?? DEFAULT_LINES };
    for (const line of tableLines(table, shown, size, out.style)) out.line(line);
    out.line();
  });
  out.flush();
}

/** The same as one line of JSON. */
export function printLookJson(
  head: TopHead,
  look: TopLook,
  end: LiveEnd | null,
  settings: TopSettings,
  out: Output,
): void {
  const { number, elapsedMs, samples, kernelSamples, lost, losses, handlerNs, readNs } = look;
  const lines = settings.state.lines ?? Number.POSITIVE_INFINITY;
  const events = head.events.map(({ name, frequencyHz, period }, event) => {
    const { answer, idlePercent } = tableOf(look, { ...settings.state, event }, settings, lines);
    const { rows } = answer;
    const rate = { frequencyHz, period: period === null ? null : period.toString() };
    return {
      event: name,
      unit: answer.unit,
      ...rate,
      samples: answer.samples,
      idlePercent,
      sort: answer.sort,
      rows,
    };
  });
  const facts = { number, elapsedMs, samples, kernelSamples, lost: String(lost), handlerNs, readNs };
  out.line(
    printableJson({ type: 'top', version: 1, ...facts, target: head.target, events, loss: losses, end }),
  );
  out.flush();
}
