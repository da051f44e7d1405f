import { PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW } from '@counterpoint/core/abi';
import { type EventLookup, type FormatBits, parseFormat, placeBits } from '@counterpoint/core/events';
import type { PerfEventAttr } from '@counterpoint/core/records';
import { kernelSetting } from '../../kernel/probe/index.ts';

/**
 * How an event asks for a counter that user space may read. On x86 all have one. On arm64 the PMU's driver
 * has a bit for it (`format/rdpmc` in sysfs), which it also knows in attrs of the generic types, and
 * kernel.perf_user_access must be 1.
 */
export interface UserAccess {
  /** Ask for it in this attr; false where nothing is to be asked. */
  request(attr: PerfEventAttr): boolean;
  withdraw(attr: PerfEventAttr): void;
  /** Why it will not be given, and what to do. */
  obstacle: string | null;
}

const GENERIC_TYPES: ReadonlySet<number> = new Set([PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE, PERF_TYPE_RAW]);
const TERM = 'rdpmc';
const NOT_ASKED: UserAccess = { request: () => false, withdraw: () => {}, obstacle: null };

/**
 * `setting` is kernel.perf_user_access; null where the kernel has no such setting, so nothing is to be asked.
 */
export function userAccess(
  lookup: EventLookup,
  setting: number | null = kernelSetting('perf_user_access'),
): UserAccess {
  if (setting === null) return NOT_ASKED;
  const formats = new Map<number, FormatBits>();
  for (const name of lookup.pmuNames()) {
    const pmu = lookup.pmu(name);
    const text = pmu?.formats.get(TERM);
    const format = text === undefined ? null : parseFormat(text);
    if (pmu !== null && format !== null) formats.set(pmu.type, format);
  }
  if (formats.size === 0) return NOT_ASKED;
  if (setting === 0) {
    const obstacle =
      'kernel.perf_user_access is 0, so counters are read by a system call; sysctl kernel.perf_user_access=1 lets programs read their own';
    return { ...NOT_ASKED, obstacle };
  }
  const [generic] = formats.values();
  const formatOf = ({ type }: PerfEventAttr) =>
    formats.get(type) ?? (GENERIC_TYPES.has(type) ? generic : undefined);
  return {
    request(attr) {
      const format = formatOf(attr);
      if (format === undefined) return false;
      attr[format.field] |= placeBits(format, 1n).word;
      return true;
    },
    withdraw(attr) {
      const format = formatOf(attr);
      if (format !== undefined) attr[format.field] &= ~placeBits(format, 1n).mask;
    },
    obstacle: null,
  };
}
