import { checkArgument, type Damage, hiOf, loOf, printable, toSignedFloat } from '../../base/index.ts';
import { Machine, SIDEBAND_TYPES } from '../../code/machine/index.ts';
import {
  checkRecordSource,
  type RecordedEvent,
  type RecordSource,
  type ScanOptions,
} from '../../file-formats/perfdata/index.ts';
import {
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_READ,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_TIME,
} from '../../format/abi/index.ts';
import {
  decodeReadValues,
  decodeRecord,
  isSample,
  type PerfRecord,
  type ReadRecord,
  type SampleId,
  type SampleRecord,
} from '../../format/records/index.ts';
import { hexLines } from './hex-lines.ts';
import { sampleLines } from './sample-words.ts';
import { recordText } from './words.ts';

/**
 * Every record of a recording with its place, its bytes and what it says, in the form of `perf report -D`,
 * kernel records in order of time. `write` takes whole lines; `name` is what the file is called in them.
 */
export async function dumpRecords(
  source: RecordSource,
  options: Omit<ScanOptions, 'onChunk'> & { name?: string },
  write: (text: string) => void,
): Promise<{ records: number; damage: Damage[] }> {
  checkRecordSource('dumpRecords()', source);
  checkArgument(typeof write === 'function', 'dumpRecords()', 'write', write, 'a function that takes text');
  const { name = 'perf.data', ...scan } = options;
  const { reader } = source;
  const machine = new Machine();
  let records = 0;
  const sink = {
    record(view: DataView, start: number, end: number, type: number, fileOffset: number) {
      records++;
      const le = reader.littleEndian;
      const isKernels = type < PERF_RECORD_USER_TYPE_START;
      const event = isKernels ? reader.events.eventOf(view, start, end, type, le) : null;
      const layout = event?.layout ?? null;
      const record = decodeRecord(view, start, end - start, layout, le);
      if (SIDEBAND_TYPES.has(type)) machine.record(record);
      const place = `0x${fileOffset.toString(16)}`;
      const size = `[0x${(end - start).toString(16)}]`;
      const lines = [`\n${place}@${name} ${size}: event: ${type}`, ...hexLines(view, start, end)];
      const head = `\n${momentOf(record, event ?? reader.events.events[0] ?? null)}${place} ${size}: `;
      if (isSample(record) && event !== null) {
        const [first, ...rest] = sampleLines(record, event, reader.features.arch);
        lines.push(`${head}${first}`, ...rest, ...placeLines(record, machine));
      } else if (type === PERF_RECORD_READ) {
        const words = readWords(record as ReadRecord, event, le);
        lines.push(`${head}${recordText(record, le)}${words}`);
      } else lines.push(`${head}${lossText(record) ?? recordText(record, le)}`);
      write(`${lines.join('\n')}\n`);
    },
  };
  await source.scan(sink, scan);
  return { records, damage: reader.damage.list() };
}

/** perf has other words for losses here than among the samples of `script`. */
function lossText(record: PerfRecord): string | null {
  if ('raw' in record || 'sample' in record) return null;
  if (record.type === PERF_RECORD_LOST) return `PERF_RECORD_LOST: id:${record.id}: lost:${record.lost}`;
  if (record.type !== PERF_RECORD_LOST_SAMPLES) return null;
  return `PERF_RECORD_LOST_SAMPLES: id:${record.sampleId?.id ?? 0n}: lost samples :${record.lost}`;
}

/** CPU and time, where records have them; of records of user space zeros. */
function momentOf(record: PerfRecord, event: RecordedEvent | null): string {
  if (event === null) return '';
  const { sampleType } = event.layout;
  const isUsers = record.type >= PERF_RECORD_USER_TYPE_START;
  const moment: SampleId = isSample(record) ? record.sample : ('sampleId' in record && record.sampleId) || {};
  let text = '';
  if (!isUsers && record.type !== PERF_RECORD_SAMPLE && !event.layout.sampleIdAll) return '-1 -1 ';
  if ((sampleType & PERF_SAMPLE_CPU) !== 0) text += `${isUsers ? 0 : (moment.cpu ?? -1) >>> 0} `;
  if ((sampleType & PERF_SAMPLE_TIME) !== 0) text += `${isUsers ? 0n : (moment.time ?? -1n)} `;
  return text;
}

function placeLines({ misc, sample }: SampleRecord, machine: Machine): string[] {
  const { pid = -1, tid = -1, ip = 0n } = sample;
  const thread = machine.thread(pid, tid);
  const isKernels = (misc & PERF_RECORD_MISC_CPUMODE_MASK) === PERF_RECORD_MISC_KERNEL;
  const space = isKernels ? machine.kernel : thread.process.maps;
  const mapping = space.find(toSignedFloat(loOf(ip), hiOf(ip)));
  return [
    ` ... thread: ${printable(thread.comm)}:${thread.tid}`,
    ` ...... dso: ${printable(mapping?.path ?? '<not found>')}`,
  ];
}

function readWords({ pid, tid, values }: ReadRecord, event: RecordedEvent | null, le: boolean): string {
  const head = `: ${pid} ${tid} ${printable(event?.name ?? 'unknown')}`;
  if (event === null) return head;
  const view = new DataView(values.buffer, values.byteOffset, values.byteLength);
  const read = decodeReadValues(view, 0, values.byteLength, event.layout.readFormat, le);
  const [first] = read?.values ?? [];
  if (read === null || first === undefined) return head;
  const rows: [string, bigint | undefined][] = [
    ['time enabled', read.timeEnabled],
    ['time running', read.timeRunning],
    ['id          ', first.id],
    ['lost        ', first.lost],
  ];
  const lines = rows.flatMap(([name, value]) => (value === undefined ? [] : [`\n... ${name} : ${value}`]));
  return `${head} ${first.value}${lines.join('')}`;
}
