import { BPF_MAP_TYPES, BPF_PROGRAM_TYPES, BPF_SMALLEST_PROGRAM } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import {
  CAP_BPF,
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  hasCapability,
  type KernelFiles,
  kernelSetting,
  realFiles,
} from '../probe/index.ts';
import { type Sys, SysError } from '../sys/index.ts';
import type { BpfMapType, BpfProgramType } from './program.ts';

/** What a program for events needs, and who lacks it. */
export function missingCapabilities(sys: Sys): string[] {
  const capabilities = sys.effectiveCapabilities();
  if (hasCapability(capabilities, CAP_SYS_ADMIN)) return [];
  const needed: [string, number][] = [
    ['CAP_BPF', CAP_BPF],
    ['CAP_PERFMON', CAP_PERFMON],
  ];
  return needed.filter(([, bit]) => !hasCapability(capabilities, bit)).map(([name]) => name);
}

/**
 * Why the kernel refused `what` (a program, a map, an attachment), and what helps. Other
 * errors come back as they are.
 */
export function explainRefusal(
  sys: Sys,
  what: string,
  error: unknown,
  files: KernelFiles = realFiles,
): unknown {
  if (!(error instanceof SysError)) return error;
  const explanation = explain(sys, error, files);
  if (explanation === null) return error;
  const { code, why, remedy } = explanation;
  const explained = new CounterpointError(code, `${what} is refused: ${why} (${error.code})`, remedy);
  explained.cause = error;
  return explained;
}

function explain(
  sys: Sys,
  error: SysError,
  files: KernelFiles,
): { code: string; why: string; remedy: string } | null {
  switch (error.code) {
    case 'EPERM':
    case 'EACCES': {
      const missing = missingCapabilities(sys);
      if (missing.length > 0) {
        const unprivileged = kernelSetting('unprivileged_bpf_disabled', files);
        const setting = unprivileged === null ? '' : `; kernel.unprivileged_bpf_disabled is ${unprivileged}`;
        return {
          code: 'ERR_BPF_RIGHTS',
          why: `${missing.join(' and ')} missing${setting}`,
          remedy: `Run it as root, or with ${missing.join(' and ')}. counterpoint doctor says how to get them here.`,
        };
      }
      if (files.read('/sys/kernel/security/lockdown')?.includes('[confidentiality]'))
        return {
          code: 'ERR_BPF_RIGHTS',
          why: 'the kernel is locked down for confidentiality: no program of any user may read it',
          remedy: 'Boot without lockdown=confidentiality.',
        };
      return {
        code: 'ERR_BPF_RIGHTS',
        why: 'the kernel forbids it although the capabilities are there; the cause is a seccomp filter, a user namespace, or before Linux 5.11 the limit of locked memory',
        remedy:
          'Run it as root outside of a container; on a kernel before 5.11, raise the limit: ulimit -l unlimited.',
      };
    }
    case 'ENOSYS':
      return {
        code: 'ERR_NO_BPF',
        why: 'bpf(2) does not exist here',
        remedy: 'Use a kernel with CONFIG_BPF_SYSCALL, and a seccomp profile that allows bpf.',
      };
    case 'ENOMEM':
      return {
        code: 'ERR_BPF_MEMORY',
        why: 'the kernel has no memory for it, or the memory limit of the control group is reached',
        remedy: 'Request smaller maps.',
      };
    default:
      return null;
  }
}

/**
 * What this kernel has of BPF, found out by making the smallest of each: maps of
 * each type, programs of each type.
 */
export interface BpfFeatures {
  /** The types of maps that this kernel makes. */
  mapTypes: ReadonlySet<BpfMapType>;
  /** The types of programs that this kernel loads. */
  programTypes: ReadonlySet<BpfProgramType>;
  /** The kernel's own types, in /sys/kernel/btf/vmlinux. */
  hasTypes: boolean;
}

/** Sizes that a type insists on; 4-byte keys and 8-byte values are right for the others. */
const SIZES: Partial<Record<BpfMapType, { key: number; value: number; entries?: number }>> = {
  'ring-buffer': { key: 0, value: 0, entries: 1 << 16 },
  'stack-trace': { key: 4, value: 8 },
  'perf-event-array': { key: 4, value: 4 },
  'program-array': { key: 4, value: 4 },
  queue: { key: 0, value: 8 },
  stack: { key: 0, value: 8 },
};

/**
 * Null where a probe was refused for want of rights: nothing is known then. Map types that need
 * more than sizes are not probed.
 */
export function probeFeatures(
  sys: Sys,
  files: Pick<KernelFiles, 'obstacle'> = realFiles,
): BpfFeatures | null {
  const mapTypes = new Set<BpfMapType>();
  const programTypes = new Set<BpfProgramType>();
  const probed: BpfMapType[] = [
    'hash',
    'per-cpu-hash',
    'lru-hash',
    'lru-per-cpu-hash',
    'array',
    'per-cpu-array',
    'stack-trace',
    'ring-buffer',
    'perf-event-array',
    'program-array',
    'queue',
    'stack',
  ];
  for (const type of probed) {
    const { key, value, entries = 1 } = SIZES[type] ?? { key: 4, value: 8 };
    const request = {
      name: 'probe',
      keySizeBytes: key,
      valueSizeBytes: value,
      maxEntries: entries,
      flags: 0,
    };
    const state = attempt(() => sys.bpfMapCreate({ ...request, type: BPF_MAP_TYPES[type] }));
    if (state === 'forbidden') return null;
    if (state === 'there') mapTypes.add(type);
  }
  for (const type of ['socket-filter', 'kprobe', 'tracepoint', 'perf-event', 'raw-tracepoint'] as const) {
    const request = { name: 'probe', license: 'GPL', instructions: BPF_SMALLEST_PROGRAM, attachType: 0 };
    const state = attempt(() => sys.bpfProgramLoad({ ...request, type: BPF_PROGRAM_TYPES[type] }, null));
    if (state === 'forbidden') return null;
    if (state === 'there') programTypes.add(type);
  }
  return { mapTypes, programTypes, hasTypes: files.obstacle('/sys/kernel/btf/vmlinux') === null };
}

function attempt(make: () => Disposable): 'there' | 'absent' | 'forbidden' {
  try {
    make()[Symbol.dispose]();
    return 'there';
  } catch (error) {
    if (!(error instanceof SysError)) throw error;
    return error.code === 'EPERM' || error.code === 'EACCES' ? 'forbidden' : 'absent';
  }
}
