import { statSync } from 'node:fs';
import { FEATURE_FLIGHT, FEATURE_NAMES, featureName, sampleBitNames } from '@counterpoint/core/abi';
import { formatSeconds, hiOf, loOf, printable } from '@counterpoint/core/base';
import type { PerfDataReader, RecordedEvent } from '@counterpoint/core/perfdata';
import type { Recording } from '../../../host/open/index.ts';
import { EXIT_OK } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { sayCut } from '../../common/recording-input.ts';
import { attrWords } from '../contents/attr-words.ts';

/** PERF_COMP_ZSTD. */
const ZSTD = 1;

/** `report --header-only`: the recorded machine and command. In pipe mode that is known after reading. */
export async function reportHeader(
  { args, out, err }: { args: { boolean(name: 'json'): boolean }; out: Output; err: Output },
  recording: Recording,
): Promise<number> {
  const reader = await recording.reader();
  if (reader.isPipe) await reader.scan({ record() {} }, { unordered: true });
  if (reader.events.events.length === 0 && reader.isCut) return sayCut(err, 'event');
  if (reader.isCut || reader.isUnfinished || reader.missingBytes > 0)
    err.line(err.style.yellow('Note: the file was cut off, or never finished: there may be more'));
  if (args.boolean('json')) out.json({ type: 'header', version: 1, ...headerAnswer(reader, recording.name) });
  else writeHeader(reader, recording.name, out);
  return EXIT_OK;
}

/** For `--json`. `name` is that of the recording. */
export function headerAnswer(reader: PerfDataReader, name: string): Record<string, unknown> {
  const { dataSection } = reader;
  return {
    ...Object.fromEntries(headerRows(reader).map(([key, , value]) => [key, value])),
    capturedAt: lastWritten(name)?.toISOString() ?? null,
    dataOffset: dataSection?.offset ?? null,
    dataSizeBytes: dataSection?.size ?? null,
    featuresOffset: dataSection === null ? null : dataSection.offset + dataSection.size,
    events: eventRows(reader),
  };
}

/** As lines of a text report: perf's, and what ours has beside them. */
export function writeHeader(reader: PerfDataReader, name: string, out: Output): void {
  const line = (text: string) => out.line(`# ${printable(text)}`);
  line('========');
  const captured = lastWritten(name);
  if (captured !== null) line(`captured on    : ${dateText(captured)}`);
  line(`header version : ${HEADER_VERSION}`);
  if (reader.dataSection !== null) {
    const { offset, size } = reader.dataSection;
    line(`data offset    : ${offset}`);
    line(`data size      : ${size}`);
    line(`feat offset    : ${offset + size}`);
  }
  const rows = headerRows(reader);
  const writeRows = (areOfEvents: boolean) => {
    for (const [key, label, value] of rows)
      if (BEHIND_EVENTS.has(key) === areOfEvents)
        line(
          label.replace('%', () =>
            (Array.isArray(value) ? value.join(' ') : String(value)).replace(NANOSECONDS, '$1'),
          ),
        );
  };
  writeRows(false);
  for (const event of reader.events.events) line(eventText(event));
  writeRows(true);
  if (!reader.isPipe) line(`missing features: ${missingFeatures(reader).join(' ')}`);
  line('========');
}

/** perf shows microseconds. */
const NANOSECONDS = /^(\d+\.\d{6})\d{3}$/;

/** Of the form of a file: there is one. */
const HEADER_VERSION = 1;

/** When it was written last, which perf takes for the time of the recording; null where it is no file. */
function lastWritten(name: string): Date | null {
  return name === '-' ? null : (statSync(name, { throwIfNoEntry: false })?.mtime ?? null);
}

/** As C's ctime: `Sun Nov  1 03:17:46 2026`, of the place where it is read. */
function dateText(date: Date): string {
  const [day, month] = date.toString().split(' ');
  const ofMonth = String(date.getDate()).padStart(2);
  return `${day} ${month} ${ofMonth} ${date.toTimeString().slice(0, 8)} ${date.getFullYear()}`;
}

/** What perf prints of the samples and of what is only ours. */
const BEHIND_EVENTS: ReadonlySet<string> = new Set([
  'pmuMappings',
  'firstSample',
  'lastSample',
  'sampleDurationMs',
  'compressed',
  'branchStack',
  'mode',
  'byteOrder',
  'trigger',
  'triggeredAt',
  'features',
]);

/** By the name in JSON: perf's line with `%` for the value, and the value. */
type HeaderRow = [key: string, label: string, value: string | number | string[]];

function headerRows({ features, isPipe, littleEndian }: PerfDataReader): HeaderRow[] {
  const rows: HeaderRow[] = [];
  const add = (key: string, label: string, value: string | number | string[] | undefined) => {
    if (value !== undefined) rows.push([key, label, value]);
  };
  add('hostname', 'hostname : %', features.hostname);
  add('osRelease', 'os release : %', features.osRelease);
  add('perfVersion', 'perf version : %', features.version);
  add('arch', 'arch : %', features.arch);
  add('cpusOnline', 'nrcpus online : %', features.cpusOnline);
  add('cpusAvailable', 'nrcpus avail : %', features.cpusAvailable);
  add('cpuDescription', 'cpudesc : %', features.cpuDescription);
  add('cpuId', 'cpuid : %', features.cpuId);
  add('totalMemoryKb', 'total memory : % kB', features.totalMemoryKb?.toString());
  add('commandLine', 'cmdline : %', features.commandLine);
  if (features.pmuMappings !== undefined)
    add(
      'pmuMappings',
      'pmu mappings: %',
      features.pmuMappings.map(({ name, type }) => `${name} = ${type}`).join(', '),
    );
  add('compressed', 'compressed : %', compressionText(features.compressed));
  if (features.sampleTime !== undefined) {
    const { first, last } = features.sampleTime;
    add('firstSample', 'time of first sample : %', formatSeconds(loOf(first), hiOf(first), 9));
    add('lastSample', 'time of last sample : %', formatSeconds(loOf(last), hiOf(last), 9));
    add('sampleDurationMs', 'sample duration : % ms', (Number(last - first) / 1e6).toFixed(3).padStart(10));
  }
  const flight = flightFacts(features.raw.get(FEATURE_FLIGHT));
  add('trigger', 'trigger : %', flight.trigger);
  add('triggeredAt', 'triggered at : %', flight.at);
  add('mode', 'mode : %', isPipe ? 'pipe' : 'file');
  add('byteOrder', 'byte order : %', littleEndian ? 'little-endian' : 'big-endian');
  add('features', 'features : %', [...features.raw.keys()].sort((a, b) => a - b).map(featureName));
  return rows;
}

/** perf's own: bits that are not set. */
function missingFeatures({ features }: PerfDataReader): string[] {
  return FEATURE_NAMES.filter((name, bit) => bit > 0 && name !== '' && !features.raw.has(bit));
}

/** perf's form, which has a comma too many. */
function eventText(event: RecordedEvent): string {
  const ids = event.ids.length === 0 ? '' : `, id = { ${event.ids.join(', ')} }`;
  const words = attrWords(event).map(([name, value]) => `, ${name} = ${value}`);
  return `event : name = ${event.name}, ${ids}${words.join('')}`;
}

/** As perf writes it. */
function compressionText(facts: PerfDataReader['features']['compressed']): string | undefined {
  if (facts === undefined) return undefined;
  const { type, level, ratio } = facts;
  return `${type === ZSTD ? 'Zstd' : `type ${type}`}, level = ${level}, ratio = ${ratio}`;
}

/** Why and when a history was written; nothing of other files, or of what is no such text. */
function flightFacts(bytes: Uint8Array | undefined): { trigger?: string; at?: string } {
  if (bytes === undefined) return {};
  try {
    const facts: unknown = JSON.parse(new TextDecoder().decode(bytes));
    const { trigger, at } = facts as Record<string, unknown>;
    return {
      ...(typeof trigger === 'string' ? { trigger } : {}),
      ...(typeof at === 'string' ? { at } : {}),
    };
  } catch {
    return {};
  }
}

function eventRows({
  events,
}: PerfDataReader): { name: string; type: number; config: string; ids: number[]; sampleType: string[] }[] {
  return events.events.map(({ name, attr, ids, layout }) => ({
    name,
    type: attr.type,
    config: `0x${attr.config.toString(16)}`,
    ids,
    sampleType: sampleBitNames(layout.sampleType),
  }));
}
