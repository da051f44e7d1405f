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
import { breakpointsWork, type Sys } from '../sys/index.ts';
import type { Check } from './check.ts';
import { type KernelFiles, kernelSetting, readKernelFile } from './kernel-settings.ts';
import { OUTSIDE, tracefsRemedy } from './remedies.ts';
import { refusal, type Standing } from './rights.ts';

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
export function checkRecording(sys: Sys, standing: Standing): Check {
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
            why: `took ${scan.samples === 1 ? '1 sample' : `${scan.samples} samples`} of itself in ${OWN_RUN_MS} ms`,
            fix: '',
          };
        return { name, state: 'unknown', why: 'an event could be opened, but it gave no sample', fix: '' };
      } finally {
        mapping.close();
      }
    } finally {
      fd.close();
    }
  } catch (error) {
    return refusal(name, error, 2, standing);
  }
}

/** Whether an event may be opened, without running it. */
function checkOpen(
  sys: Sys,
  standing: Standing,
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
    return refusal(name, error, level, standing);
  }
}

export function checkKernelCode(sys: Sys, standing: Standing): Check {
  const bytes = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  return checkOpen(sys, standing, 'kernel code', bytes, -1, 1, 'samples in the kernel, too');
}

export function checkWholeCpus(sys: Sys, standing: Standing): Check {
  const bytes = attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  return checkOpen(sys, standing, 'whole CPUs', bytes, 0, 0, 'everything that runs (record -a)');
}

export function checkHardware(sys: Sys, standing: Standing): Check {
  const bytes = attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, { excludeKernel: 1 });
  const check = checkOpen(sys, standing, 'hardware counters', bytes, -1, 2, 'cycles are counted by the CPU');
  if (check.state !== 'absent') return check;
  const isGuest = /^flags\s*:.*\bhypervisor\b/m.test(readKernelFile('/proc/cpuinfo') ?? '');
  return {
    ...check,
    why: `${isGuest ? 'this virtual machine' : 'this machine'} offers none; recordings use the clock (cpu-clock) instead`,
    fix: isGuest ? 'If you control the host, give the guest a virtual PMU.' : '',
  };
}

/** Tried on own memory: the kernel takes breakpoints also where nothing comes of them. */
export function checkBreakpoints(sys: Sys): Check {
  const name = 'breakpoints';
  const doWork = breakpointsWork(sys);
  if (doWork === null)
    return {
      name,
      state: 'unknown',
      why: 'no breakpoint could be set on own memory',
      fix: '',
      isDetail: true,
    };
  if (doWork)
    return { name, state: 'ok', why: 'accesses to an address are seen (mem:)', fix: '', isDetail: true };
  const why =
    'the hypervisor of this machine does not pass the debug registers on: mem: events count nothing, and --on-function needs uprobes (root)';
  return { name, state: 'absent', why, fix: 'To see calls of a function, use a probe on it.' };
}

export function checkKernelSymbols(
  files: KernelFiles,
  standing: Standing,
  beginning = readBeginning('/proc/kallsyms'),
): Check {
  const name = 'kernel symbols';
  const { hasSyslog } = standing;
  if (beginning === '') return { name, state: 'absent', why: '/proc/kallsyms cannot be read', fix: '' };
  // Without the right every address reads as 0; the first lines of x86 are offsets that are 0 for everybody.
  if (/^[0-9a-f]*[1-9a-f][0-9a-f]* [tT] /m.test(beginning))
    return { name, state: 'ok', why: "the kernel's functions have names (/proc/kallsyms)", fix: '' };
  const restrict = kernelSetting('kptr_restrict', files);
  const why = `addresses in /proc/kallsyms are hidden (kernel.kptr_restrict is ${restrict ?? 'unknown'}${hasSyslog ? '' : ', no CAP_SYSLOG'})`;
  return { name, state: 'forbidden', why, fix: symbolsFix(restrict, standing) };
}

/**
 * kptr_restrict 2 hides them from everybody; 1 from those without CAP_SYSLOG, 0 from those
 * who may not profile the kernel.
 */
function symbolsFix(restrict: number | null, { hasSyslog, isNamespaceRoot }: Standing): string {
  if (hasSyslog) return restrict === 2 ? 'sysctl kernel.kptr_restrict=1' : '';
  const forAll = 'sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1';
  if (restrict === 2) return `As root: ${forAll}`;
  return `Run it as root${isNamespaceRoot ? OUTSIDE : ''} or with CAP_SYSLOG, or: ${forAll}`;
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

function canMountTracefs(sys: Sys): boolean {
  try {
    return sys.readTracefs('events/header_page') !== '';
  } catch {
    return false;
  }
}

const TRACEFS = ['/sys/kernel/tracing', '/sys/kernel/debug/tracing'];

export function checkTracepoints(
  sys: Sys,
  files: KernelFiles,
  { readsAll, isNamespaceRoot }: Standing,
): Check {
  const name = 'tracepoints';
  const obstacles = TRACEFS.map((place) => files.obstacle(`${place}/events/header_page`));
  const found = obstacles.indexOf(null);
  if (found >= 0) return { name, state: 'ok', why: `described in ${TRACEFS[found]}`, fix: '' };
  if (canMountTracefs(sys)) {
    const why = 'tracefs is not mounted where it belongs; Counterpoint reads it through a mount of its own';
    return { name, state: 'ok', why, fix: '' };
  }
  const mounts = files.read('/proc/mounts') ?? '';
  const mounted = TRACEFS.findIndex((place) => mounts.includes(` ${place} tracefs `));
  if (mounted < 0) {
    const fix = `As root: mount -t tracefs tracefs ${TRACEFS[0]}`;
    return { name, state: 'absent', why: 'tracefs is not mounted', fix };
  }
  if (obstacles[mounted] === 'ENOENT') {
    const why = `tracefs is mounted at ${TRACEFS[mounted]}, but something else is mounted over it`;
    return {
      name,
      state: 'absent',
      why,
      fix: 'Unmount what hides it: /proc/mounts lists all mounts, later ones on top.',
    };
  }
  if (readsAll) {
    const why = `tracefs is mounted, but not even root may read it (${obstacles[mounted]})`;
    return {
      name,
      state: 'forbidden',
      why,
      fix: 'A security module or the lockdown of the kernel forbids it.',
    };
  }
  const why = 'tracefs is mounted, but only root may read it';
  const fix = isNamespaceRoot ? `Run it as root${OUTSIDE}.` : tracefsRemedy(TRACEFS[mounted]!);
  return { name, state: 'forbidden', why, fix };
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
    const why = `Node programs can write ${directory}/perf-PID.map; record makes them do it (--no-node-names prevents it)`;
    return { name, state: 'ok', why, fix: '' };
  } catch {
    const why = `V8 writes perf-PID.map to ${directory}, which is not writable (temporary directory here: ${tmpdir()})`;
    return {
      name,
      state: 'forbidden',
      why,
      fix: `Make ${directory} writable, or use node --perf-basic-prof-path=DIRECTORY.`,
    };
  }
}
