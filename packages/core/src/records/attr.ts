import { ATTR_FIELDS, ATTR_FLAG_WIDTHS, ATTR_FLAGS, ATTR_SIZES, PERF_ATTR_SIZE_VER0 } from '../abi/index.ts';
import { bigIntAt, hiOf, loOf } from '../base/index.ts';

/**
 * `struct perf_event_attr` as a value. 64-bit words are bigint; flag bits are numbers (0 or 1, `preciseIp`
 * 0-3). `tail` holds what a newer writer added beyond the fields known here.
 */
export interface PerfEventAttr {
  type: number;
  /** The size that the attr had where it was read; a writer chooses its own. */
  size: number;
  config: bigint;
  /** A period, or with `freq` a frequency in Hz. */
  samplePeriodOrFreq: bigint;
  sampleType: bigint;
  readFormat: bigint;
  flags: AttrFlags;
  /** Flag bits beyond the known ones, at their places on a little-endian machine. */
  unknownFlags: bigint;
  wakeupEventsOrWatermark: number;
  breakpointType: number;
  config1: bigint;
  config2: bigint;
  branchSampleType: bigint;
  sampleRegsUser: bigint;
  sampleStackUser: number;
  clockId: number;
  sampleRegsIntr: bigint;
  auxWatermark: number;
  sampleMaxStack: number;
  /** Not used by any kernel yet. */
  reserved2: number;
  auxSampleSize: number;
  auxAction: number;
  sigData: bigint;
  config3: bigint;
  config4: bigint;
  tail: Uint8Array;
}

export type AttrFlags = typeof ATTR_FLAG_WIDTHS;

/**
 * All zero. Copies of a literal keep their fields in fixed places; of an object that was filled name by name
 * V8 makes hash tables, ten times as slow to copy.
 */
const NO_FLAGS: AttrFlags = /* @__PURE__ */ zeroed({ ...ATTR_FLAG_WIDTHS });

function zeroed(flags: AttrFlags): AttrFlags {
  for (const [name] of ATTR_FLAGS) flags[name] = 0;
  return flags;
}

const NEWEST_SIZE = ATTR_SIZES[ATTR_SIZES.length - 1]!;
const FIELD_SIZES = { u16: 2, u32: 4, i32: 4, u64: 8 } as const;
const ZERO_ATTR: PerfEventAttr = {
  type: 0,
  size: 0,
  config: 0n,
  samplePeriodOrFreq: 0n,
  sampleType: 0n,
  readFormat: 0n,
  flags: NO_FLAGS,
  unknownFlags: 0n,
  wakeupEventsOrWatermark: 0,
  breakpointType: 0,
  config1: 0n,
  config2: 0n,
  branchSampleType: 0n,
  sampleRegsUser: 0n,
  sampleStackUser: 0,
  clockId: 0,
  sampleRegsIntr: 0n,
  auxWatermark: 0,
  sampleMaxStack: 0,
  reserved2: 0,
  auxSampleSize: 0,
  auxAction: 0,
  sigData: 0n,
  config3: 0n,
  config4: 0n,
  tail: new Uint8Array(),
};

/** An attr with everything zero but what is given. */
export function makeAttr(
  fields: Partial<Omit<PerfEventAttr, 'flags'>> & { flags?: Partial<AttrFlags> } = {},
): PerfEventAttr {
  return { ...ZERO_ATTR, ...fields, flags: { ...ZERO_ATTR.flags, ...fields.flags } };
}

/**
 * Read `size` bytes at `offset` as an attr: missing fields are zero, extra bytes are kept as `tail`.
 * `size` may be anything; reading stays inside the view.
 */
export function readAttr(view: DataView, offset: number, size: number, littleEndian: boolean): PerfEventAttr {
  const end = Math.min(offset + size, view.byteLength);
  const flags: AttrFlags = { ...NO_FLAGS };
  const attr: PerfEventAttr = { ...ZERO_ATTR, flags };
  const words = attr as unknown as Record<string, unknown>;
  for (const [name, kind, at] of ATTR_FIELDS) {
    words[name] = readField(view, offset + at, end, kind, littleEndian);
  }
  const word = words['flags'] as bigint;
  let known = 0n;
  for (const [name, bit, width] of ATTR_FLAGS) {
    const mask = (1n << BigInt(width)) - 1n;
    const shift = flagShift(bit, width, littleEndian);
    flags[name] = Number((word >> shift) & mask);
    known |= mask << shift;
  }
  attr.flags = flags;
  attr.unknownFlags = littleEndian ? word & ~known : reverseBits(word & ~known);
  const tailStart = Math.min(offset + NEWEST_SIZE, end);
  attr.tail = new Uint8Array(view.buffer, view.byteOffset + tailStart, end - tailStart).slice();
  return attr;
}

function readField(
  view: DataView,
  at: number,
  end: number,
  kind: keyof typeof FIELD_SIZES,
  littleEndian: boolean,
): number | bigint {
  const size = FIELD_SIZES[kind];
  if (at + size > end) return kind === 'u64' ? 0n : 0;
  if (kind === 'u16') return view.getUint16(at, littleEndian);
  if (kind === 'u32') return view.getUint32(at, littleEndian);
  if (kind === 'i32') return view.getInt32(at, littleEndian);
  return bigIntAt(view, at, littleEndian);
}

/**
 * The flags are C bit fields, which a big-endian machine fills from the highest bit down: `disabled` is bit 0
 * of the word on one machine and bit 63 on the other.
 */
function flagShift(bit: number, width: number, littleEndian: boolean): bigint {
  return BigInt(littleEndian ? bit : 64 - bit - width);
}

function reverseBits(word: bigint): bigint {
  let reversed = 0n;
  for (let bit = 0n; bit < 64n; bit++) reversed |= ((word >> bit) & 1n) << (63n - bit);
  return reversed;
}

/** The flags word at offset 40, as a machine of that byte order has it. */
export function attrFlagsWord(attr: PerfEventAttr, littleEndian = true): bigint {
  let word = littleEndian ? attr.unknownFlags : reverseBits(attr.unknownFlags);
  for (const [name, bit, width] of ATTR_FLAGS) {
    const value = attr.flags[name];
    if (value !== 0) word |= BigInt(value) << flagShift(bit, width, littleEndian);
  }
  return word;
}

/** All bytes of an attr at its newest size (or longer, with its tail); the size field says so. */
export function encodeAttr(attr: PerfEventAttr, littleEndian = true): Uint8Array<ArrayBuffer> {
  const size = NEWEST_SIZE + attr.tail.length;
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  for (const [name, kind, at] of ATTR_FIELDS) {
    const value =
      name === 'flags'
        ? attrFlagsWord(attr, littleEndian)
        : name === 'size'
          ? size
          : attr[name as keyof PerfEventAttr];
    if (value === 0 || value === 0n) continue;
    if (kind === 'u64') {
      const word = value as bigint;
      view.setUint32(at, littleEndian ? loOf(word) : hiOf(word), littleEndian);
      view.setUint32(at + 4, littleEndian ? hiOf(word) : loOf(word), littleEndian);
    } else if (kind === 'u16') view.setUint16(at, value as number, littleEndian);
    else view.setUint32(at, (value as number) >>> 0, littleEndian);
  }
  bytes.set(attr.tail, NEWEST_SIZE);
  return bytes;
}

/**
 * The attr cut to `size` bytes, or to the shortest published size whose cut-off part is zero: what the oldest
 * reader can read (perf 6.1 refuses 136 bytes on disk).
 */
export function encodeAttrShortest(
  attr: PerfEventAttr,
  littleEndian = true,
  atLeast = PERF_ATTR_SIZE_VER0,
): Uint8Array<ArrayBuffer> {
  const all = encodeAttr(attr, littleEndian);
  let used = all.length;
  while (used > 0 && all[used - 1] === 0) used--;
  const size =
    ATTR_SIZES.find((published) => published >= used && published >= atLeast) ??
    Math.max(all.length, atLeast);
  const cut = new Uint8Array(size);
  cut.set(all.subarray(0, size));
  new DataView(cut.buffer).setUint32(4, size, littleEndian);
  return cut;
}
