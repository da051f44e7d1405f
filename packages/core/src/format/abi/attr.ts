/**
 * `struct perf_event_attr` (perf_event_open(2), Linux 6.18): field offsets, flag bits and published
 * sizes. What the kernel calls its fields is in `attr-names.ts`: few programs print them.
 */

/** Bytes of the attr as first published. */
export const PERF_ATTR_SIZE_VER0 = 64;
/** Bytes of the attr since Linux 2.6.33: `config2`. */
export const PERF_ATTR_SIZE_VER1 = 72;
/** Bytes of the attr since Linux 3.4: `branch_sample_type`. */
export const PERF_ATTR_SIZE_VER2 = 80;
/** Bytes of the attr since Linux 3.7: `sample_regs_user`, `sample_stack_user`, and later `clockid`. */
export const PERF_ATTR_SIZE_VER3 = 96;
/** Bytes of the attr since Linux 3.19: `sample_regs_intr`. */
export const PERF_ATTR_SIZE_VER4 = 104;
/** Bytes of the attr since Linux 4.1: `aux_watermark`, and later `sample_max_stack`. */
export const PERF_ATTR_SIZE_VER5 = 112;
/** Bytes of the attr since Linux 5.5: `aux_sample_size`, and later `aux_action`. */
export const PERF_ATTR_SIZE_VER6 = 120;
/** Bytes of the attr since Linux 5.13: `sig_data`. */
export const PERF_ATTR_SIZE_VER7 = 128;
/** Bytes of the attr since Linux 6.3: `config3`. */
export const PERF_ATTR_SIZE_VER8 = 136;
/** Bytes of the newest attr: `config4`. */
export const PERF_ATTR_SIZE_VER9 = 144;

/** Every published size, ascending. A writer picks the shortest whose cut-off tail is zero. */
export const ATTR_SIZES: readonly number[] = [
  PERF_ATTR_SIZE_VER0,
  PERF_ATTR_SIZE_VER1,
  PERF_ATTR_SIZE_VER2,
  PERF_ATTR_SIZE_VER3,
  PERF_ATTR_SIZE_VER4,
  PERF_ATTR_SIZE_VER5,
  PERF_ATTR_SIZE_VER6,
  PERF_ATTR_SIZE_VER7,
  PERF_ATTR_SIZE_VER8,
  PERF_ATTR_SIZE_VER9,
];

/** How a field of the attr is stored. */
export type AttrFieldKind = 'u16' | 'u32' | 'i32' | 'u64';

/** The fields as the kernel declares them, from the first byte on without a gap. */
const FIELD_KINDS: Readonly<Record<string, AttrFieldKind>> = {
  type: 'u32',
  size: 'u32',
  config: 'u64',
  samplePeriodOrFreq: 'u64',
  sampleType: 'u64',
  readFormat: 'u64',
  flags: 'u64',
  wakeupEventsOrWatermark: 'u32',
  breakpointType: 'u32',
  config1: 'u64',
  config2: 'u64',
  branchSampleType: 'u64',
  sampleRegsUser: 'u64',
  sampleStackUser: 'u32',
  clockId: 'i32',
  sampleRegsIntr: 'u64',
  auxWatermark: 'u32',
  sampleMaxStack: 'u16',
  reserved2: 'u16',
  auxSampleSize: 'u32',
  auxAction: 'u32',
  sigData: 'u64',
  config3: 'u64',
  config4: 'u64',
};

/** [name, kind, offset]. Flags are one 64-bit word at 40, see `ATTR_FLAGS`. */
export const ATTR_FIELDS: readonly (readonly [string, AttrFieldKind, number])[] = /* @__PURE__ */ inPlace(
  FIELD_KINDS,
  (kind) => Number(kind.slice(1)) / 8,
);

/**
 * The flags as the kernel declares them: bit fields of the word at offset 40, from its first bit on without a
 * gap, each with its number of bits. `AttrFlags` says what each means.
 */
export const ATTR_FLAG_WIDTHS = {
  disabled: 1,
  inherit: 1,
  pinned: 1,
  exclusive: 1,
  excludeUser: 1,
  excludeKernel: 1,
  excludeHv: 1,
  excludeIdle: 1,
  mmap: 1,
  comm: 1,
  freq: 1,
  inheritStat: 1,
  enableOnExec: 1,
  task: 1,
  watermark: 1,
  preciseIp: 2,
  mmapData: 1,
  sampleIdAll: 1,
  excludeHost: 1,
  excludeGuest: 1,
  excludeCallchainKernel: 1,
  excludeCallchainUser: 1,
  mmap2: 1,
  commExec: 1,
  useClockId: 1,
  contextSwitch: 1,
  writeBackward: 1,
  namespaces: 1,
  ksymbol: 1,
  bpfEvent: 1,
  auxOutput: 1,
  cgroup: 1,
  textPoke: 1,
  buildId: 1,
  inheritThread: 1,
  removeOnExec: 1,
  sigtrap: 1,
  deferCallchain: 1,
  deferOutput: 1,
};

/** [name, first bit, width]. */
export const ATTR_FLAGS: readonly (readonly [keyof typeof ATTR_FLAG_WIDTHS, number, number])[] =
  /* @__PURE__ */ inPlace(ATTR_FLAG_WIDTHS, (width) => width).map(([name, width, bit]) => [name, bit, width]);

/** Each with its place: behind those before it. */
function inPlace<N extends string, K>(
  kinds: Readonly<Record<N, K>>,
  sizeOf: (kind: K) => number,
): [N, K, number][] {
  let end = 0;
  return Object.entries<K>(kinds).map(([name, kind]) => {
    const place = end;
    end += sizeOf(kind);
    return [name as N, kind, place];
  });
}
