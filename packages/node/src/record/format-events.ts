/** The events of a recording with sampling formats: each format has copies of its own, since an event has room for one program. */
import {
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import {
  checkFormatOptions,
  type FormatRequest,
  findFormat,
  parseFormatOptions,
  type SamplingFormat,
  splitSpecification,
} from '../sampling/index.ts';
import type { PlannedEvent, Session, SessionTarget } from '../session/index.ts';
import type { RecordOptions } from './options.ts';
import type { Scope } from './request.ts';

/** A format with its options, checked. */
export interface ChosenFormat {
  readonly format: SamplingFormat;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A tracepoint's own records are not wanted beside what the format makes: none comes in a lifetime. */
const NEVER = 2n ** 62n;

/** In the order given; none: the kernel's own records. */
export async function chooseFormats(formats: RecordOptions['formats'] = []): Promise<ChosenFormat[]> {
  const chosen: ChosenFormat[] = [];
  for (const one of formats) {
    const choice = typeof one === 'string' ? splitSpecification(one) : one;
    const format =
      'format' in choice
        ? typeof choice.format === 'string'
          ? await findFormat(choice.format)
          : choice.format
        : await findFormat(choice.name);
    const { name, options: table } = format;
    const options =
      typeof choice.options === 'string'
        ? parseFormatOptions(name, table, choice.options)
        : checkFormatOptions(name, table, choice.options ?? {});
    chosen.push({ format, options });
  }
  return chosen;
}

/** The events of all formats, one format after the other. */
export function copyEvents(events: readonly ParsedEvent[], formats: readonly ChosenFormat[]): ParsedEvent[] {
  if (formats.length <= 1) return [...events];
  const groups = 1 + Math.max(-1, ...events.map(({ group }) => group ?? -1));
  return formats.flatMap((_, copy) =>
    events.map((event) => ({
      ...event,
      group: event.group === null ? null : event.group + copy * groups,
    })),
  );
}

/** Which of the planned events are whose; a format without a handler leaves its events as they are. */
export function prepareEvents(
  planned: readonly PlannedEvent[],
  formats: readonly ChosenFormat[],
  eventCount: number,
): void {
  formats.forEach(({ format }, copy) => {
    if (format.onOverflow === undefined) return;
    for (const { attr, name } of planned.slice(copy * eventCount, (copy + 1) * eventCount)) {
      if (attr.flags.freq === 0 && attr.samplePeriodOrFreq === 0n)
        throw new CounterpointError(
          'ERR_FORMAT_EVENT',
          `${name} only follows its group's leader, so the format ${format.name} has no overflows of it`,
          'Sample it by itself.',
        );
      attr.sampleType |= BigInt(
        PERF_SAMPLE_IDENTIFIER |
          PERF_SAMPLE_IP |
          PERF_SAMPLE_TID |
          PERF_SAMPLE_TIME |
          PERF_SAMPLE_CPU |
          PERF_SAMPLE_PERIOD,
      );
      if (attr.type !== PERF_TYPE_TRACEPOINT) continue;
      attr.flags.freq = 0;
      attr.samplePeriodOrFreq = NEVER;
    }
  });
}

export function formatRequests(
  session: Session,
  formats: readonly ChosenFormat[],
  eventCount: number,
  scope: Scope,
  target: SessionTarget,
): FormatRequest[] {
  return formats.map(({ format, options }, copy) => ({
    format,
    options,
    events: session.events.slice(copy * eventCount, (copy + 1) * eventCount),
    target: { kind: scope.kind, cpus: target.cpus },
  }));
}
