/**
 * `struct perf_event_attr` (perf_event_open(2), Linux 6.18): field offsets, flag bits and published sizes.
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

/** [our name, kernel name, kind, offset]. Flags are one 64-bit word at 40, see `ATTR_FLAGS`. */
export const ATTR_FIELDS: readonly (readonly [string, string, AttrFieldKind, number])[] = [
  ['type', 'type', 'u32', 0],
  ['size', 'size', 'u32', 4],
  ['config', 'config', 'u64', 8],
  ['samplePeriodOrFreq', 'sample_period', 'u64', 16],
  ['sampleType', 'sample_type', 'u64', 24],
  ['readFormat', 'read_format', 'u64', 32],
  ['flags', 'flags', 'u64', 40],
  ['wakeupEventsOrWatermark', 'wakeup_events', 'u32', 48],
  ['breakpointType', 'bp_type', 'u32', 52],
  ['config1', 'config1', 'u64', 56],
  ['config2', 'config2', 'u64', 64],
  ['branchSampleType', 'branch_sample_type', 'u64', 72],
  ['sampleRegsUser', 'sample_regs_user', 'u64', 80],
  ['sampleStackUser', 'sample_stack_user', 'u32', 88],
  ['clockId', 'clockid', 'i32', 92],
  ['sampleRegsIntr', 'sample_regs_intr', 'u64', 96],
  ['auxWatermark', 'aux_watermark', 'u32', 104],
  ['sampleMaxStack', 'sample_max_stack', 'u16', 108],
  ['reserved2', '__reserved_2', 'u16', 110],
  ['auxSampleSize', 'aux_sample_size', 'u32', 112],
  ['auxAction', 'aux_action', 'u32', 116],
  ['sigData', 'sig_data', 'u64', 120],
  ['config3', 'config3', 'u64', 128],
  ['config4', 'config4', 'u64', 136],
];

/** Flag bits of the word at offset 40: [our name, kernel name, first bit, width]. */
export const ATTR_FLAGS: readonly (readonly [string, string, number, number])[] = [
  ['disabled', 'disabled', 0, 1],
  ['inherit', 'inherit', 1, 1],
  ['pinned', 'pinned', 2, 1],
  ['exclusive', 'exclusive', 3, 1],
  ['excludeUser', 'exclude_user', 4, 1],
  ['excludeKernel', 'exclude_kernel', 5, 1],
  ['excludeHv', 'exclude_hv', 6, 1],
  ['excludeIdle', 'exclude_idle', 7, 1],
  ['mmap', 'mmap', 8, 1],
  ['comm', 'comm', 9, 1],
  ['freq', 'freq', 10, 1],
  ['inheritStat', 'inherit_stat', 11, 1],
  ['enableOnExec', 'enable_on_exec', 12, 1],
  ['task', 'task', 13, 1],
  ['watermark', 'watermark', 14, 1],
  ['preciseIp', 'precise_ip', 15, 2],
  ['mmapData', 'mmap_data', 17, 1],
  ['sampleIdAll', 'sample_id_all', 18, 1],
  ['excludeHost', 'exclude_host', 19, 1],
  ['excludeGuest', 'exclude_guest', 20, 1],
  ['excludeCallchainKernel', 'exclude_callchain_kernel', 21, 1],
  ['excludeCallchainUser', 'exclude_callchain_user', 22, 1],
  ['mmap2', 'mmap2', 23, 1],
  ['commExec', 'comm_exec', 24, 1],
  ['useClockId', 'use_clockid', 25, 1],
  ['contextSwitch', 'context_switch', 26, 1],
  ['writeBackward', 'write_backward', 27, 1],
  ['namespaces', 'namespaces', 28, 1],
  ['ksymbol', 'ksymbol', 29, 1],
  ['bpfEvent', 'bpf_event', 30, 1],
  ['auxOutput', 'aux_output', 31, 1],
  ['cgroup', 'cgroup', 32, 1],
  ['textPoke', 'text_poke', 33, 1],
  ['buildId', 'build_id', 34, 1],
  ['inheritThread', 'inherit_thread', 35, 1],
  ['removeOnExec', 'remove_on_exec', 36, 1],
  ['sigtrap', 'sigtrap', 37, 1],
  ['deferCallchain', 'defer_callchain', 38, 1],
  ['deferOutput', 'defer_output', 39, 1],
];
