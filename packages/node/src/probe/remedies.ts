/** Added to "as root" where this is a root that does not count. */
export const OUTSIDE = ' outside of the user namespace (the container)';

/** The files that the commands for a login change; tests give others. */
export interface LoginPlaces {
  readonly user: string;
  /** The program that is to have the right: Node itself. */
  readonly program: string;
}

const LOGIN_CAPABILITIES = 'cap_perfmon,cap_syslog';

/**
 * The right for one user, from their next login on, as commands for root. pam_cap gives the session the capabilities as
 * inheritable ones only (the program that logs in drops ambient ones when it changes its user), and they come into
 * force in a program whose file has them as inheritable, too: execve(2) permits what is in both. Other users gain
 * nothing by that file. The first line of capability.conf that fits counts, and Debian's ends with `none *`.
 *
 * CAP_SYSLOG is for the kernel's names in /proc/kallsyms.
 */
export function loginCommands({ user, program }: LoginPlaces): string[] {
  return [
    'apt-get install libpam-cap libcap2-bin',
    `sed -i '1i ${LOGIN_CAPABILITIES} ${user}' /etc/security/capability.conf`,
    fileCommand(program),
  ];
}

/** The half of it that a user needs whom PAM has given the capabilities already. */
export function fileCommand(program: string): string {
  return `setcap ${LOGIN_CAPABILITIES}=ei ${program}`;
}

/** For a program of an image, where nobody logs in: every user of that file has them. */
export function imageCommand(program: string): string {
  return `setcap ${LOGIN_CAPABILITIES}=ep ${program}`;
}

/** Measured on Linux 6.18: with mode=755 alone the id files stay 0440 root; a group reaches them. */
export function tracefsRemedy(mount: string): string {
  return `Run it as root, or let your group read it until the next boot:\nsudo mount -o remount,mode=750,gid=$(id -g) ${mount}`;
}

/** How a container gets capabilities that it was started without: `PERFMON`, `BPF,PERFMON`. */
export function capabilityFlag(kind: string, capabilities: string): string {
  const each = capabilities.split(',');
  if (kind === 'kubernetes') return `securityContext: capabilities: add: [${each.join(', ')}]`;
  const command = kind === 'podman' ? 'podman' : 'docker';
  return `${command} run ${each.map((one) => `--cap-add ${one}`).join(' ')}`;
}

/**
 * perf_event_open behind the seccomp profile that a container gets by default: with CAP_PERFMON alone since Docker 23.0
 * (moby#43987); Podman's wanted CAP_SYS_ADMIN beside it until the end of 2025 (container-libs#424).
 */
export function seccompRemedy(kind: string | null): string {
  switch (kind) {
    case 'kubernetes':
      return `${capabilityFlag(kind, 'PERFMON')}, or seccompProfile: one that allows perf_event_open (type: Unconfined does).`;
    case 'podman':
      return `${capabilityFlag(kind, 'PERFMON')} (before containers-common of 2025-11: with --cap-add SYS_ADMIN, too), or --security-opt seccomp=PROFILE that allows perf_event_open (unconfined does).`;
    default:
      return `${capabilityFlag('docker', 'PERFMON')} (since Docker 23.0), or --security-opt seccomp=PROFILE that allows perf_event_open (unconfined does).`;
  }
}
