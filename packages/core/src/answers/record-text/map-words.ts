import { printable } from '../../base/index.ts';
import type { CpuMapRecord, EventUpdateRecord } from '../../format/records/index.ts';

// `enum` of perf's event.h: what an EVENT_UPDATE says, and how a CPU_MAP says it.
const UPDATE_UNIT = 0n;
const UPDATE_SCALE = 1n;
const UPDATE_NAME = 2n;
const MAP_LIST = 0;
const MAP_RANGE = 2;

/** `\n... id:    7\n... unit:  msec`. Numbers in `data` are of the recording's byte order. */
export function updateWords({ updateType, id, data }: EventUpdateRecord, littleEndian: boolean): string {
  const head = `\n... id:    ${id}`;
  if (updateType === UPDATE_SCALE) {
    if (data.length < 8) return head;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    return `${head}\n... scale: ${view.getFloat64(0, littleEndian).toFixed(6)}`;
  }
  const name = updateType === UPDATE_UNIT ? 'unit: ' : updateType === UPDATE_NAME ? 'name: ' : null;
  if (name === null) return head;
  const end = data.indexOf(0);
  const text = new TextDecoder().decode(end < 0 ? data : data.subarray(0, end));
  return `${head}\n... ${name} ${printable(text)}`;
}

/** The text of the CPUs, such as `: 0-1`. Empty for a mask. */
export function cpuMapWords({ mapType, data }: CpuMapRecord, littleEndian: boolean): string {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const wordAt = (at: number) => view.getUint16(at, littleEndian);
  if (mapType === MAP_RANGE && data.length >= 6) {
    const [first, last] = [wordAt(2), wordAt(4)];
    return `: ${first === last ? first : `${first}-${last}`}`;
  }
  if (mapType !== MAP_LIST || data.length < 2) return '';
  const count = Math.min(wordAt(0), (data.length - 2) >> 1);
  return `: ${ranges(Array.from({ length: count }, (_, place) => wordAt(2 + place * 2)))}`;
}

/** `0-3,8` */
function ranges(numbers: readonly number[]): string {
  const parts: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const part = parts.at(-1);
    if (part !== undefined && number === part.last + 1) part.last = number;
    else parts.push({ first: number, last: number });
  }
  return parts.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}
