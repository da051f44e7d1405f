import { formatSeconds, hiOf, loOf, printable, printableJson } from '../../base/index.ts';
import type { Machine } from '../../code/machine/index.ts';
import type { PerfDataReader, RecordedEvent } from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_FORK,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  recordTypeName,
} from '../../format/abi/index.ts';
import { decodeRecord, type PerfRecord, type SampleId } from '../../format/records/index.ts';
import type { SampleFilter } from '../../profile/ingest/index.ts';
import { hexBytes, recordText } from '../record-text/words.ts';
import type { ScriptField } from './fields.ts';

/** What the lines of an event show, as far as it is about records beside samples. */
export interface RecordLineForm {
  fields: ReadonlySet<ScriptField>;
  hasChain: boolean;
}

/** Of these the task of the record is named, of others the one that ran. */
const OWN_TASK: ReadonlySet<number> = new Set([
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_EXIT,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
]);

/** Lines of records beside samples: `a 22406 44871.097004: PERF_RECORD_COMM exec: a:22406/22406`. */
export class RecordLines {
  readonly #reader: PerfDataReader;
  readonly #machine: Machine;
  readonly #filter: SampleFilter | null;
  readonly #timeDigits: 6 | 9;
  readonly #isJson: boolean;

  constructor(
    reader: PerfDataReader,
    machine: Machine,
    options: { filter?: SampleFilter | undefined; nanoseconds?: boolean; json?: boolean },
  ) {
    this.#reader = reader;
    this.#machine = machine;
    this.#filter = options.filter ?? null;
    this.#timeDigits = options.nanoseconds === true ? 9 : 6;
    this.#isJson = options.json === true;
  }

  /** Null where a filter leaves it out. The machine has taken the record. */
  text(
    view: DataView,
    start: number,
    end: number,
    type: number,
    formOf: (event: RecordedEvent) => RecordLineForm,
  ): string | null {
    const { events, littleEndian: le } = this.#reader;
    if (type === PERF_RECORD_FINISHED_ROUND) {
      return this.#isJson ? jsonOf(decodeRecord(view, start, end - start, null, le)) : ROUND;
    }
    const event = events.eventOf(view, start, end, type, le) ?? events.events[0];
    if (event === undefined) return null;
    const record = decodeRecord(view, start, end - start, event.layout, le);
    if ('raw' in record || 'sample' in record) return null;
    const when = record.sampleId ?? {};
    const { pid, tid } = OWN_TASK.has(type) ? (record as unknown as { pid: number; tid: number }) : when;
    const { comm } = this.#machine.thread(pid ?? -1, tid ?? -1);
    if (!this.#isWanted(when, pid ?? -1, tid ?? -1, comm)) return null;
    if (this.#isJson) return jsonOf(record);
    return `${this.#head(when, comm, event, formOf(event))}${recordText(record)}`;
  }

  /** As of a sample; widths as perf prints them. */
  #head(when: SampleId, comm: string, { layout }: RecordedEvent, form: RecordLineForm): string {
    const { fields, hasChain } = form;
    const { sampleType } = layout;
    const { pid = 0, tid = 0, cpu = 0, time = 0n } = when;
    const [hasPid, hasTid] = [fields.has('pid'), fields.has('tid')];
    let text = '';
    if (fields.has('comm')) text += `${printable(comm).padStart(hasChain ? 0 : 16)} `;
    if ((sampleType & PERF_SAMPLE_TID) !== 0) {
      if (hasPid && hasTid) text += `${String(pid).padStart(5)}/${String(tid).padEnd(5)} `;
      else if (hasPid || hasTid) text += `${String(hasPid ? pid : tid).padStart(5)} `;
    }
    if (fields.has('cpu') && (sampleType & PERF_SAMPLE_CPU) !== 0)
      text += `[${String(cpu).padStart(3, '0')}] `;
    if (fields.has('time') && (sampleType & PERF_SAMPLE_TIME) !== 0) {
      const digits = this.#timeDigits;
      text += `${formatSeconds(loOf(time), hiOf(time), digits).padStart(6 + digits)}: `;
    }
    return text;
  }

  #isWanted({ cpu }: SampleId, pid: number, tid: number, comm: string): boolean {
    const filter = this.#filter;
    if (filter === null) return true;
    if (filter.pids !== undefined && !filter.pids.has(pid)) return false;
    if (filter.tids !== undefined && !filter.tids.has(tid)) return false;
    if (filter.comms !== undefined && !filter.comms.has(comm)) return false;
    return filter.cpus === undefined || cpu === undefined || filter.cpus.has(cpu);
  }
}

const ROUND = 'PERF_RECORD_FINISHED_ROUND';

/** Its fields by name; 64-bit numbers as decimal text, bytes in hex. */
function jsonOf(record: PerfRecord): string {
  const { type, tail: _, shortBy: __, sampleId, ...fields } = record as PerfRecord & { sampleId?: SampleId };
  const plain = JSON.parse(
    JSON.stringify(
      { type: 'record', record: recordTypeName(type), ...fields, when: sampleId },
      (_key, value) => {
        if (typeof value === 'bigint') return value.toString();
        return value instanceof Uint8Array ? hexBytes(value, '') : value;
      },
    ),
  );
  return printableJson(plain);
}
