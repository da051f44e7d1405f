/** Added to "as root" where this is a root that does not count. */
export const OUTSIDE = ' outside of the user namespace (the container)';

/** The user of the commands for a login; tests give others. */
export interface LoginPlaces {
  readonly user: string;
  /** Node itself, whose file is to have no capabilities. */
  readonly program: string;
}

const LOGIN_CAPABILITIES = 'cap_perfmon,cap_syslog';
/** Where `bin/counterpoint` looks for it: a copy of setpriv(1). */
export const RIGHTS_HELPER = '/usr/local/lib/counterpoint/setpriv';

/**
 * The right for one user, from their next login on, as commands for root. pam_cap gives the session the
 * capabilities as inheritable ones only (the program that logs in drops ambient ones when it changes its
 * user), and they come into force in a program whose file has them as inheritable, too: execve(2) permits
 * what is in both. Other users gain nothing by that file. The first line of capability.conf that fits counts,
 * and Debian's ends with `none *`.
 *
 *   login (inheritable) ──> bin/counterpoint ──> helper (permitted, ambient) ──> Node: has them ──> command: as the login
 *
 * That file is not Node's: the kernel takes all events off a process that gains rights by an exec, so
 * no Node could be recorded any more, and Node heeds no NODE_OPTIONS then. CAP_SYSLOG is for the
 * kernel's names in /proc/kallsyms.
 */
export function loginCommands({ user }: Pick<LoginPlaces, 'user'>): string[] {
  return [
    'apt-get install libpam-cap libcap2-bin',
    `sed -i '1i ${LOGIN_CAPABILITIES} ${user}' /etc/security/capability.conf`,
    ...helperCommands(),
  ];
}

/** The half of it that a user needs who has the capabilities from PAM already. */
export function helperCommands(): string[] {
  return [`install -D /usr/bin/setpriv ${RIGHTS_HELPER}`, `setcap ${LOGIN_CAPABILITIES}=ei ${RIGHTS_HELPER}`];
}

/**
 * For an image, where nobody logs in: every user of that file has them. Permitted and not effective: of a
 * file with the latter, execve(2) fails (EPERM) where the container has only one of the two.
 */
export function imageCommand(): string {
  const [install] = helperCommands();
  return `${install} && setcap ${LOGIN_CAPABILITIES}=p ${RIGHTS_HELPER}`;
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
 * perf_event_open behind the seccomp profile that a container gets by default: with CAP_PERFMON
 * alone since Docker 23.0 (moby#43987); Podman's wanted CAP_SYS_ADMIN beside it until the end
 * of 2025 (container-libs#424).
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
