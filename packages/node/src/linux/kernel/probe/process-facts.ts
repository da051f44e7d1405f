import {
  CAP_BPF,
  CAP_IPC_LOCK,
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  CAP_SYS_PTRACE,
  CAP_SYSLOG,
  hasCapability,
  type KernelFiles,
} from './kernel-settings.ts';

/** Capabilities that decide on something here. */
export const CAPABILITY_NAMES: readonly (readonly [number, string])[] = [
  [CAP_PERFMON, 'CAP_PERFMON'],
  [CAP_BPF, 'CAP_BPF'],
  [CAP_SYS_ADMIN, 'CAP_SYS_ADMIN'],
  [CAP_SYS_PTRACE, 'CAP_SYS_PTRACE'],
  [CAP_SYSLOG, 'CAP_SYSLOG'],
  [CAP_IPC_LOCK, 'CAP_IPC_LOCK'],
];

export function capabilityNames(set: bigint): string[] {
  return CAPABILITY_NAMES.filter(([number]) => hasCapability(set, number)).map(([, name]) => name);
}

export type SeccompMode = 'none' | 'strict' | 'filter';

/** What /proc/self/status says of rights; null where it does not. */
export interface ProcessFacts {
  /** Effective. */
  readonly user: number | null;
  readonly permitted: bigint | null;
  readonly inheritable: bigint | null;
  readonly ambient: bigint | null;
  readonly bounding: bigint | null;
  readonly noNewPrivileges: boolean | null;
  readonly seccomp: SeccompMode | null;
}

/** linux/seccomp.h: SECCOMP_MODE_DISABLED, _STRICT, _FILTER. */
const SECCOMP_MODES: readonly SeccompMode[] = ['none', 'strict', 'filter'];

export function readProcessFacts(files: KernelFiles): ProcessFacts {
  const status = files.read('/proc/self/status') ?? '';
  const word = (key: string) => new RegExp(`^${key}:\\s*([\\da-f]+)$`, 'm').exec(status)?.[1];
  const set = (key: string) => {
    const text = word(key);
    return text === undefined ? null : BigInt(`0x${text}`);
  };
  const noNewPrivileges = word('NoNewPrivs');
  const user = /^Uid:\s*\d+\s+(\d+)/m.exec(status)?.[1];
  return {
    user: user === undefined ? null : Number(user),
    permitted: set('CapPrm'),
    inheritable: set('CapInh'),
    ambient: set('CapAmb'),
    bounding: set('CapBnd'),
    noNewPrivileges: noNewPrivileges === undefined ? null : noNewPrivileges !== '0',
    seccomp: SECCOMP_MODES[Number(word('Seccomp') ?? Number.NaN)] ?? null,
  };
}

/** Who runs the container that we are in, by the traces that it leaves; null: none is seen. */
export function containerKind(files: KernelFiles): string | null {
  const exists = (path: string) => !['ENOENT', 'ENOTDIR'].includes(files.obstacle(path) ?? '');
  const groups = `${files.read('/proc/1/cgroup') ?? ''}\n${files.read('/proc/self/cgroup') ?? ''}`;
  if (/kubepods/.test(groups) || exists('/run/secrets/kubernetes.io')) return 'kubernetes';
  if (exists('/run/.containerenv')) return 'podman';
  if (exists('/.dockerenv')) return 'docker';
  const named = /\b(docker|libpod|lxc|containerd|crio)\b/.exec(groups)?.[1];
  if (named !== undefined) return named === 'libpod' ? 'podman' : named;
  const manager = files.read('/run/systemd/container');
  return manager === null || manager === '' ? null : manager;
}
