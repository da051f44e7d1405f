import { PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { printable } from '@counterpoint/core/base';
import { type PerfDataReader, type RecordedEvent, tracingDataOf } from '@counterpoint/core/perfdata';
import { defineVerb, EXIT_OK } from '../../common/args.ts';
import { INPUT_OPTIONS, inputName } from '../../common/recording-input.ts';
import { attrWords, recordedFields } from './attr-words.ts';

type EvlistName = 'input' | 'freq' | 'group' | 'trace-fields' | 'json';

export default defineVerb<EvlistName>({
  name: 'evlist',
  summary: 'list the events of a recording, and how they were recorded',
  usage: ['[options]', '[options] FILE'],
  options: [
    { ...INPUT_OPTIONS.find(({ long }) => long === 'input')!, long: 'input' },
    { long: 'freq', short: 'F', help: 'print how often each event was sampled', group: 'Events' },
    { long: 'group', short: 'g', help: 'print the events of a group in braces', group: 'Events' },
    { long: 'trace-fields', help: 'print the fields of tracepoints', group: 'Events' },
    { long: 'json', help: 'the answer as JSON', group: 'Events' },
  ],
  examples: [
    ['evlist', 'the events of perf.data'],
    ['evlist -v -i old.data', 'every field of their attrs that is not 0'],
    ['evlist --json | jq .events[0].attr.sample_freq', 'one of them in a script'],
  ],
  async run({ args, out }) {
    const { openRecording } = await import('../../../host/open/index.ts');
    await using recording = await openRecording(inputName(args));
    const reader = await recording.reader();
    // The events of a stream come among its records.
    if (recording.isStream) await reader.scan({ record: () => {} });
    const { events } = reader.events;
    if (args.boolean('json')) {
      const rows = events.map((event) => ({
        name: event.name,
        group: groupOf(reader, event)?.name ?? null,
        ids: event.ids.map(String),
        attr: recordedFields(event),
        traceFields: traceFields(reader, event),
      }));
      out.json({ type: 'event-list', version: 1, events: rows });
      return EXIT_OK;
    }
    if (args.boolean('group')) {
      for (const line of groupedNames(reader)) out.line(printable(line));
      return EXIT_OK;
    }
    for (const event of events) {
      const details = args.boolean('verbose')
        ? attrText(event)
        : args.boolean('freq')
          ? rateText(event)
          : args.boolean('trace-fields')
            ? fieldsText(reader, event)
            : null;
      out.line(printable(details === null ? event.name : `${event.name}: ${details}`));
    }
    return EXIT_OK;
  },
});

/** Fields that are not 0, as perf prints them. */
function attrText(event: RecordedEvent): string {
  return attrWords(event)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}

function rateText({ attr }: RecordedEvent): string {
  return `${attr.flags.freq === 1 ? 'sample_freq' : 'sample_period'}=${attr.samplePeriodOrFreq}`;
}

function traceFields({ features }: PerfDataReader, { attr }: RecordedEvent): string[] | null {
  const format = tracingDataOf(features)?.byId.get(Number(attr.config));
  if (attr.type !== PERF_TYPE_TRACEPOINT || format === undefined) return null;
  return format.fields.filter(({ isCommon }) => !isCommon).map(({ name }) => name);
}

function fieldsText(reader: PerfDataReader, event: RecordedEvent): string {
  if (event.attr.type !== PERF_TYPE_TRACEPOINT) return '(not a tracepoint)';
  return `trace_fields: ${traceFields(reader, event)?.join(',') ?? '(not recorded)'}`;
}

interface Group {
  name: string;
  first: number;
  count: number;
}

function groupOf({ features }: PerfDataReader, { index }: RecordedEvent): Group | null {
  const group = (features.groups ?? []).find(
    ({ leaderIndex, memberCount }) => index >= leaderIndex && index < leaderIndex + memberCount,
  );
  return group === undefined
    ? null
    : { name: group.name, first: group.leaderIndex, count: group.memberCount };
}

function groupedNames(reader: PerfDataReader): string[] {
  const { events } = reader.events;
  const lines: string[] = [];
  for (const event of events) {
    const group = groupOf(reader, event);
    if (group === null) lines.push(event.name);
    else if (group.first === event.index) {
      const members = events.slice(group.first, group.first + group.count);
      const name = group.name === '{anon_group}' ? '' : group.name;
      lines.push(`${name}{${members.map((member) => member.name).join(',')}}`);
    }
  }
  return lines;
}
