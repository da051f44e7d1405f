import type { Sys } from '../sys/index.ts';
import type { Check } from './check.ts';
import { CAP_IPC_LOCK, hasCapability, type KernelFiles, kernelSetting } from './kernel-settings.ts';
import type { Standing } from './rights.ts';

export function checkLockedMemory(sys: Sys, { isPrivileged }: Standing, files?: KernelFiles): Check {
  const name = 'locked memory';
  const perCpuKb = kernelSetting('perf_event_mlock_kb', files);
  const { soft } = sys.resourceLimit('lockedMemoryBytes');
  const limitKb = soft === Number.POSITIVE_INFINITY ? null : Math.floor(soft / 1024);
  const facts = { perCpuKb, limitKb };
  const limit = limitKb === null ? 'no limit' : `${limitKb} KiB`;
  const why = `${perCpuKb ?? 'an unknown number of'} KiB of ring per CPU, then ${limit} per process (ulimit -l)`;
  if (perCpuKb === null) return { name, state: 'unknown', why, fix: '', facts };
  // A page and the smallest ring that is any good: 16 pages.
  const needKb = (17 * sys.pageSizeBytes()) / 1024;
  const isUnlimited = isPrivileged || hasCapability(sys.effectiveCapabilities(), CAP_IPC_LOCK);
  if (perCpuKb >= needKb || soft > 0 || isUnlimited) return { name, state: 'ok', why, fix: '', facts };
  return { name, state: 'forbidden', why, fix: 'sysctl kernel.perf_event_mlock_kb=516', facts };
}

export function checkDescriptors(sys: Sys, cpuCount: number): Check {
  const name = 'open files';
  const { soft, hard } = sys.resourceLimit('descriptors');
  const facts = { soft, hard: Number.isFinite(hard) ? hard : null };
  const why = `${soft} at a time, up to ${hard}; a recording needs one per event, CPU and thread (${cpuCount} CPUs here)`;
  if (hard >= cpuCount + 64) return { name, state: 'ok', why, fix: '', facts };
  const wanted = cpuCount * 4 + 256;
  // Only root may go beyond the hard limit.
  const fix = `ulimit -Hn ${wanted} as root before this user's shell starts (LimitNOFILE=${wanted} of a service, --ulimit nofile=${wanted} of a container, nofile in /etc/security/limits.conf)`;
  return { name, state: 'forbidden', why, fix, facts };
}

const DEFAULT_FREQUENCY_HZ = 4000;

export function checkSampleRate(files?: KernelFiles): Check {
  const name = 'sample rate';
  const rate = kernelSetting('perf_event_max_sample_rate', files);
  if (rate === null)
    return { name, state: 'unknown', why: 'kernel.perf_event_max_sample_rate cannot be read', fix: '' };
  const facts = { maxHz: rate };
  const why = `up to ${rate} samples per second and CPU (kernel.perf_event_max_sample_rate)`;
  if (rate >= DEFAULT_FREQUENCY_HZ) return { name, state: 'ok', why, fix: '', facts };
  const fix =
    'The kernel lowers it when interrupts take long. To raise it: sysctl kernel.perf_event_max_sample_rate=100000';
  return {
    name,
    state: 'forbidden',
    why: `${why}, below the default of ${DEFAULT_FREQUENCY_HZ}`,
    fix,
    facts,
  };
}

/** kernel.perf_cpu_time_max_percent: above it the kernel lowers the sample rate; 0 and 100 turn that off. */
export function checkInterruptShare(files: KernelFiles): Check {
  const name = 'time of samples';
  const percent = kernelSetting('perf_cpu_time_max_percent', files);
  if (percent === null)
    return { name, state: 'unknown', why: 'kernel.perf_cpu_time_max_percent cannot be read', fix: '' };
  const why =
    percent === 0 || percent === 100
      ? `no limit (kernel.perf_cpu_time_max_percent is ${percent})`
      : `at most ${percent} % of a CPU; above it the kernel lowers the sample rate (kernel.perf_cpu_time_max_percent)`;
  return { name, state: 'ok', why, fix: '', facts: { percent }, isDetail: true };
}

const DEFAULT_STACK_FRAMES = 127;

export function checkStackDepth(files: KernelFiles): Check {
  const name = 'stack depth';
  const frames = kernelSetting('perf_event_max_stack', files);
  if (frames === null)
    return { name, state: 'unknown', why: 'kernel.perf_event_max_stack cannot be read', fix: '' };
  const why = `call chains of up to ${frames} frames (kernel.perf_event_max_stack)`;
  const facts = { frames };
  if (frames >= DEFAULT_STACK_FRAMES) return { name, state: 'ok', why, fix: '', facts, isDetail: true };
  const fix = `While no event is open: sysctl kernel.perf_event_max_stack=${DEFAULT_STACK_FRAMES}`;
  return { name, state: 'forbidden', why, fix, facts };
}

/** The watchdog for hard lockups holds a counter of each CPU while it is on. */
export function checkWatchdog(files: KernelFiles): Check {
  const name = 'NMI watchdog';
  const setting = kernelSetting('nmi_watchdog', files);
  if (setting === null)
    return { name, state: 'ok', why: 'this kernel has none', fix: '', facts: { isOn: null }, isDetail: true };
  const facts = { isOn: setting !== 0 };
  if (setting === 0) return { name, state: 'ok', why: 'off', fix: '', facts, isDetail: true };
  return {
    name,
    state: 'ok',
    why: 'on: it may hold a hardware counter of each CPU',
    fix: 'To count with one more: sysctl kernel.nmi_watchdog=0',
    facts,
  };
}
