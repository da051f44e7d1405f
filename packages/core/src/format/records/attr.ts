import { bigIntAt, hiOf, loOf } from '../../base/index.ts';
import {
  ATTR_FIELDS,
  ATTR_FLAG_WIDTHS,
  ATTR_FLAGS,
  ATTR_SIZES,
  PERF_ATTR_SIZE_VER0,
  PERF_ATTR_SIZE_VER9,
} from '../abi/index.ts';

/**
 * `struct perf_event_attr` as a value: what an event is and what it records. See perf_event_open(2),
 * which has the fields by the names in `ATTR_KERNEL_NAMES`. 64-bit words are bigint; flag bits are
 * numbers (0 or 1, `preciseIp` 0-3).
 */
export interface PerfEventAttr {
  /** Kind of event: one of `PERF_TYPE_*`, or the number in /sys/bus/event_source/devices/PMU/type. */
  type: number;
  /** The size that the attr had where it was read; a writer chooses its own. */
  size: number;
  /** Which event of its kind: a number of the list, a tracepoint's id, or what the PMU's format says. */
  config: bigint;
  /** One sample every N events; with `freq`, N samples a second. 0: no samples. */
  samplePeriodOrFreq: bigint;
  /** What samples carry: PERF_SAMPLE_* bits. */
  sampleType: bigint;
  /** What a read of the counter gives: PERF_FORMAT_* bits. */
  readFormat: bigint;
  /** The flags, each by its name. */
  flags: AttrFlags;
  /** Flag bits beyond the known ones, at their places on a little-endian machine. */
  unknownFlags: bigint;
  /** The kernel wakes the reader of the ring after this many samples. With `watermark`: this many bytes. */
  wakeupEventsOrWatermark: number;
  /** With PERF_TYPE_BREAKPOINT: 1 reads, 2 writes, 4 execution (`HW_BREAKPOINT_*`). */
  breakpointType: number;
  /** More of `config`. The address of a breakpoint; of kprobes and uprobes, a pointer to the name. */
  config1: bigint;
  /** More of `config`. Bytes that a breakpoint watches; of kprobes and uprobes, the address or offset. */
  config2: bigint;
  /** With PERF_SAMPLE_BRANCH_STACK: which branches, PERF_SAMPLE_BRANCH_* bits. */
  branchSampleType: bigint;
  /** With PERF_SAMPLE_REGS_USER: which registers, bit n for register n of asm/perf_regs.h. */
  sampleRegsUser: bigint;
  /** With PERF_SAMPLE_STACK_USER: how many bytes of the user stack are copied, a multiple of 8. */
  sampleStackUser: number;
  /** With `useClockId`: the clock of all times, as clock_gettime(2) numbers them. */
  clockId: number;
  /** With PERF_SAMPLE_REGS_INTR: which registers, as in `sampleRegsUser`. */
  sampleRegsIntr: bigint;
  /** Bytes in the AUX ring after which its reader is woken; 0: half of the ring. */
  auxWatermark: number;
  /** Most addresses in a call chain; 0: what kernel.perf_event_max_stack says. */
  sampleMaxStack: number;
  /** Not used by any kernel yet. */
  reserved2: number;
  /** With PERF_SAMPLE_AUX: most bytes of the hardware trace in a sample. */
  auxSampleSize: number;
  /** Bits: 1 the hardware trace starts paused, 2 and 4 this event pauses or resumes it (Linux 6.13). */
  auxAction: number;
  /** With `sigtrap`: what the signal's `si_perf_data` holds. */
  sigData: bigint;
  /** More of `config` (Linux 6.3). */
  config3: bigint;
  /** More of `config`. */
  config4: bigint;
  /** What a newer writer added beyond the fields known here. */
  tail: Uint8Array;
}

/** The flags of an attr by name: 0 or 1, `preciseIp` 0 to 3. See perf_event_open(2). */
export interface AttrFlags {
  /** The event starts off; PERF_EVENT_IOC_ENABLE or `enableOnExec` turns it on. */
  disabled: number;
  /** Threads and processes that the task makes later are counted, too. */
  inherit: number;
  /**
   * The event keeps its hardware counter. If it cannot have one, it fails, and a read gives end of file.
   */
  pinned: number;
  /** Its group has the hardware counters for itself. */
  exclusive: number;
  /** User code is not counted. */
  excludeUser: number;
  /** The kernel is not counted. */
  excludeKernel: number;
  /** The hypervisor is not counted. */
  excludeHv: number;
  /** Idle tasks are not counted. */
  excludeIdle: number;
  /** MMAP records tell of executable mappings. */
  mmap: number;
  /** COMM records tell of names of threads. */
  comm: number;
  /** `samplePeriodOrFreq` is samples a second, not a period. */
  freq: number;
  /** Each thread that inherits the event has its own count. A READ record gives it when the thread ends. */
  inheritStat: number;
  /** The event is turned on when the task calls execve(2). */
  enableOnExec: number;
  /** FORK and EXIT records tell of threads. */
  task: number;
  /** `wakeupEventsOrWatermark` is bytes, not samples. */
  watermark: number;
  /**
   * How far `ip` may be behind the instruction. 0: no limit. 1: a constant distance. 2: none is
   * requested. 3: none is required, or the open fails.
   */
  preciseIp: number;
  /** MMAP records tell of mappings that are not executable. */
  mmapData: number;
  /** Records other than samples have a trailer: who, when, where, which event. */
  sampleIdAll: number;
  /** The host is not counted: only guests are. */
  excludeHost: number;
  /** Guests are not counted. */
  excludeGuest: number;
  /** Call chains leave out the kernel. */
  excludeCallchainKernel: number;
  /** Call chains leave out user code. */
  excludeCallchainUser: number;
  /** MMAP2 records come in place of MMAP records. They also have the inode or the build id. */
  mmap2: number;
  /** COMM records say whether the name comes from execve(2). */
  commExec: number;
  /** Times are of the clock that `clockId` names. */
  useClockId: number;
  /** SWITCH records tell of context switches. */
  contextSwitch: number;
  /**
   * The kernel writes the ring from its end to its start. For rings that overwrite old records: a reader
   * meets the newest record first.
   */
  writeBackward: number;
  /** NAMESPACES records tell of namespaces of threads. */
  namespaces: number;
  /** KSYMBOL records tell of new code in the kernel. */
  ksymbol: number;
  /** BPF_EVENT records tell of BPF programs. */
  bpfEvent: number;
  /** Samples go into the hardware trace of the group's leader, not into the ring. */
  auxOutput: number;
  /** CGROUP records tell of cgroups and their ids. */
  cgroup: number;
  /** TEXT_POKE records tell of changes to the kernel's code. */
  textPoke: number;
  /** MMAP2 records have build ids in place of inodes. */
  buildId: number;
  /** With `inherit`: threads of the task are counted. Processes that it starts are not. */
  inheritThread: number;
  /** The event is removed from the task when the task calls execve(2). */
  removeOnExec: number;
  /** Each overflow sends SIGTRAP to the task, with `sigData`. */
  sigtrap: number;
  /** User parts of call chains may come later, when the thread returns to user code. */
  deferCallchain: number;
  /** CALLCHAIN_DEFERRED records come to the ring of this event. */
  deferOutput: number;
}

/**
 * All flags are zero. This is a copy of a literal, so V8 keeps its fields in fixed places. V8 makes a hash
 * table of an object that is filled name by name, and copying that takes ten times as long.
 */
const NO_FLAGS: AttrFlags = /* @__PURE__ */ zeroed({ ...ATTR_FLAG_WIDTHS });

function zeroed(flags: AttrFlags): AttrFlags {
  for (const [name] of ATTR_FLAGS) flags[name] = 0;
  return flags;
}

/** The last of `ATTR_SIZES`, as a number of its own: the bundle of a reader does not need the list. */
const NEWEST_SIZE = PERF_ATTR_SIZE_VER9;
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

/** An attr with the given fields. All others are zero. */
export function makeAttr(
  fields: Partial<Omit<PerfEventAttr, 'flags'>> & { flags?: Partial<AttrFlags> } = {},
): PerfEventAttr {
  return { ...ZERO_ATTR, ...fields, flags: { ...ZERO_ATTR.flags, ...fields.flags } };
}

/**
 * Read `size` bytes at `offset` as an attr. Missing fields are zero, and extra bytes are kept in `tail`.
 * Any `size` is safe: nothing outside the view is read.
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
 * The flags are C bit fields. A big-endian machine fills them from the highest bit down, so `disabled` is
 * bit 0 of the word on one machine and bit 63 on the other.
 */
function flagShift(bit: number, width: number, littleEndian: boolean): bigint {
  return BigInt(littleEndian ? bit : 64 - bit - width);
}

function reverseBits(word: bigint): bigint {
  let reversed = 0n;
  for (let bit = 0n; bit < 64n; bit++) reversed |= ((word >> bit) & 1n) << (63n - bit);
  return reversed;
}

/** The flags word at offset 40, as a machine of that byte order writes it. */
export function attrFlagsWord(attr: PerfEventAttr, littleEndian = true): bigint {
  let word = littleEndian ? attr.unknownFlags : reverseBits(attr.unknownFlags);
  for (const [name, bit, width] of ATTR_FLAGS) {
    const value = attr.flags[name];
    if (value !== 0) word |= BigInt(value) << flagShift(bit, width, littleEndian);
  }
  return word;
}

/** An attr as bytes, in the newest size, or longer if it has a tail. Its size field has that length. */
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
 * The attr in the shortest published size of at least `atLeast` bytes that cuts off only zeros. The oldest
 * readers accept that size (perf 6.1 refuses 136 bytes on disk).
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
