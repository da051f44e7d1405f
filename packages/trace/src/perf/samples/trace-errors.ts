import { PERF_RECORD_AUXTRACE_ERROR } from '@counterpoint/core/abi';
import {
  FLOW_BAD_INSTRUCTION,
  FLOW_BAD_OPCODE,
  FLOW_BAD_PACKET,
  FLOW_ENDLESS_LOOP,
  FLOW_NO_MAP,
} from '../../pt/index.ts';
import type { RecordBuffer } from './record-buffer.ts';

/** perf's codes of what can go wrong in a trace (tools/perf/util/intel-pt-decoder.h), with its words. */
export const ERROR_BAD_PACKET = 3;
export const ERROR_NO_CODE = 5;
export const ERROR_MISMATCH = 6;
export const ERROR_OVERFLOW = 7;
export const ERROR_LOST = 8;
export const ERROR_ENDLESS_LOOP = 10;

const TEXTS: ReadonlyMap<number, string> = new Map([
  [ERROR_BAD_PACKET, 'Bad packet'],
  [ERROR_NO_CODE, 'Failed to get instruction'],
  [ERROR_MISMATCH, "Trace doesn't match instruction"],
  [ERROR_OVERFLOW, 'Overflow packet'],
  [ERROR_LOST, 'Lost trace data'],
  [ERROR_ENDLESS_LOOP, 'Never-ending loop (refer perf config intel-pt.max-loops)'],
]);

const MESSAGE_BYTES = 64;
const TYPE_INSTRUCTION_TRACE = 1;
/** The record has its time. */
const FORMAT_WITH_TIME = 1;

export function errorText(code: number): string {
  return TEXTS.get(code) ?? 'Unknown error!';
}

/** A FLOW_* code as perf's. */
export function errorOfFlow(code: number): number {
  switch (code) {
    case FLOW_BAD_OPCODE:
    case FLOW_BAD_PACKET:
      return ERROR_BAD_PACKET;
    case FLOW_NO_MAP:
    case FLOW_BAD_INSTRUCTION:
      return ERROR_NO_CODE;
    case FLOW_ENDLESS_LOOP:
      return ERROR_ENDLESS_LOOP;
    default:
      return ERROR_MISMATCH;
  }
}

export interface TraceErrorPlace {
  cpu: number;
  pid: number;
  tid: number;
  timeNs: number;
  ipLo: number;
  ipHi: number;
}

/** Write a PERF_RECORD_AUXTRACE_ERROR. */
export function writeTraceError(buffer: RecordBuffer, code: number, place: TraceErrorPlace): void {
  buffer.begin(PERF_RECORD_AUXTRACE_ERROR, 0, place.timeNs);
  buffer.words(TYPE_INSTRUCTION_TRACE, code);
  buffer.words(place.cpu, place.pid);
  buffer.words(place.tid, FORMAT_WITH_TIME);
  buffer.pair(place.ipLo, place.ipHi);
  buffer.float(place.timeNs);
  buffer.bytes(new TextEncoder().encode(errorText(code)), MESSAGE_BYTES);
  buffer.words(0, 0);
  buffer.end();
}
