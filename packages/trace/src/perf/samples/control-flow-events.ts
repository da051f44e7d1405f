/**
 * Event trace as samples: what redirected the CPU, with its data. Raw data is perf's
 * `perf_synth_intel_evt`, without its padding:
 *
 *   | 0 type 5 bits, 7 has an address, 8 vector u8, 16 number of data u16 | 4 type u64, 12 value u64 | 20 ... |
 */
import {
  EVENT_INIT,
  EVENT_INTERRUPT,
  EVENT_IRET,
  EVENT_RSM,
  EVENT_SHUTDOWN,
  EVENT_SIPI,
  EVENT_SMI,
  EVENT_SOFTWARE_INTERRUPT,
  EVENT_SYSTEM_CALL,
  EVENT_UINTR,
  EVENT_UIRET,
  EVENT_VMENTRY,
  EVENT_VMEXIT,
  FLAG_HAS_CR2,
  FLAG_HAS_VECTOR,
  FLAG_HAS_VMXQ,
  FLAG_HAS_VMXR,
  type FlowEvent,
} from '../../pt/index.ts';

/** Types of CFE packets (SDM, "CFE Packet"). */
const TYPES: ReadonlyMap<number, number> = new Map([
  [EVENT_INTERRUPT, 1],
  [EVENT_IRET, 2],
  [EVENT_SMI, 3],
  [EVENT_RSM, 4],
  [EVENT_SIPI, 5],
  [EVENT_INIT, 6],
  [EVENT_VMENTRY, 7],
  [EVENT_VMEXIT, 8],
  [EVENT_SHUTDOWN, 10],
  [EVENT_UINTR, 12],
  [EVENT_UIRET, 13],
  [EVENT_SOFTWARE_INTERRUPT, 14],
  [EVENT_SYSTEM_CALL, 15],
]);
const TYPE_VMEXIT_INTERRUPT = 9;
const HAS_ADDRESS = 1 << 7;
const VECTOR_SHIFT = 8;
const COUNT_SHIFT = 16;

/** Types of EVD packets. */
const DATA_CR2 = 0;
const DATA_VMXQ = 1;
const DATA_VMXR = 2;

/** The raw data of an event's sample; null where the event is none of these. */
export function controlFlowData(event: Readonly<FlowEvent>, le: boolean): Uint8Array | null {
  const usual = TYPES.get(event.kind);
  if (usual === undefined) return null;
  const { kind, flags, lo, hi, lo2, hi2 } = event;
  const data: [type: number, lo: number, hi: number][] = [];
  if (kind === EVENT_INTERRUPT && (flags & FLAG_HAS_CR2) !== 0) data.push([DATA_CR2, lo, hi]);
  const isExit = kind === EVENT_VMEXIT;
  if (isExit && (flags & FLAG_HAS_VMXQ) !== 0) data.push([DATA_VMXQ, lo2, hi2]);
  if (isExit && (flags & FLAG_HAS_VMXR) !== 0) data.push([DATA_VMXR, lo, hi]);
  const type = isExit && (flags & FLAG_HAS_VECTOR) !== 0 ? TYPE_VMEXIT_INTERRUPT : usual;
  const bytes = new Uint8Array(Math.max(12, 4 + 16 * data.length));
  const view = new DataView(bytes.buffer);
  const first =
    type |
    (event.isIpSuppressed ? 0 : HAS_ADDRESS) |
    (event.vector << VECTOR_SHIFT) |
    (data.length << COUNT_SHIFT);
  view.setUint32(0, first, le);
  for (const [index, [dataType, valueLo, valueHi]] of data.entries()) {
    const at = 4 + 16 * index;
    view.setUint8(at, dataType);
    view.setInt32(at + (le ? 8 : 12), valueLo, le);
    view.setInt32(at + (le ? 12 : 8), valueHi, le);
  }
  return bytes;
}
