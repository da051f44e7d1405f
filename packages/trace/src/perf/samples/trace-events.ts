/**
 * What a trace tells besides branches, as samples. Their raw data is perf's (tools/perf/util/event.h,
 * `perf_synth_intel_*`, without the padding that stands for the size of raw data).
 */
import { PERF_IP_FLAG_IN_TX, PERF_IP_FLAG_TX_ABORT } from '@counterpoint/core/abi';
import type { RecordedEvent } from '@counterpoint/core/perfdata';
import {
  EVENT_CBR,
  EVENT_EXSTOP,
  EVENT_MWAIT,
  EVENT_PTWRITE,
  EVENT_PWRE,
  EVENT_PWRX,
  EVENT_TSX,
  FLAG_BY_HARDWARE,
  type FlowEvent,
  TSX_ABORTED,
  TSX_IN_TRANSACTION,
} from '../../pt/index.ts';
import { controlFlowData } from './control-flow-events.ts';
import type { RecordBuffer } from './record-buffer.ts';
import type { SyntheticEvents } from './synthetic-events.ts';

/** Takes what the trace tells: the sampler of a queue. */
export interface TraceEventSink {
  readonly buffer: RecordBuffer;
  readonly events: SyntheticEvents;
  /** The core's clock in units of the bus's has changed. */
  setRatio(ratio: number): void;
  /** Execution is at this address. */
  arrive(ipLo: number, ipHi: number): void;
  /** A sample of the event, with raw data; null: nobody asked for it. */
  putEvent(
    event: RecordedEvent | null,
    ipLo: number,
    ipHi: number,
    raw: Uint8Array | null,
    flags?: number,
  ): void;
}

const RAW_BYTES = 12;
const scratch = new DataView(new ArrayBuffer(RAW_BYTES));
const scratchBytes = new Uint8Array(scratch.buffer);

function raw(sampler: TraceEventSink, first: number, lo: number, hi: number): Uint8Array {
  const le = sampler.buffer.littleEndian;
  scratch.setUint32(0, first, le);
  scratch.setUint32(4, le ? lo : hi, le);
  scratch.setUint32(8, le ? hi : lo, le);
  return scratchBytes;
}

export function putTraceEvent(sampler: TraceEventSink, event: Readonly<FlowEvent>): void {
  const { events } = sampler;
  const { ipLo, ipHi, lo, hi, detail, count } = event;
  const ip: [number, number] = event.isIpSuppressed ? [0, 0] : [ipLo, ipHi];
  if (event.kind === EVENT_CBR) {
    sampler.setRatio(detail);
    return;
  }
  if (!event.isStatus && !event.isIpSuppressed) sampler.arrive(ipLo, ipHi);
  if (events.evt !== null && !event.isStatus) {
    const data = controlFlowData(event, sampler.buffer.littleEndian);
    if (data !== null) {
      sampler.putEvent(events.evt, ...ip, data);
      return;
    }
  }
  switch (event.kind) {
    case EVENT_TSX: {
      if (event.isStatus) return;
      const flags =
        ((detail & TSX_IN_TRANSACTION) !== 0 ? PERF_IP_FLAG_IN_TX : 0) |
        ((detail & TSX_ABORTED) !== 0 ? PERF_IP_FLAG_TX_ABORT : 0);
      sampler.putEvent(events.transactions, ...ip, null, flags);
      return;
    }
    case EVENT_PTWRITE:
      // With an address that the packet gave, or that the code gives.
      sampler.putEvent(events.ptwrite, ipLo, ipHi, raw(sampler, event.isIpSuppressed ? 0 : 1, lo, hi));
      return;
    case EVENT_MWAIT:
      sampler.putEvent(events.mwait, ...ip, raw(sampler, 0, lo, hi));
      return;
    case EVENT_PWRE: {
      const hardware = (event.flags & FLAG_BY_HARDWARE) !== 0 ? 1 << 7 : 0;
      sampler.putEvent(events.pwre, ...ip, raw(sampler, 0, hardware | (count << 8) | (detail << 12), 0));
      return;
    }
    case EVENT_EXSTOP:
      sampler.putEvent(events.exstop, ...ip, raw(sampler, event.isIpSuppressed ? 0 : 1, 0, 0));
      return;
    case EVENT_PWRX:
      sampler.putEvent(events.pwrx, ...ip, raw(sampler, 0, count | (detail << 4) | (event.flags << 8), 0));
  }
}

/** A synchronisation point, and its offset in the trace in bytes. */
export function putPsb(sampler: TraceEventSink, offset: number, ipLo: number, ipHi: number): void {
  const hi = Math.floor(offset / 0x1_0000_0000);
  sampler.putEvent(sampler.events.psb, ipLo, ipHi, raw(sampler, 0, offset >>> 0, hi));
  sampler.arrive(ipLo, ipHi);
}

/** The core's clock in units of the bus's: `cbr`, and the frequency that makes. */
export function putRatio(
  sampler: TraceEventSink,
  ratio: number,
  nominalRatio: number,
  ratioKhz: number,
  ipLo: number,
  ipHi: number,
): void {
  const le = sampler.buffer.littleEndian;
  scratch.setUint32(0, (ratio & 0xff) | ((nominalRatio & 0xff) << 16), le);
  scratch.setUint32(4, ratio * ratioKhz, le);
  scratch.setUint32(8, 0, le);
  sampler.putEvent(sampler.events.cbr, ipLo, ipHi, scratchBytes);
}
