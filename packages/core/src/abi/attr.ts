/**
 * `struct perf_event_attr` (perf_event_open(2), Linux 6.18): field offsets, flag bits and published
 * sizes. What the kernel calls its fields is in `attr-names.ts`: few programs print them.
 */

export const PERF_ATTR_SIZE_VER0 = 64; // first published
export const PERF_ATTR_SIZE_VER1 = 72; // config2
export const PERF_ATTR_SIZE_VER2 = 80; // branch_sample_type
export const PERF_ATTR_SIZE_VER3 = 96; // sample_regs_user, sample_stack_user, clockid
export const PERF_ATTR_SIZE_VER4 = 104; // sample_regs_intr
export const PERF_ATTR_SIZE_VER5 = 112; // aux_watermark, sample_max_stack
export const PERF_ATTR_SIZE_VER6 = 120; // aux_sample_size, aux_action
export const PERF_ATTR_SIZE_VER7 = 128; // sig_data
export const PERF_ATTR_SIZE_VER8 = 136; // config3
export const PERF_ATTR_SIZE_VER9 = 144; // config4

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

export type AttrFieldKind = 'u16' | 'u32' | 'i32' | 'u64';

/** [name, kind, offset]. Flags are one 64-bit word at 40, see `ATTR_FLAGS`. */
export const ATTR_FIELDS: readonly (readonly [string, AttrFieldKind, number])[] = [
  ['type', 'u32', 0],
  ['size', 'u32', 4],
  ['config', 'u64', 8],
  ['samplePeriodOrFreq', 'u64', 16],
  ['sampleType', 'u64', 24],
  ['readFormat', 'u64', 32],
  ['flags', 'u64', 40],
  ['wakeupEventsOrWatermark', 'u32', 48],
  ['breakpointType', 'u32', 52],
  ['config1', 'u64', 56],
  ['config2', 'u64', 64],
  ['branchSampleType', 'u64', 72],
  ['sampleRegsUser', 'u64', 80],
  ['sampleStackUser', 'u32', 88],
  ['clockId', 'i32', 92],
  ['sampleRegsIntr', 'u64', 96],
  ['auxWatermark', 'u32', 104],
  ['sampleMaxStack', 'u16', 108],
  ['reserved2', 'u16', 110],
  ['auxSampleSize', 'u32', 112],
  ['auxAction', 'u32', 116],
  ['sigData', 'u64', 120],
  ['config3', 'u64', 128],
  ['config4', 'u64', 136],
];

/**
 * The flags as the kernel declares them: bit fields of the word at offset 40, from its first bit on without a
 * gap, each with its number of bits.
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
  /* @__PURE__ */ flagBits();

function flagBits(): [keyof typeof ATTR_FLAG_WIDTHS, number, number][] {
  let end = 0;
  return Object.entries(ATTR_FLAG_WIDTHS).map(([name, width]) => {
    const bit = end;
    end += width;
    return [name as keyof typeof ATTR_FLAG_WIDTHS, bit, width];
  });
}
