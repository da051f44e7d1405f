/**
 * A reader of Perfetto's traces for tests, written from its published .proto files
 * (google/perfetto, protos/perfetto/trace) and from nothing of ours: what it does not know is an
 * error, and so is a field of another kind.
 */
import { readMessage } from './read-protobuf.ts';

/** A field of a message: its name and kind. Kinds in capitals are messages. */
type FieldRow = readonly [name: string, kind: 'number' | 'text' | 'Message', message?: string];
type MessageRow = Readonly<Record<number, FieldRow>>;

const MESSAGES: Readonly<Record<string, MessageRow>> = {
  // trace.proto
  Trace: { 1: ['packet', 'Message', 'TracePacket'] },
  // trace_packet.proto
  TracePacket: {
    8: ['timestamp', 'number'],
    58: ['timestamp_clock_id', 'number'],
    11: ['track_event', 'Message', 'TrackEvent'],
    60: ['track_descriptor', 'Message', 'TrackDescriptor'],
    10: ['trusted_packet_sequence_id', 'number'],
    12: ['interned_data', 'Message', 'InternedData'],
    13: ['sequence_flags', 'number'],
  },
  // track_event/track_descriptor.proto
  TrackDescriptor: {
    1: ['uuid', 'number'],
    2: ['name', 'text'],
    3: ['process', 'Message', 'ProcessDescriptor'],
    4: ['thread', 'Message', 'ThreadDescriptor'],
    5: ['parent_uuid', 'number'],
  },
  // track_event/process_descriptor.proto
  ProcessDescriptor: { 1: ['pid', 'number'], 2: ['cmdline', 'text'], 6: ['process_name', 'text'] },
  // track_event/thread_descriptor.proto
  ThreadDescriptor: { 1: ['pid', 'number'], 2: ['tid', 'number'], 5: ['thread_name', 'text'] },
  // track_event/track_event.proto
  TrackEvent: {
    3: ['category_iids', 'number'],
    22: ['categories', 'text'],
    10: ['name_iid', 'number'],
    23: ['name', 'text'],
    9: ['type', 'number'],
    11: ['track_uuid', 'number'],
  },
  EventCategory: { 1: ['iid', 'number'], 2: ['name', 'text'] },
  EventName: { 1: ['iid', 'number'], 2: ['name', 'text'] },
  // interned_data/interned_data.proto
  InternedData: {
    1: ['event_categories', 'Message', 'EventCategory'],
    2: ['event_names', 'Message', 'EventName'],
  },
};

/** By the names of the .proto; all values of a field in order. */
export type PerfettoMessage = Record<string, (bigint | string | PerfettoMessage)[]>;

function decode(bytes: Uint8Array, message: string): PerfettoMessage {
  const rows = MESSAGES[message]!;
  const found: PerfettoMessage = {};
  for (const { field, value } of readMessage(bytes)) {
    const row = rows[field];
    if (row === undefined) throw new Error(`${message} has no field ${field}`);
    const [name, kind, inner] = row;
    if ((kind === 'number') !== (typeof value === 'bigint'))
      throw new Error(`${message}.${name} is a ${kind}`);
    const values = (found[name] ??= []);
    values.push(
      typeof value === 'bigint'
        ? value
        : kind === 'text'
          ? new TextDecoder('utf-8', { fatal: true }).decode(value)
          : decode(value, inner!),
    );
  }
  return found;
}

const SEQ_INCREMENTAL_STATE_CLEARED = 1n;
const SEQ_NEEDS_INCREMENTAL_STATE = 2n;
const TYPES = ['UNSPECIFIED', 'SLICE_BEGIN', 'SLICE_END', 'INSTANT', 'COUNTER'] as const;

/** A TrackEvent with its numbers looked up, as Perfetto's trace processor does it. */
export interface PerfettoEvent {
  type: (typeof TYPES)[number];
  timestampNs: bigint;
  name: string | null;
  categories: string[];
  track: PerfettoMessage;
}

export interface PerfettoTrace {
  events: PerfettoEvent[];
  /** TrackDescriptors, in order. */
  tracks: PerfettoMessage[];
}

/** The only value of a field; undefined where it is not there. */
export function one<T extends bigint | string | PerfettoMessage>(
  message: PerfettoMessage,
  name: string,
): T | undefined {
  const values = message[name] ?? [];
  if (values.length > 1) throw new Error(`${name} is there ${values.length} times`);
  return values[0] as T | undefined;
}

/** A packet whose numbers nobody has told, or an event on a track that nobody has described, is an error. */
export function readPerfetto(bytes: Uint8Array): PerfettoTrace {
  const trace: PerfettoTrace = { events: [], tracks: [] };
  const tracks = new Map<bigint, PerfettoMessage>();
  /** By the packet's sequence. */
  const told = new Map<bigint, { names: Map<bigint, string>; categories: Map<bigint, string> }>();
  for (const packet of decode(bytes, 'Trace')['packet'] as PerfettoMessage[]) {
    const sequence = one<bigint>(packet, 'trusted_packet_sequence_id') ?? 0n;
    const flags = one<bigint>(packet, 'sequence_flags') ?? 0n;
    if ((flags & SEQ_INCREMENTAL_STATE_CLEARED) !== 0n)
      told.set(sequence, { names: new Map(), categories: new Map() });
    const known = told.get(sequence);
    if ((flags & SEQ_NEEDS_INCREMENTAL_STATE) !== 0n && known === undefined)
      throw new Error('a packet needs what was not told: Perfetto leaves it out');
    const interned = one<PerfettoMessage>(packet, 'interned_data') ?? {};
    tell(known?.names, interned['event_names']);
    tell(known?.categories, interned['event_categories']);
    const track = one<PerfettoMessage>(packet, 'track_descriptor');
    if (track !== undefined) {
      tracks.set(one<bigint>(track, 'uuid') ?? 0n, track);
      trace.tracks.push(track);
    }
    const event = one<PerfettoMessage>(packet, 'track_event');
    if (event === undefined) continue;
    const uuid = one<bigint>(event, 'track_uuid') ?? 0n;
    const timestampNs = one<bigint>(packet, 'timestamp');
    const on = tracks.get(uuid);
    if (on === undefined) throw new Error(`nobody described the track ${uuid}`);
    if (timestampNs === undefined) throw new Error('an event without a time');
    trace.events.push({
      type: TYPES[Number(one<bigint>(event, 'type') ?? 0n)]!,
      timestampNs,
      name: nameOf(event, known?.names),
      categories: (event['category_iids'] ?? []).map((iid) => lookUp(known?.categories, iid as bigint)),
      track: on,
    });
  }
  return trace;
}

function tell(into: Map<bigint, string> | undefined, entries: PerfettoMessage[string] = []): void {
  for (const entry of entries as PerfettoMessage[]) {
    const iid = one<bigint>(entry, 'iid') ?? 0n;
    if (into === undefined || iid === 0n || into.has(iid))
      throw new Error(`the number ${iid} cannot be told`);
    into.set(iid, one<string>(entry, 'name')!);
  }
}

function nameOf(event: PerfettoMessage, names: Map<bigint, string> | undefined): string | null {
  const iid = one<bigint>(event, 'name_iid');
  return iid === undefined ? (one<string>(event, 'name') ?? null) : lookUp(names, iid);
}

function lookUp(told: Map<bigint, string> | undefined, iid: bigint): string {
  const text = told?.get(iid);
  if (text === undefined) throw new Error(`nobody told what the number ${iid} is`);
  return text;
}
