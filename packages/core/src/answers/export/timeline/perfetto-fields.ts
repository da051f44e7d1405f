/**
 * Numbers of fields in Perfetto's protos/perfetto/trace: those that a timeline of
 * calls needs. Imports nothing.
 */

// trace.proto, Trace
export const TRACE_PACKET = 1;

// trace_packet.proto, TracePacket
export const PACKET_TIMESTAMP = 8;
export const PACKET_SEQUENCE_ID = 10;
export const PACKET_TRACK_EVENT = 11;
export const PACKET_INTERNED_DATA = 12;
export const PACKET_SEQUENCE_FLAGS = 13;
export const PACKET_TRACK_DESCRIPTOR = 60;

export const SEQUENCE_CLEARED = 1;
export const SEQUENCE_NEEDS_STATE = 2;

// track_event/track_descriptor.proto, TrackDescriptor
export const TRACK_UUID = 1;
export const TRACK_NAME = 2;
export const TRACK_PROCESS = 3;
export const TRACK_THREAD = 4;
export const TRACK_PARENT_UUID = 5;

// track_event/process_descriptor.proto, ProcessDescriptor
export const PROCESS_PID = 1;
export const PROCESS_NAME = 6;

// track_event/thread_descriptor.proto, ThreadDescriptor
export const THREAD_PID = 1;
export const THREAD_TID = 2;
export const THREAD_NAME = 5;

// track_event/track_event.proto, TrackEvent
export const EVENT_CATEGORY_IIDS = 3;
export const EVENT_TYPE = 9;
export const EVENT_NAME_IID = 10;
export const EVENT_TRACK_UUID = 11;
export const EVENT_NAME = 23;

export const TYPE_SLICE_BEGIN = 1;
export const TYPE_SLICE_END = 2;
export const TYPE_INSTANT = 3;

// interned_data/interned_data.proto, InternedData; EventCategory and EventName have the same fields
export const INTERNED_CATEGORIES = 1;
export const INTERNED_NAMES = 2;
export const INTERNED_IID = 1;
export const INTERNED_NAME = 2;
