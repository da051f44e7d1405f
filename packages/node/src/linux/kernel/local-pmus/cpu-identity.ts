import { closeSync, constants, openSync, readdirSync, readSync } from 'node:fs';
import { arch } from 'node:os';
import { join } from 'node:path';
import {
  type CpuIdentity,
  type CpuidRegisters,
  cpuidKey,
  type KernelCounterReport,
  parseCpuInfo,
  parseKernelLog,
} from '@counterpoint/core/pmus';
import { checkOptions, type OptionsOf, TEXT } from '../../../host/options/index.ts';
import { readKernelFile } from '../probe/index.ts';
import { SysfsPmu } from './sysfs-pmu.ts';

const ARCHITECTURES: Readonly<Record<string, CpuIdentity['architecture']>> = {
  x64: 'x86',
  ia32: 'x86',
  arm64: 'arm64',
  arm: 'arm',
  riscv64: 'riscv',
  ppc64: 'powerpc',
  ppc: 'powerpc',
  mips: 'mips',
  mipsel: 'mips',
};

/** Names of core PMUs in sysfs, and on Arm, `armv8_…` or `apple_…_pmu`; uncore PMUs have others. */
const CORE_PMU = /^(?:cpu|cpu_core|cpu_atom|cpu_lowpower|armv[78]_\w+|apple_\w+_pmu)$/;

/** Leaves that say something of the PMU: [leaf, subleaf]. */
const LEAVES: readonly (readonly [number, number])[] = [
  [0x0, 0],
  [0xa, 0],
  [0x23, 0],
  [0x23, 1],
  [0x23, 3],
  [0x8000_0000, 0],
  [0x8000_0022, 0],
];

/** The longest kernel log is 16 MiB; its PMU lines are of the first second, near the start. */
const MOST_LOG_RECORDS = 50_000;

/** Where the identity of a CPU is read. */
export interface CpuIdentityPlaces {
  /** `/sys`, `/proc` and `/dev` of the machine; others in tests. */
  readonly sys: string;
  /** `/proc` of the machine. */
  readonly proc: string;
  /** `/dev` of the machine. */
  readonly dev: string;
  /** Its architecture, as `process.arch` names it. */
  readonly architecture: string;
}

const PLACES: OptionsOf<CpuIdentityPlaces> = { sys: TEXT, proc: TEXT, dev: TEXT, architecture: TEXT };

/**
 * What is known of this machine's cores: one identity per core PMU (a hybrid machine has several), or a
 * single one with `pmuType: null` where the kernel has none. Never fails: what cannot be read is absent.
 *
 * CPUID needs the `cpuid` module and root; the kernel log, CAP_SYSLOG where dmesg is restricted.
 */
export function readCpuIdentities(places: Partial<CpuIdentityPlaces> = {}): CpuIdentity[] {
  checkOptions('readCpuIdentities()', places, PLACES);
  const { sys, proc, dev, architecture } = {
    sys: '/sys',
    proc: '/proc',
    dev: '/dev',
    architecture: arch(),
    ...places,
  };
  const devices = join(sys, 'bus/event_source/devices');
  const cpuinfo = readKernelFile(join(proc, 'cpuinfo')) ?? '';
  const log = readKernelLog(join(dev, 'kmsg'));
  const watchdog = readKernelFile(join(proc, 'sys/kernel/nmi_watchdog'));
  const names = listNames(devices).filter((name) => CORE_PMU.test(name));
  const isArm = architecture.startsWith('arm');
  return (names.length > 0 ? names : [isArm ? 'armv8_pmuv3' : 'cpu']).map((name) => {
    const pmu = SysfsPmu.read(devices, name);
    const cpu = firstCpu(pmu?.cpus);
    return {
      architecture: ARCHITECTURES[architecture] ?? 'other',
      ...parseCpuInfo(cpuinfo, cpu),
      ...(isArm ? { midr: readMidr(sys, cpu) ?? parseCpuInfo(cpuinfo, cpu).midr } : {}),
      cpuid: readCpuid(join(dev, 'cpu', String(cpu), 'cpuid')),
      pmu: name,
      pmuType: pmu?.type ?? null,
      pmuEvents: pmu === null ? null : new Set(pmu.events.keys()),
      capabilities: readCapabilities(join(devices, name, 'caps')),
      kernelLog: log,
      nmiWatchdog: watchdog === null ? null : watchdog !== '0',
    };
  });
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    // No such folder: a kernel without perf events, a PMU without capabilities.
    return [];
  }
}

/** The first of `4-7,12`. */
function firstCpu(cpus: string | undefined): number {
  return Number(/^\d+/.exec(cpus ?? '')?.[0] ?? 0);
}

function readMidr(sys: string, cpu: number): number | null {
  const text = readKernelFile(join(sys, `devices/system/cpu/cpu${cpu}/regs/identification/midr_el1`));
  return text !== null && /^0x[\da-f]{1,16}$/i.test(text) ? Number(BigInt(text) & 0xffff_ffffn) : null;
}

function readCapabilities(folder: string): ReadonlyMap<string, string> {
  return new Map(listNames(folder).map((name) => [name, readKernelFile(join(folder, name)) ?? '']));
}

/**
 * /dev/cpu/N/cpuid (cpuid(4)): the leaf is the low half of the file's position, the subleaf the high half; 16
 * bytes EAX, EBX, ECX, EDX. A leaf above the highest one would give rubbish, so those are left out.
 */
function readCpuid(path: string): ReadonlyMap<string, CpuidRegisters> {
  const found = new Map<string, CpuidRegisters>();
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    // The module is not loaded, or not for us: the description says what it assumed instead.
    return found;
  }
  try {
    for (const [leaf, subleaf] of LEAVES) {
      const highest = found.get(cpuidKey(leaf >= 0x8000_0000 ? 0x8000_0000 : 0))?.eax;
      if (highest !== undefined && leaf > highest) continue;
      const bytes = Buffer.alloc(16);
      const position = (BigInt(subleaf) << 32n) | BigInt(leaf);
      if (readSync(file, bytes, 0, 16, position) !== 16) continue;
      found.set(cpuidKey(leaf, subleaf), {
        eax: bytes.readUInt32LE(0),
        ebx: bytes.readUInt32LE(4),
        ecx: bytes.readUInt32LE(8),
        edx: bytes.readUInt32LE(12),
      });
    }
  } catch {
    // Some CPUs went offline under us: what has been read stays.
  } finally {
    closeSync(file);
  }
  return found;
}

/** The log by its records, without waiting for more of them. */
function readKernelLog(path: string): KernelCounterReport | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  const record = Buffer.alloc(8192);
  const lines: string[] = [];
  try {
    for (let count = 0; count < MOST_LOG_RECORDS; count++) {
      const size = readSync(file, record, 0, record.length, null);
      if (size === 0) break;
      const line = record.toString('utf8', 0, size);
      if (/PMU|perfevents|counters|registers|events:|bitmap|width/i.test(line)) lines.push(line);
    }
  } catch {
    // EAGAIN: that was the last one. EPIPE: records were overwritten meanwhile; what was read is kept.
  } finally {
    closeSync(file);
  }
  return parseKernelLog(lines.join('\n'));
}
