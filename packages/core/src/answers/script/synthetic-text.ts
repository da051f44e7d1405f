import type { RecordedEvent } from '../../file-formats/perfdata/index.ts';

const WIDTH = 34;

/**
 * What a sample made out of a trace's power or PTWRITE packet says, as perf prints it. The raw data begins
 * with the second word of perf's struct (tools/perf/util/event.h, `perf_synth_intel_*`).
 */
export function syntheticText(
  view: DataView,
  at: number,
  size: number,
  event: RecordedEvent,
  le: boolean,
): string {
  const text = size < 12 ? '' : textOf(view, at, event.name, le);
  // perf keeps what follows in one column.
  return text === '' ? '' : text.padEnd(WIDTH);
}

function textOf(view: DataView, at: number, name: string, le: boolean): string {
  const first = view.getUint32(at, le);
  const lo = view.getUint32(at + (le ? 4 : 8), le);
  const hi = view.getUint32(at + (le ? 8 : 4), le);
  switch (name) {
    case 'ptwrite':
      return ` IP: ${first & 1} payload: ${hex((BigInt(hi) << 32n) | BigInt(lo))} `;
    case 'cbr': {
      const ratio = first & 0xff;
      const nominal = (first >>> 16) & 0xff;
      const megahertz = Math.floor((view.getUint32(at + 4, le) + 500) / 1000);
      const percent =
        nominal === 0
          ? ''
          : `(${String(Math.floor((5 + Math.floor((1000 * ratio) / nominal)) / 10)).padStart(3)}%)`;
      return ` cbr: ${String(ratio).padStart(2)} freq: ${String(megahertz).padStart(4)} MHz ${percent}`;
    }
    case 'mwait':
      return ` hints: ${hex(BigInt(lo & 0xff))} extensions: ${hex(BigInt(hi & 3))} `;
    case 'pwre':
      return ` hw: ${(lo >>> 7) & 1} cstate: ${(lo >>> 12) & 15} sub-cstate: ${(lo >>> 8) & 15} `;
    case 'exstop':
      return ` IP: ${first & 1} `;
    case 'pwrx':
      return ` deepest cstate: ${lo & 15} last cstate: ${(lo >>> 4) & 15} wake reason: ${hex(BigInt((lo >>> 8) & 15))} `;
    case 'evt':
      return controlFlowText(view, at, le);
    case 'iflag':
      return ` IFLAG: ${1 - (first & 1)}->${first & 1} ${(first & 2) !== 0 ? 'via' : 'non'} branch`;
    case 'psb':
      return ` psb offs: ${hex((BigInt(hi) << 32n) | BigInt(lo))}`;
    default:
      return '';
  }
}

/** perf's names of what redirected the CPU; a type that has none is not named. */
const CONTROL_FLOW: readonly string[] = [
  ...['', 'INTR', 'IRET', 'SMI', 'RSM', 'SIPI', 'INIT', 'VMENTRY', 'VMEXIT', 'VMEXIT_INTR', 'SHUTDOWN'],
  ...['', 'UINTR', 'UIRET'],
];
const CONTROL_FLOW_DATA: readonly string[] = ['PFA', 'VMXQ', 'VMXR'];

function controlFlowText(view: DataView, at: number, le: boolean): string {
  const first = view.getUint32(at, le);
  const name = CONTROL_FLOW[first & 0x1f] ?? '';
  let text = ` cfe: ${name} IP: ${(first >>> 7) & 1} vector: ${(first >>> 8) & 0xff}`;
  for (let n = 0; n < first >>> 16; n++) {
    const entry = at + 4 + 16 * n;
    if (entry + 16 > view.byteLength) break;
    const type = view.getUint8(entry) & 0x3f;
    text += ` ${CONTROL_FLOW_DATA[type] ?? `EVD_${type}`}: ${hex(view.getBigUint64(entry + 8, le))}`;
  }
  return text;
}

/** C's `%#x`: 0 has no prefix. */
function hex(value: bigint): string {
  return value === 0n ? '0' : `0x${value.toString(16)}`;
}
