import { FEATURE_FLIGHT, featureName, sampleBitNames } from '@counterpoint/core/abi';
import { formatSeconds, hiOf, loOf, printable } from '@counterpoint/core/base';
import type { PerfDataReader } from '@counterpoint/core/perfdata';
import type { Recording } from '../../open/index.ts';
import { EXIT_OK } from '../common/args.ts';
import type { Output } from '../common/output.ts';
import { sayCut } from '../common/recording-input.ts';

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
  if (args.boolean('json')) out.json({ type: 'header', version: 1, ...headerAnswer(reader) });
  else writeHeader(reader, out);
  return EXIT_OK;
}

/** For `--json`. */
export function headerAnswer(reader: PerfDataReader): Record<string, unknown> {
  return { ...Object.fromEntries(headerRows(reader)), events: eventRows(reader) };
}

/** As lines of a text report. */
export function writeHeader(reader: PerfDataReader, out: Output): void {
  out.line('# ========');
  for (const [name, value] of headerRows(reader))
    out.line(`# ${name} : ${printable(Array.isArray(value) ? value.join(' ') : String(value))}`);
  for (const { name, type, config, ids } of eventRows(reader))
    out.line(
      `# event : name = ${printable(name)}, type = ${type}, config = ${config}, ids = ${ids.join(' ')}`,
    );
  out.line('# ========');
}

function headerRows({
  features,
  isPipe,
  littleEndian,
}: PerfDataReader): [string, string | number | string[]][] {
  const rows: [string, string | number | string[]][] = [
    ['mode', isPipe ? 'pipe' : 'file'],
    ['byteOrder', littleEndian ? 'little-endian' : 'big-endian'],
  ];
  const add = (name: string, value: string | number | string[] | undefined) => {
    if (value !== undefined) rows.push([name, value]);
  };
  add('hostname', features.hostname);
  add('osRelease', features.osRelease);
  add('perfVersion', features.version);
  add('arch', features.arch);
  add('cpusOnline', features.cpusOnline);
  add('cpusAvailable', features.cpusAvailable);
  add('cpuDescription', features.cpuDescription);
  add('cpuId', features.cpuId);
  add('totalMemoryKb', features.totalMemoryKb?.toString());
  add('commandLine', features.commandLine);
  add('compressed', compressionText(features.compressed));
  if (features.sampleTime !== undefined) {
    const { first, last } = features.sampleTime;
    add('firstSample', formatSeconds(loOf(first), hiOf(first), 9));
    add('lastSample', formatSeconds(loOf(last), hiOf(last), 9));
  }
  const flight = flightFacts(features.raw.get(FEATURE_FLIGHT));
  add('trigger', flight.trigger);
  add('triggeredAt', flight.at);
  add('features', [...features.raw.keys()].sort((a, b) => a - b).map(featureName));
  return rows;
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
