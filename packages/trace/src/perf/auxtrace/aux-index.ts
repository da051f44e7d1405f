import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_TIME_CONV,
} from '@counterpoint/core/abi';
import {
  type AuxtraceInfoRecord,
  type AuxtraceRecord,
  decodeRecord,
  type TimeConvRecord,
} from '@counterpoint/core/records';

/** Where the bytes behind one AUXTRACE record are. */
export interface AuxPiece {
  /** Number of the ring; one for each CPU or thread. */
  index: number;
  /** -1 where the ring is a thread's. */
  cpu: number;
  /** -1 where the ring is a CPU's. */
  tid: number;
  /** Bytes that had gone through the ring before. */
  auxOffset: bigint;
  /** The trace's clock when it was taken; 0: not known. */
  reference: bigint;
  /** In the file. */
  fileOffset: number;
  /** As the record says: the file may end earlier. */
  sizeBytes: number;
  /** The bytes themselves, where they stood inside of a record. */
  bytes?: Uint8Array;
}

/** How the recording's clock hangs together with the CPU's counter. */
export interface TimeConversion {
  timeShift: number;
  timeMult: number;
  timeZero: bigint;
}

/** Keeps what the records of a scan say of hardware traces. A sink for `PerfDataReader.scan`. */
export class AuxIndex {
  info: AuxtraceInfoRecord | null = null;
  timeConversion: TimeConversion | null = null;
  /** In the order of the file. */
  readonly pieces: AuxPiece[] = [];
  readonly #littleEndian: boolean;

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian;
  }

  record(view: DataView, start: number, end: number, type: number, fileOffset: number): void {
    if (type === PERF_RECORD_AUXTRACE) {
      const record = decodeRecord(view, start, end - start, null, this.#littleEndian) as AuxtraceRecord;
      if (record.dataSize === 0n) return;
      this.pieces.push({
        index: record.index,
        cpu: record.cpu,
        tid: record.tid,
        auxOffset: record.auxOffset,
        reference: record.reference,
        fileOffset: fileOffset + (end - start),
        sizeBytes: Number(record.dataSize),
      });
    } else if (type === PERF_RECORD_AUXTRACE_INFO) {
      // A recording has one; a second is damage.
      if (this.info === null) {
        const record = decodeRecord(view, start, end - start, null, this.#littleEndian) as AuxtraceInfoRecord;
        this.info = { ...record, data: record.data.slice(), tail: record.tail.slice() };
      }
    } else if (type === PERF_RECORD_TIME_CONV) {
      const { timeShift, timeMult, timeZero } = decodeRecord(
        view,
        start,
        end - start,
        null,
        this.#littleEndian,
      ) as TimeConvRecord;
      this.timeConversion = { timeShift: Number(timeShift), timeMult: Number(timeMult), timeZero };
    }
  }
}
