import { CounterpointError, didYouMean, nearestNames } from '../../base/index.ts';
import {
  type PerfDataReader,
  type TracepointField,
  type TracepointFormat,
  tracingDataOf,
} from '../../file-formats/perfdata/index.ts';
import { PERF_TYPE_TRACEPOINT } from '../../format/abi/index.ts';
import type { SamplePlaces, SampleTexts, WalkedSample } from '../../profile/ingest/index.ts';
import type { TraceSortKey } from '../query/sort-keys.ts';
import { CodeNames } from './code-names.ts';
import { TracePrinter } from './trace-printer.ts';
import { fieldText } from './trace-text.ts';

/** What a sample without the field has, as in perf. */
const ABSENT = 'N/A';
const RAW = '/raw';

/** `sched:sched_switch.next_comm`, taken apart; the event may be a part of its name, as in perf. */
interface FieldKey {
  event: string;
  field: string;
  /** The number as recorded, not as the kernel prints it. */
  isRaw: boolean;
}

function parseKey(key: string): FieldKey | null {
  if (key === 'trace') return null;
  const isRaw = key.endsWith(RAW);
  const text = isRaw ? key.slice(0, -RAW.length) : key;
  const dot = text.lastIndexOf('.');
  return { event: text.slice(0, dot), field: text.slice(dot + 1), isRaw };
}

/**
 * What tracepoints recorded, as keys of rows: all of it as the kernel prints it (`trace`), or
 * one field (`EVENT.FIELD`). A field has the word that the kernel's text has for it
 * (`prev_state=D`), else what was recorded.
 */
export class TraceKeys implements SampleTexts {
  /** The sort keys that are read. */
  readonly keys: readonly string[];
  readonly #reader: PerfDataReader;
  readonly #parsed: (FieldKey | null)[];
  readonly #isFound: boolean[];
  readonly #printer: TracePrinter;
  readonly #codeNames: CodeNames | null;
  readonly #fields = new Map<TracepointFormat, (TracepointField | null)[]>();

  /** For the tracepoints of that recording. Without `places`, addresses of code stay numbers. */
  constructor(reader: PerfDataReader, keys: readonly string[], places?: SamplePlaces) {
    this.#reader = reader;
    this.#codeNames = places === undefined ? null : new CodeNames(places.profile, places);
    this.#printer = new TracePrinter(reader, this.#codeNames);
    this.keys = keys;
    this.#parsed = keys.map(parseKey);
    this.#isFound = keys.map(() => false);
  }

  /** The texts of a sample, one for each key; empty where its event has no such field. */
  textsOf(sample: WalkedSample): string[] {
    const format =
      sample.event.attr.type === PERF_TYPE_TRACEPOINT ? this.#printer.formatOf(sample) : undefined;
    if (format === undefined) return this.keys.map(() => ABSENT);
    const fields = this.#fieldsOf(format);
    let printed: string | null = null;
    const text = () => (printed ??= this.#printer.text(sample, format));
    return this.#parsed.map((key, index) => {
      const field = fields[index]!;
      if (key !== null && field === null) return ABSENT;
      this.#isFound[index] = true;
      if (key === null) return text();
      // Texts may have blanks in them.
      const isText = /\bchar\b/.test(field!.type);
      const word = key.isRaw || isText ? undefined : wordOf(text(), key.field);
      if (word !== undefined) return word;
      const { view, fields: place } = sample;
      return fieldText(view, place.rawOffset, place.rawSize, field!, this.#reader.littleEndian);
    });
  }

  /** A text of `textsOf` with the names of the kernel's functions in it, once symbols are known. */
  named(text: string): string {
    return this.#codeNames?.named(text) ?? text;
  }

  /** Throws `ERR_SORT_KEY` for a key that is a field of no tracepoint of the recording. */
  finish(): void {
    const index = this.#isFound.indexOf(false);
    if (index < 0) return;
    const key = this.keys[index]!;
    const recorded = formatsOf(this.#reader);
    if (this.#fields.size === 0 && recorded.length === 0) {
      throw new CounterpointError(
        'ERR_SORT_KEY',
        `${key} is for tracepoints, but the recording has no events of tracepoints`,
        'Record a tracepoint: -e sched:sched_switch.',
      );
    }
    // An event that took no sample has its fields, too.
    const known = this.#fields.size > 0 ? [...this.#fields.keys()] : recorded;
    const names = known.flatMap(({ system, name, fields }) =>
      fields.filter(({ isCommon }) => !isCommon).map((field) => `${system}:${name}.${field.name}`),
    );
    const isRecorded = (wanted: FieldKey | null, found: number) =>
      this.#isFound[found] || wanted === null || recorded.some((format) => fieldOf(format, wanted) !== null);
    if (this.#parsed.every(isRecorded)) return;
    throw new CounterpointError(
      'ERR_SORT_KEY',
      `no tracepoint of the recording has ${key}${didYouMean(nearestNames(key, names))}`,
      `It has: ${names.join(', ')}`,
    );
  }

  #fieldsOf(format: TracepointFormat): (TracepointField | null)[] {
    let fields = this.#fields.get(format);
    if (fields === undefined) {
      fields = this.#parsed.map((key) => (key === null ? null : fieldOf(format, key)));
      this.#fields.set(format, fields);
    }
    return fields;
  }
}

/** The value behind `name=` in the kernel's text; a value ends at a blank. */
function wordOf(text: string, name: string): string | undefined {
  return text
    .split(' ')
    .find((word) => word.startsWith(`${name}=`))
    ?.slice(name.length + 1);
}

function fieldOf(format: TracepointFormat, { event, field }: FieldKey): TracepointField | null {
  if (!nameOf(format).includes(event)) return null;
  return format.fields.find(({ name }) => name === field) ?? null;
}

function nameOf({ system, name }: TracepointFormat): string {
  return `${system}:${name}`;
}

/** Of the events that were recorded; of one of them where `only` tells its place, from 1. */
function formatsOf({ events: { events }, features }: PerfDataReader, only = 0): TracepointFormat[] {
  const tracing = tracingDataOf(features);
  return events.flatMap(({ attr }, at) => {
    if (only > 0 && at + 1 !== only) return [];
    const format = attr.type === PERF_TYPE_TRACEPOINT ? tracing?.byId.get(Number(attr.config)) : undefined;
    return format === undefined ? [] : [format];
  });
}

/**
 * The keys that one of perf's words stands for: a field of any event (`next_comm`,
 * `next_comm/raw`), all fields of an event (`sched_switch.*`), all of all (`trace_fields`); the
 * event also by its place (`%1.next_comm`). None where it stands for nothing in this recording.
 */
export function traceFieldKeys(reader: PerfDataReader, word: string): TraceSortKey[] {
  const raw = word.endsWith(RAW) ? RAW : '';
  const text = raw === '' ? word : word.slice(0, -RAW.length);
  const dot = text.lastIndexOf('.');
  const event = dot < 0 ? '' : text.slice(0, dot);
  const field = text === 'trace_fields' ? '*' : text.slice(dot + 1);
  const place = /^%([1-9]\d*)$/.exec(event)?.[1];
  return formatsOf(reader, Number(place ?? 0))
    .filter((format) => place !== undefined || nameOf(format).includes(event))
    .flatMap((format) =>
      format.fields
        .filter(({ name, isCommon }) => name === field || (field === '*' && !isCommon))
        .map(({ name }): TraceSortKey => `${nameOf(format)}.${name}${raw}`),
    );
}

/** Whether an event can have anything under a key: other events have no column of it. */
export function isKeyOfEvent(key: TraceSortKey, eventName: string): boolean {
  const parsed = parseKey(key);
  return parsed === null || eventName.includes(parsed.event);
}
