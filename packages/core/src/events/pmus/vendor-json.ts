import { ARM_STANDARD_EVENTS } from './armv8-standard.ts';
import { termsText } from './term-layout.ts';
import {
  eventName,
  type Fields,
  field,
  isFields,
  isSet,
  numberField,
  readNumber,
  shown,
  textField,
} from './vendor-fields.ts';
import { readTableEvent } from './vendor-table.ts';
import {
  ProblemList,
  type VendorEvent,
  type VendorEvents,
  type VendorProduct,
  type VendorSchema,
} from './vendor-types.ts';

/** The largest published tables have some 5 MB and 5,000 events. */
const MOST_TEXT = 64 << 20;
const MOST_EVENTS = 200_000;

/**
 * Events of a vendor's table, whichever published form it has:
 *
 *   intel-perfmon  { Header, Events: [{ EventName, EventCode: "0x3C", UMask: "0x00", Counter: "0,1,2,3", … }] }
 *   perf-json      [{ EventName, EventCode, … } | { ArchStdEvent: "CPU_CYCLES" } | { MetricName, … }]
 *   arm-telemetry  { product_configuration, events: { CPU_CYCLES: { code: "0x0011", title, description } } }
 *   arm-events     { core, events: [{ name, code: 17, description }] }
 *
 * Never throws: what cannot be read is left out and stands in `problems` with its place.
 */
export function parseVendorEvents(text: string, fileName: string): VendorEvents {
  const problems = new ProblemList();
  const none = (): VendorEvents => finish(null, [], 0, problems);
  if (text.length > MOST_TEXT) {
    problems.add(fileName, `larger than any table: ${text.length} characters, at most ${MOST_TEXT} are read`);
    return none();
  }
  let json: unknown;
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    problems.add(fileName, `not JSON: ${shown(error instanceof Error ? error.message : error)}`);
    return none();
  }
  const rows = rowsOf(json, fileName);
  if (rows === null) {
    problems.add(fileName, 'not a table of events: expected a list, or an object with `Events` or `events`');
    return none();
  }
  return { ...readRows(rows.schema, rows.entries, problems), product: productOf(json) };
}

function productOf(json: unknown): VendorProduct | null {
  const product = isFields(json) ? field(json, 'product_configuration') : undefined;
  if (!isFields(product)) return null;
  const implementer = readNumber(field(product, 'implementer'));
  const part = readNumber(field(product, 'part_num'));
  if (implementer === undefined || implementer > 0xffn || part === undefined || part > 0xfffn) return null;
  return {
    name: textField(product, 'product_name') || 'an Arm CPU',
    implementer: Number(implementer),
    part: Number(part),
  };
}

type Row = readonly [place: string, name: string | null, value: unknown];

function rowsOf(json: unknown, fileName: string): { schema: VendorSchema; entries: Iterable<Row> } | null {
  if (Array.isArray(json)) return { schema: 'perf-json', entries: listRows(json, fileName) };
  if (!isFields(json)) return null;
  const wrapped = field(json, 'Events');
  if (Array.isArray(wrapped))
    return { schema: 'intel-perfmon', entries: listRows(wrapped, `${fileName}: Events`) };
  const events = field(json, 'events');
  if (Array.isArray(events))
    return { schema: 'arm-events', entries: listRows(events, `${fileName}: events`) };
  if (!isFields(events)) return null;
  const place = `${fileName}: events`;
  const entries = Object.keys(events).map((name): Row => [`${place}.${shown(name)}`, name, events[name]]);
  return { schema: 'arm-telemetry', entries };
}

function* listRows(list: readonly unknown[], place: string): Iterable<Row> {
  for (const [index, value] of list.entries()) yield [`${place}[${index}]`, null, value];
}

function readRows(schema: VendorSchema, rows: Iterable<Row>, problems: ProblemList): VendorEvents {
  const events: VendorEvent[] = [];
  const known = new Set<string>();
  let skipped = 0;
  for (const [place, key, value] of rows) {
    if (events.length >= MOST_EVENTS) {
      problems.add(place, `more than ${MOST_EVENTS} events; the rest is not read`);
      break;
    }
    if (!isFields(value)) {
      problems.add(place, `${shown(value)} is not an object`);
      continue;
    }
    if (isMetric(value)) {
      skipped++;
      continue;
    }
    const event =
      key !== null || schema === 'arm-events'
        ? readArmEvent(value, key, place, problems)
        : readPerfRow(value, place, problems);
    if (event === null) continue;
    const identity = `${event.pmu ?? ''}/${event.name.toLowerCase()}`;
    if (known.has(identity)) problems.add(place, `${event.name} already exists: this one is left out`);
    else events.push(event);
    known.add(identity);
  }
  return finish(schema, events, skipped, problems);
}

function isMetric(fields: Fields): boolean {
  return (
    field(fields, 'EventName', 'ArchStdEvent') === undefined &&
    field(fields, 'MetricName', 'MetricExpr') !== undefined
  );
}

/** A row by Intel's field names; Arm's tables for perf mostly only name the architecture's event. */
function readPerfRow(fields: Fields, place: string, problems: ProblemList): VendorEvent | null {
  const standard = field(fields, 'ArchStdEvent');
  if (standard === undefined) return readTableEvent(fields, place, problems);
  const known = typeof standard === 'string' ? ARM_STANDARD_EVENTS.get(standard.toUpperCase()) : undefined;
  if (known === undefined) {
    problems.add(`${place}.ArchStdEvent`, `${shown(standard)} is not a known architectural event`);
    return null;
  }
  return armEvent(known.name, known.code, fields, place, known.description);
}

/** Arm's telemetry files and its older lists of events. */
function readArmEvent(
  fields: Fields,
  key: string | null,
  place: string,
  problems: ProblemList,
): VendorEvent | null {
  const name = eventName(key ?? field(fields, 'name'));
  if (name === null) {
    problems.add(place, `${shown(key ?? field(fields, 'name'))} is not a name of an event`);
    return null;
  }
  const code = numberField(fields, place, problems, 'code');
  if (code === undefined) return null;
  if (code === null) {
    problems.add(`${place}.code`, `${name} has no code`);
    return null;
  }
  if (code > 0xffffn) {
    problems.add(`${place}.code`, `0x${code.toString(16)} is more than the 16 bits of an Armv8 event`);
    return null;
  }
  return armEvent(name, code, fields, place, '');
}

function armEvent(name: string, code: bigint, fields: Fields, place: string, own: string): VendorEvent {
  const brief = textField(fields, 'title', 'BriefDescription');
  const description = textField(fields, 'description', 'PublicDescription');
  const termValues = [['event', code]] as const;
  return {
    name,
    terms: termsText(termValues),
    termValues,
    pmu: null,
    brief: brief || description || own,
    description: description || brief || own,
    general: null,
    fixed: [],
    samplePeriod: null,
    precise: 'no',
    isDeprecated: isSet(fields, 'Deprecated'),
    place,
  };
}

function finish(
  schema: VendorSchema | null,
  events: readonly VendorEvent[],
  skipped: number,
  problems: ProblemList,
): VendorEvents {
  return { schema, product: null, events, skipped, problems: problems.kept, problemCount: problems.total };
}
