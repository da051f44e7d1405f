import { DamageLog, TWO_32 } from '../base/index.ts';
import { HEX_VALUE } from './hex.ts';

/**
 * The lines of a `perf-PID.map`, in the order they were written: where a JIT compiler put a function, how large, its name
 * (which may have spaces). The interface is described in the kernel's tools/perf/Documentation/jit-interface.txt.
 *
 *     7f41d2c04a20 1c4 LazyCompile:*parse file:///app/parse.js:12:8
 */
export interface PerfMap {
  count: number;
  /** Signed 64-bit values as float64. */
  start: Float64Array;
  end: Float64Array;
  nameStart: Uint32Array;
  nameEnd: Uint32Array;
  bytes: Uint8Array;
  damage: DamageLog;
}

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
/** `1 1 a` and a newline: no line is shorter. */
const SHORTEST_LINE = 6;

/** Lines that are not of the form are counted and skipped. `bytes` is kept: names point into it. */
export function parsePerfMap(bytes: Uint8Array): PerfMap {
  const map = newMap(bytes, Math.ceil(bytes.length / 64) + 16);
  const reader = new HexReader(bytes);
  for (let line = 0; line < bytes.length; ) {
    const found = bytes.indexOf(NEWLINE, line);
    const next = found === -1 ? bytes.length : found;
    let end = next;
    if (end > line && bytes[end - 1] === CARRIAGE_RETURN) end--;
    const start = reader.read(line, end);
    const afterStart = reader.at;
    const size = afterStart > line && bytes[afterStart] === SPACE ? reader.read(afterStart + 1, end) : -1;
    const name = reader.at + 1;
    if (size >= 0 && reader.at > afterStart + 1 && bytes[reader.at] === SPACE && name < end) {
      if (map.count === map.start.length) grow(map);
      const row = map.count++;
      map.start[row] = start;
      // Code of unknown size is found at its first byte.
      map.end[row] = start + Math.max(1, size);
      map.nameStart[row] = name;
      map.nameEnd[row] = end;
    } else if (end > line) map.damage.add('perf-map-line', line);
    line = next + 1;
  }
  return map;
}

/** Reads hex numbers with or without `0x`; `at` is where the last one ended (where it started, if there was none). */
class HexReader {
  at = 0;
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  read(from: number, end: number): number {
    const { bytes } = this;
    const hasPrefix = bytes[from] === 0x30 && (bytes[from + 1]! | 0x20) === 0x78 && from + 2 < end;
    const first = hasPrefix ? from + 2 : from;
    let low = 0;
    let high = 0;
    let at = first;
    for (; at < end; at++) {
      const digit = HEX_VALUE[bytes[at]!]!;
      if (digit < 0) break;
      high = (high << 4) | (low >>> 28);
      low = (low << 4) | digit;
    }
    // More than 16 digits are no address; taken for no number at all.
    this.at = at > first && at - first <= 16 ? at : from;
    return high * TWO_32 + (low >>> 0);
  }
}

function newMap(bytes: Uint8Array, capacity: number): PerfMap {
  return {
    count: 0,
    start: new Float64Array(capacity),
    end: new Float64Array(capacity),
    nameStart: new Uint32Array(capacity),
    nameEnd: new Uint32Array(capacity),
    bytes,
    damage: new DamageLog(),
  };
}

function grow(map: PerfMap): void {
  const capacity = Math.min(map.count * 2, Math.ceil(map.bytes.length / SHORTEST_LINE) + 16);
  const bigger = newMap(map.bytes, capacity);
  bigger.start.set(map.start);
  bigger.end.set(map.end);
  bigger.nameStart.set(map.nameStart);
  bigger.nameEnd.set(map.nameEnd);
  map.start = bigger.start;
  map.end = bigger.end;
  map.nameStart = bigger.nameStart;
  map.nameEnd = bigger.nameEnd;
}
