import { accessSync, closeSync, constants, openSync, readSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  PERF_COUNT_HW_CPU_CYCLES,
  PERF_COUNT_SW_CPU_CLOCK,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { type AttrFlags, encodeAttrShortest, makeAttr } from '@counterpoint/core/records';
import { ForwardRing, mappedRing, RecordScan } from '@counterpoint/core/ring';
import { type Sys, SysError } from '../sys/index.ts';
import {
  CAP_SYSLOG,
  canMonitorAll,
  kernelSetting,
  paranoidLevel,
  readKernelFile,
} from './kernel-settings.ts';

/** `absent`: it does not exist here. `forbidden`: it does, but not for us. `unknown`: it could not be found out. */
export type CheckState = 'ok' | 'absent' | 'forbidden' | 'unknown';

export interface Check {
  name: string;
  state: CheckState;
  /** What was found, in one sentence. */
  why: string;
  /** What to do about it, one line per way; empty where there is nothing to do. */
  fix: string;
}

const OWN_PERIOD_NS = 100_000;
const OWN_RUN_MS = 20;
const RING_PAGES = 8;

function attr(type: number, config: number, flags: Partial<AttrFlags> = {}): Uint8Array<ArrayBuffer> {
  return encodeAttrShortest(
    makeAttr({
      type,
      config: BigInt(config),
      samplePeriodOrFreq: BigInt(OWN_PERIOD_NS),
      sampleType: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID),
      flags: { disabled: 1, excludeHv: 1, ...flags },
    }),
  );
}

const ownClock = () => attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, { excludeKernel: 1 });

/** Records itself: opens an event, maps a ring, works for a moment, and counts the samples. */
export function checkRecording(sys: Sys): Check {
  const name = 'recording';
  try {
    const fd = sys.perfEventOpen(ownClock(), 0, -1, null);
    try {
      const page = sys.pageSizeBytes();
      const mapping = sys.mmap(fd, page * (RING_PAGES + 1));
      try {
        const ring = new ForwardRing(mappedRing(mapping.buffer, page));
        sys.enable(fd);
        for (const until = performance.now() + OWN_RUN_MS; performance.now() < until; );
        sys.disable(fd);
        const scan = new RecordScan([], () => {});
        ring.take();
        scan.scan(ring.memory.data, ring.tail, ring.head);
        if (scan.samples > 0)
          return {
            name,
            state: 'ok',
            why: `took ${scan.samples} samples of itself in ${OWN_RUN_MS} ms`,
            fix: '',
          };
        return { name, state: 'unknown', why: 'an event could be opened, but gave no sample', fix: '' };
      } finally {
        mapping.close();
      }
    } finally {
      fd.close();
    }
  } catch (error) {
    return refusal(name, error, 2);
  }
}

/** Whether an event may be opened, without running it. */
function checkOpen(
  sys: Sys,
  name: string,
  bytes: Uint8Array,
  cpu: number,
  level: number,
  good: string,
): Check {
  try {
    sys.perfEventOpen(bytes, cpu < 0 ? 0 : -1, cpu, null).close();
    return { name, state: 'ok', why: good, fix: '' };
  } catch (error) {
    return refusal(name, error, level);
  }
}

export function checkKernelCode(sys: Sys): Check {
  const bytes = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  return checkOpen(sys, 'kernel code', bytes, -1, 1, 'samples in the kernel, too');
}

export function checkWholeCpus(sys: Sys): Check {
  const bytes = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  return checkOpen(sys, 'whole CPUs', bytes, 0, 0, 'everything that runs (record -a)');
}

export function checkHardware(sys: Sys): Check {
  const bytes = attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, { excludeKernel: 1 });
  const check = checkOpen(sys, 'hardware counters', bytes, -1, 2, 'cycles are counted by the CPU');
  if (check.state !== 'absent') return check;
  const isGuest = /^flags\s*:.*\bhypervisor\b/m.test(readKernelFile('/proc/cpuinfo') ?? '');
  return {
    ...check,
    why: `${isGuest ? 'this virtual machine' : 'this machine'} offers none; recordings use the clock (cpu-clock) instead`,
    fix: isGuest ? 'Where you rule the host: give the guest a virtual PMU.' : '',
  };
}

/** What an errno of perf_event_open means, and what helps. `level` is the paranoid level at which it would be allowed. */
function refusal(name: string, error: unknown, level: number): Check {
  if (!(error instanceof SysError)) return { name, state: 'unknown', why: String(error), fix: '' };
  const paranoid = paranoidLevel();
  const isConfined = isSeccompConfined();
  switch (error.code) {
    case 'ENOSYS': {
      const why = 'perf_event_open does not exist here (ENOSYS)';
      const fix = isConfined
        ? 'A seccomp profile hides it: allow perf_event_open in the profile of the container.'
        : 'A kernel with CONFIG_PERF_EVENTS is needed.';
      return { name, state: isConfined ? 'forbidden' : 'absent', why, fix };
    }
    case 'EACCES':
    case 'EPERM': {
      const ways = ['Run it as root or with CAP_PERFMON.'];
      let why = `not allowed (${error.code})`;
      if (paranoid !== null && paranoid > level) {
        why = `kernel.perf_event_paranoid is ${paranoid}, at most ${level} would allow it`;
        ways.push(`For every user: sysctl kernel.perf_event_paranoid=${level}`);
      } else if (isConfined) {
        why = 'a seccomp profile forbids perf_event_open, as those of containers do';
        ways.splice(0, 1, 'docker run --cap-add PERFMON, or --security-opt seccomp=PROFILE that allows it.');
      }
      if (error.call === 'mmap') {
        why = 'the limit of locked memory leaves no room for a ring';
        ways.splice(
          0,
          ways.length,
          'Raise kernel.perf_event_mlock_kb or the limit of locked memory (ulimit -l).',
        );
      }
      return { name, state: 'forbidden', why, fix: ways.join('\n') };
    }
    case 'ENOENT':
    case 'ENODEV':
    case 'ENXIO':
    case 'EOPNOTSUPP':
      return { name, state: 'absent', why: `not supported here (${error.code})`, fix: '' };
    default:
      return { name, state: 'unknown', why: error.message, fix: '' };
  }
}

/** Seccomp 2 in /proc/self/status: a filter decides on system calls. */
function isSeccompConfined(): boolean {
  return /^Seccomp:\s*2$/m.test(readKernelFile('/proc/self/status') ?? '');
}

const PARANOID_TEXTS: Readonly<Record<string, string>> = {
  '-1': 'everybody may record everything',
  '0': 'everybody may record whole CPUs, but not raw tracepoints',
  '1': 'everybody may record their own processes, and the kernel in them',
  '2': 'everybody may record the user space of their own processes',
};

export function checkParanoid(sys: Sys): Check {
  const name = 'rights';
  const level = paranoidLevel();
  const isFree = canMonitorAll(sys.effectiveCapabilities());
  if (level === null) {
    const why = 'this kernel has no perf events (no kernel.perf_event_paranoid)';
    return { name, state: 'absent', why, fix: 'A kernel with CONFIG_PERF_EVENTS is needed.' };
  }
  const meaning = PARANOID_TEXTS[String(level)] ?? 'nobody without CAP_PERFMON may record anything';
  const why = `kernel.perf_event_paranoid is ${level}: ${meaning}`;
  if (isFree)
    return { name, state: 'ok', why: `${why}; this process may everything (CAP_PERFMON or root)`, fix: '' };
  if (level <= 2) return { name, state: 'ok', why, fix: '' };
  return { name, state: 'forbidden', why, fix: 'sysctl kernel.perf_event_paranoid=2' };
}

export function checkLockedMemory(sys: Sys): Check {
  const name = 'locked memory';
  const perCpuKb = kernelSetting('perf_event_mlock_kb');
  const { soft } = sys.resourceLimit('lockedMemoryBytes');
  const limit = soft === Number.POSITIVE_INFINITY ? 'no limit' : `${Math.floor(soft / 1024)} KiB`;
  const why = `${perCpuKb ?? 'an unknown number of'} KiB of ring per CPU, then ${limit} per process (ulimit -l)`;
  if (perCpuKb === null) return { name, state: 'unknown', why, fix: '' };
  // A page and the smallest ring that is any good: 16 pages.
  const needKb = (17 * sys.pageSizeBytes()) / 1024;
  if (perCpuKb >= needKb || soft > 0 || canMonitorAll(sys.effectiveCapabilities()))
    return { name, state: 'ok', why, fix: '' };
  return { name, state: 'forbidden', why, fix: 'sysctl kernel.perf_event_mlock_kb=516' };
}

export function checkDescriptors(sys: Sys, cpuCount: number): Check {
  const name = 'open files';
  const { soft, hard } = sys.resourceLimit('descriptors');
  const why = `${soft} at a time, up to ${hard}; a recording needs one per event, CPU and thread (${cpuCount} CPUs here)`;
  if (hard >= cpuCount + 64) return { name, state: 'ok', why, fix: '' };
  return { name, state: 'forbidden', why, fix: `ulimit -n ${cpuCount * 4 + 256}` };
}

const DEFAULT_FREQUENCY_HZ = 4000;

export function checkSampleRate(): Check {
  const name = 'sample rate';
  const rate = kernelSetting('perf_event_max_sample_rate');
  if (rate === null)
    return { name, state: 'unknown', why: 'kernel.perf_event_max_sample_rate cannot be read', fix: '' };
  const why = `up to ${rate} samples per second and CPU (kernel.perf_event_max_sample_rate)`;
  if (rate >= DEFAULT_FREQUENCY_HZ) return { name, state: 'ok', why, fix: '' };
  const fix =
    'The kernel lowers it when interrupts take long. sysctl kernel.perf_event_max_sample_rate=100000';
  return { name, state: 'forbidden', why: `${why}, below the default of ${DEFAULT_FREQUENCY_HZ}`, fix };
}

export function checkKernelSymbols(sys: Sys): Check {
  const name = 'kernel symbols';
  const beginning = readBeginning('/proc/kallsyms');
  if (beginning === '') return { name, state: 'absent', why: '/proc/kallsyms cannot be read', fix: '' };
  // Without the right every address reads as 0; the first lines of x86 are offsets that are 0 for everybody.
  if (/^[0-9a-f]*[1-9a-f][0-9a-f]* [tT] /m.test(beginning))
    return { name, state: 'ok', why: "the kernel's functions have names (/proc/kallsyms)", fix: '' };
  const restrict = kernelSetting('kptr_restrict');
  const hasSyslog = ((sys.effectiveCapabilities() >> BigInt(CAP_SYSLOG)) & 1n) !== 0n;
  const why = `addresses in /proc/kallsyms are hidden (kernel.kptr_restrict is ${restrict ?? 'unknown'}${hasSyslog ? '' : ', no CAP_SYSLOG'})`;
  const fix = 'Run it as root, or: sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1';
  return { name, state: 'forbidden', why, fix };
}

/** The first 64 KiB, of a file that takes long to read whole. */
function readBeginning(path: string): string {
  try {
    const fd = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(64 * 1024);
      return bytes.toString('latin1', 0, readSync(fd, bytes));
    } finally {
      closeSync(fd);
    }
  } catch {
    return '';
  }
}

const TRACEFS = ['/sys/kernel/tracing', '/sys/kernel/debug/tracing'];

export function checkTracepoints(): Check {
  const name = 'tracepoints';
  for (const place of TRACEFS) {
    if (readKernelFile(`${place}/events/header_page`) !== null)
      return { name, state: 'ok', why: `described in ${place}`, fix: '' };
  }
  const isMounted = TRACEFS.some((place) =>
    new RegExp(` ${place} tracefs `).test(readKernelFile('/proc/mounts') ?? ''),
  );
  if (isMounted)
    return {
      name,
      state: 'forbidden',
      why: 'tracefs is mounted, but only root may read it',
      fix: 'Run it as root.',
    };
  const fix = `As root: mount -t tracefs tracefs ${TRACEFS[0]}`;
  return { name, state: 'absent', why: 'tracefs is not mounted', fix };
}

const LEAST_NODE = [20, 19] as const;

export function checkNode(version: string = process.versions.node): Check {
  const name = 'Node.js';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  const why = `version ${version}`;
  if (isNewEnough) return { name, state: 'ok', why, fix: '' };
  return {
    name,
    state: 'absent',
    why: `${why} is too old`,
    fix: `Install Node ${LEAST_NODE.join('.')} or newer.`,
  };
}

export function checkPerfMaps(directory = '/tmp'): Check {
  const name = 'JavaScript names';
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    const why = `Node programs can write ${directory}/perf-PID.map; record lets them (--no-node-names: not)`;
    return { name, state: 'ok', why, fix: '' };
  } catch {
    const why = `${directory} cannot be written, where V8 puts perf-PID.map (temporary folder here: ${tmpdir()})`;
    return {
      name,
      state: 'forbidden',
      why,
      fix: `Make ${directory} writable, or use node --perf-basic-prof-path=DIRECTORY.`,
    };
  }
}
