import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_EVENT_UPDATE,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_SAMPLE,
} from '@counterpoint/core/abi';
import { type ByteSource, CounterpointError } from '@counterpoint/core/base';
import {
  type BuildIdEntry,
  openPerfData,
  type PerfDataReader,
  type RecordedEvent,
  type TracepointField,
  tracingDataOf,
} from '@counterpoint/core/perfdata';
import { BodyWriter, decodeRecord, encodeRecord, type SampleRecord } from '@counterpoint/core/records';
import { beginRecording } from './copy-recording.ts';
import type { InjectedOutput } from './output.ts';

const FLUSH_BYTES = 1 << 20;

/** What the beginning of the output says of itself. */
export const OF_THE_BEGINNING: ReadonlySet<number> = new Set([
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_EVENT_TYPE,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_EVENT_UPDATE,
]);

/**
 * Where and how long tasks waited, as perf puts it together: a `sched_stat_*` event says how long a task
 * waited, when that is over; its stack is that of who woke it. The task's last `sched_switch` has its own
 * stack. So each `sched_stat_*` becomes that `sched_switch`, with the time and the period of its own. Records
 * are written in order of time.
 */
export async function mergeSchedStat(
  source: ByteSource,
  output: InjectedOutput,
  buildIds: readonly BuildIdEntry[],
): Promise<void> {
  // What a stream has among its records is wanted at the beginning.
  const first = await openPerfData(source);
  if (first.isPipe) await first.scan({ record: () => {} });
  const roles = rolesOf(first);
  if (![...roles.values()].some(({ role }) => role === 'wait'))
    throw new CounterpointError(
      'ERR_NOT_RECORDED',
      'the recording has no event sched:sched_stat_*',
      'Record them beside sched:sched_switch: record -e sched:sched_switch,sched:sched_process_exit,sched:sched_stat_sleep -g -a',
    );
  const { finish } = beginRecording(first, output, buildIds);
  const reader = await openPerfData(source);
  const merger = new Merger(reader, roles, output);
  await reader.scan(merger);
  if (reader.auxTraceBytes > 0)
    throw new CounterpointError(
      'ERR_OUTPUT',
      'the recording has a hardware trace, which has its place in the file',
      'Give a recording without one to inject -s.',
    );
  merger.flush();
  finish(merger.bytes, 0);
}

interface EventRole {
  readonly role: 'switch' | 'exit' | 'wait';
  /** Who waited. */
  readonly pid: TracepointField | undefined;
}

function rolesOf({ events, features }: PerfDataReader): Map<number, EventRole> {
  const tracing = tracingDataOf(features);
  const roles = new Map<number, EventRole>();
  for (const { name, attr, index } of events.events) {
    const role = name.startsWith('sched:sched_stat_') ? 'wait' : ROLES[name];
    if (role === undefined) continue;
    const format = tracing?.byId.get(Number(attr.config));
    roles.set(index, { role, pid: format?.fields.find((field) => field.name === 'pid') });
  }
  return roles;
}

const ROLES: Readonly<Record<string, 'switch' | 'exit'>> = {
  'sched:sched_switch': 'switch',
  'sched:sched_process_exit': 'exit',
};

/** Takes records in order of time and writes what becomes of them. */
class Merger {
  bytes = 0;
  readonly #reader: PerfDataReader;
  readonly #roles: ReadonlyMap<number, EventRole>;
  readonly #output: InjectedOutput;
  readonly #writer: BodyWriter;
  /** The last time each task left a CPU. */
  readonly #switches = new Map<number, { record: SampleRecord; event: RecordedEvent }>();

  constructor(reader: PerfDataReader, roles: ReadonlyMap<number, EventRole>, output: InjectedOutput) {
    this.#reader = reader;
    this.#roles = roles;
    this.#output = output;
    this.#writer = new BodyWriter(reader.littleEndian, FLUSH_BYTES + 0x10000);
  }

  record(view: DataView, start: number, end: number, type: number): void {
    if (OF_THE_BEGINNING.has(type) || type === PERF_RECORD_AUXTRACE) return;
    if (type === PERF_RECORD_SAMPLE && this.#takeSample(view, start, end)) return;
    this.#writer.rest(new Uint8Array(view.buffer, view.byteOffset + start, end - start));
    if (this.#writer.length >= FLUSH_BYTES) this.flush();
  }

  flush(): void {
    const bytes = this.#writer.take();
    this.bytes += bytes.length;
    this.#output.write(bytes);
  }

  /** True where it is dealt with. */
  #takeSample(view: DataView, start: number, end: number): boolean {
    const le = this.#reader.littleEndian;
    const event = this.#reader.events.eventOf(view, start, end, PERF_RECORD_SAMPLE, le);
    const role = event === null ? undefined : this.#roles.get(event.index);
    if (event === null || role === undefined) return false;
    const record = decodeRecord(view, start, end - start, event.layout, le) as SampleRecord;
    const { sample } = record;
    if (role.role === 'switch') this.#switches.set(sample.tid ?? -1, { record, event });
    else if (role.role === 'exit') this.#switches.delete(sample.tid ?? -1);
    else {
      const before = this.#switches.get(pidIn(sample.raw, role.pid, le));
      if (before !== undefined) this.#write(before, sample);
    }
    return true;
  }

  #write(
    { record, event }: { record: SampleRecord; event: RecordedEvent },
    { time, period }: SampleRecord['sample'],
  ): void {
    const merged = { ...record.sample };
    if (time !== undefined) merged.time = time;
    if (period !== undefined) merged.period = period;
    encodeRecord(this.#writer, { ...record, sample: merged }, event.layout);
    if (this.#writer.length >= FLUSH_BYTES) this.flush();
  }
}

function pidIn(raw: Uint8Array | undefined, field: TracepointField | undefined, le: boolean): number {
  if (raw === undefined || field === undefined || field.offset + 4 > raw.length) return -1;
  return new DataView(raw.buffer, raw.byteOffset, raw.byteLength).getInt32(field.offset, le);
}
