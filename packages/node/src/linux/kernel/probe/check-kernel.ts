import {
  BPF_PROGRAM_TYPES,
  BPF_SMALLEST_PROGRAM,
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { encodeAttrShortest, makeAttr } from '@counterpoint/core/records';
import { type Sys, SysError } from '../sys/index.ts';
import type { Check } from './check.ts';
import {
  CAP_BPF,
  CAP_SYS_ADMIN,
  hasCapability,
  type KernelFiles,
  kernelSetting,
  uprobesNeedAdmin,
} from './kernel-settings.ts';
import { readProcessFacts } from './process-facts.ts';
import { capabilityFlag, OUTSIDE } from './remedies.ts';
import { refusal, type Standing } from './rights.ts';

const PMUS = '/sys/bus/event_source/devices';

/** The PMUs through which events at any instruction are opened, without writing to tracefs. */
export function checkProbes(
  sys: Sys,
  files: KernelFiles,
  { isPrivileged, isNamespaceRoot }: Standing,
): Check {
  const name = 'probes';
  const found = ['uprobe', 'kprobe'].filter((pmu) => files.obstacle(`${PMUS}/${pmu}/type`) === null);
  const facts = { uprobe: found.includes('uprobe'), kprobe: found.includes('kprobe') };
  const texts = [
    facts.uprobe ? 'functions of programs (uprobe)' : 'no uprobe (CONFIG_UPROBE_EVENTS)',
    facts.kprobe ? 'functions of the kernel (kprobe)' : 'no kprobe (CONFIG_KPROBE_EVENTS)',
  ];
  const why = texts.join(', ');
  if (found.length === 0)
    return { name, state: 'absent', why, fix: 'Use a kernel with these options.', facts };
  const needsAdmin = facts.uprobe && !mayOpenUprobe(sys, files);
  if (isPrivileged && needsAdmin) {
    const because = 'this kernel opens uprobes only with CAP_SYS_ADMIN; CAP_PERFMON is not enough';
    return {
      name,
      state: 'forbidden',
      why: `${why}; ${because}`,
      fix: 'Run it as root or with CAP_SYS_ADMIN.',
      facts,
    };
  }
  if (isPrivileged) return { name, state: 'ok', why, fix: '', facts, isDetail: true };
  const isNewer = facts.uprobe && uprobesNeedAdmin(files.read('/proc/sys/kernel/osrelease') ?? '');
  const capability = isNewer ? 'CAP_SYS_ADMIN (for kprobes alone CAP_PERFMON)' : 'CAP_PERFMON';
  const fix = isNamespaceRoot ? `Run it as root${OUTSIDE}.` : `Run it as root or with ${capability}.`;
  return { name, state: 'forbidden', why: `${why}; only privileged users can open them`, fix, facts };
}

/**
 * One without a file: the kernel looks at the right first (EACCES), and only then at that
 * (EINVAL). Nothing is ever opened.
 */
function mayOpenUprobe(sys: Sys, files: KernelFiles): boolean {
  const type = Number(files.read(`${PMUS}/uprobe/type`));
  try {
    sys.perfEventOpen(encodeAttrShortest(makeAttr({ type, flags: { disabled: 1 } })), 0, -1, null).close();
    return true;
  } catch (error) {
    return !(error instanceof SysError) || (error.code !== 'EACCES' && error.code !== 'EPERM');
  }
}

/**
 * What sampling formats that run in the kernel need: the right to load programs, and a kernel that takes one.
 */
export function checkBpf(sys: Sys, files: KernelFiles, standing: Standing, capabilities: bigint): Check {
  const name = 'BPF';
  const unprivileged = kernelSetting('unprivileged_bpf_disabled', files);
  const hasTypes = files.obstacle('/sys/kernel/btf/vmlinux') === null;
  const facts = { unprivilegedDisabled: unprivileged, btf: hasTypes };
  if (unprivileged === null) {
    const why = 'this kernel has no bpf(2) (no kernel.unprivileged_bpf_disabled)';
    return { name, state: 'absent', why, fix: 'Use a kernel with CONFIG_BPF_SYSCALL.', facts };
  }
  const types = hasTypes ? "the kernel's types are in /sys/kernel/btf/vmlinux" : 'without BTF of the kernel';
  const isAllowed =
    standing.isPrivileged &&
    (hasCapability(capabilities, CAP_BPF) || hasCapability(capabilities, CAP_SYS_ADMIN));
  if (!isAllowed) {
    const fix = bpfFix(files, standing);
    const why = `sampling formats (record --format) need CAP_BPF and CAP_PERFMON (kernel.unprivileged_bpf_disabled is ${unprivileged}); ${types}`;
    return { name, state: 'forbidden', why, fix, facts };
  }
  const refused = loadRefusal(sys);
  if (refused !== null) {
    const why = `no program for perf events could be loaded (${refused.code}); ${types}`;
    const isForbidden = refused.code === 'EPERM' || refused.code === 'EACCES';
    const fix = isForbidden
      ? 'The capabilities are there, but something else forbids it: a seccomp profile, lockdown, or before Linux 5.11 the limit of locked memory.'
      : 'Use a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS.';
    return { name, state: isForbidden ? 'forbidden' : 'absent', why, fix, facts };
  }
  const why = `sampling formats (record --format) can run (off-cpu needs readable tracepoints); ${types}`;
  if (hasTypes) return { name, state: 'ok', why, fix: '', facts, isDetail: true };
  const fix =
    'The formats need no BTF; programs that follow the types of the kernel need CONFIG_DEBUG_INFO_BTF.';
  return { name, state: 'absent', why, fix, facts };
}

/** Why the smallest program is refused; null where it is not. */
function loadRefusal(sys: Sys): SysError | null {
  const type = BPF_PROGRAM_TYPES['perf-event'];
  const request = { name: 'probe', type, license: 'GPL', instructions: BPF_SMALLEST_PROGRAM, attachType: 0 };
  try {
    sys.bpfProgramLoad(request, null).close();
    return null;
  } catch (error) {
    if (error instanceof SysError) return error;
    throw error;
  }
}

/** What is not in the bounding set no program in here can have. */
function bpfFix(files: KernelFiles, { container, isInNamespace }: Standing): string {
  const { bounding } = readProcessFacts(files);
  if (container !== null && bounding !== null && !hasCapability(bounding, CAP_BPF))
    return capabilityFlag(container, 'BPF,PERFMON');
  return `Run it as root${isInNamespace ? OUTSIDE : ''}, or with CAP_BPF and CAP_PERFMON.`;
}

/**
 * `none [integrity] confidentiality`: the mode in brackets. Confidentiality forbids perf, BPF
 * and tracefs to read the kernel.
 */
export function checkLockdown(files: KernelFiles): Check {
  const name = 'lockdown';
  const path = '/sys/kernel/security/lockdown';
  const text = files.read(path);
  const mode = /\[(\w+)\]/.exec(text ?? '')?.[1] ?? null;
  const facts = { mode };
  if (text === null && files.obstacle(path) !== 'ENOENT')
    return { name, state: 'unknown', why: `${path} cannot be read`, fix: '', facts };
  if (mode === 'confidentiality') {
    const why = 'confidentiality: no user may record anything of the kernel';
    return { name, state: 'forbidden', why, fix: 'Boot without lockdown=confidentiality.', facts };
  }
  const why = mode === null ? 'not in this kernel, or securityfs is not mounted' : mode;
  return { name, state: 'ok', why, fix: '', facts, isDetail: true };
}

const CLOCK_MONOTONIC = 1;

/**
 * Whether samples can have the time of CLOCK_MONOTONIC, which other logs have; the events'
 * own clock is near it, not equal.
 */
export function checkClock(sys: Sys, files: KernelFiles, standing: Standing): Check {
  const name = 'clock';
  const source = files.read('/sys/devices/system/clocksource/clocksource0/current_clocksource');
  const facts = { clocksource: source };
  const attr = makeAttr({
    type: PERF_TYPE_SOFTWARE,
    config: BigInt(PERF_COUNT_SW_CPU_CLOCK),
    flags: { disabled: 1, excludeKernel: 1, excludeHv: 1, useClockId: 1 },
    clockId: CLOCK_MONOTONIC,
  });
  try {
    sys.perfEventOpen(encodeAttrShortest(attr), 0, -1, null).close();
    const why = `events can have the time of CLOCK_MONOTONIC (record -k mono)${source === null ? '' : `; clocksource ${source}`}`;
    return { name, state: 'ok', why, fix: '', facts, isDetail: true };
  } catch (error) {
    return { ...refusal(name, error, 2, standing), facts };
  }
}
