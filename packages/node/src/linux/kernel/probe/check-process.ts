import type { Check } from './check.ts';
import {
  CAP_PERFMON,
  CAP_SYS_ADMIN,
  canMonitorAll,
  hasCapability,
  type KernelFiles,
} from './kernel-settings.ts';
import { capabilityNames, containerKind, type ProcessFacts, readProcessFacts } from './process-facts.ts';
import {
  capabilityFlag,
  helperCommands,
  imageCommand,
  type LoginPlaces,
  loginCommands,
  OUTSIDE,
  RIGHTS_HELPER,
  seccompRemedy,
} from './remedies.ts';
import type { Standing } from './rights.ts';

/** Capabilities that count here, and how an ordinary user gets CAP_PERFMON. */
export function checkCapabilities(
  effective: bigint,
  files: KernelFiles,
  standing: Standing,
  login: LoginPlaces,
): Check {
  const name = 'capabilities';
  const process = readProcessFacts(files);
  const names = capabilityNames(effective);
  const facts = {
    effective: names,
    permitted: process.permitted === null ? null : capabilityNames(process.permitted),
    inheritable: process.inheritable === null ? null : capabilityNames(process.inheritable),
    noNewPrivileges: process.noNewPrivileges,
    userNamespace: standing.isInNamespace,
  };
  const own = names.length === 0 ? 'none of the relevant ones' : names.join(', ');
  const place = standing.isInNamespace
    ? ', but in a user namespace, which the kernel ignores for events'
    : '';
  const locked = process.noNewPrivileges === true ? '; no_new_privs: no program can gain more' : '';
  const why = `${own}${place}${locked}`;
  if (standing.isPrivileged) {
    if (!isByFile(process)) return { name, state: 'ok', why, fix: '', facts, isDetail: true };
    const because = `${why}; from file capabilities of Node: the kernel takes the events off every Node that is recorded, and Node then ignores NODE_OPTIONS`;
    const fix = asRoot([`setcap -r ${login.program}`, ...helperCommands()]);
    return { name, state: 'ok', why: because, fix, facts };
  }
  const lacking = { name, state: 'forbidden', why, facts } as const;
  const { inheritable, permitted, bounding } = process;
  const { container } = standing;
  if (standing.isInNamespace) return { ...lacking, fix: `CAP_PERFMON is needed${OUTSIDE}.` };
  if (permitted !== null && canMonitorAll(permitted))
    return { ...lacking, fix: 'CAP_PERFMON is permitted, but not effective: use capset(2).' };
  if (bounding !== null && !hasCapability(bounding, CAP_PERFMON) && !hasCapability(bounding, CAP_SYS_ADMIN)) {
    const fix =
      container === null
        ? 'No program started from here can have CAP_PERFMON (it is not in the bounding set): add it to CapabilityBoundingSet= of a service.'
        : containerFix(container, process, files);
    return { ...lacking, fix };
  }
  if (process.noNewPrivileges === true) {
    const fix =
      'Start it without no_new_privs (NoNewPrivileges= of a service, --security-opt no-new-privileges of a container, allowPrivilegeEscalation: false of a pod).';
    return { ...lacking, fix };
  }
  if (inheritable !== null && hasCapability(inheritable, CAP_PERFMON)) {
    const because = `${why}; PAM has given CAP_PERFMON as inheritable, but nothing makes it effective`;
    const other =
      'bin/counterpoint uses it. For other programs: HELPER --ambient-caps +perfmon,+syslog node …';
    return {
      ...lacking,
      why: because,
      fix: `${asRoot(helperCommands())}\n${other.replace('HELPER', RIGHTS_HELPER)}`,
    };
  }
  const commands = loginCommands(login).map((line) => `  ${line}`);
  const fix = [
    `CAP_PERFMON for ${login.user} from the next login on (ssh, login, su by others than root), as root:`,
    ...commands,
    'Other users of that file gain no rights. For a single run, use sudo.',
    ...(container === null ? [] : [`In an image without logins, for all users: ${imageCommand()}`]),
  ].join('\n');
  return { ...lacking, fix };
}

/** A container's capabilities are root's; what other users start has them by a file of the image. */
function containerFix(container: string, { user }: ProcessFacts, files: KernelFiles): string {
  const flag = `${capabilityFlag(container, 'PERFMON,SYSLOG')} (SYSLOG: for the names of the kernel's functions)`;
  if (user === 0 || files.obstacle(RIGHTS_HELPER) === null) return flag;
  return `${flag}\nand in the image, for users other than root: ${imageCommand()}`;
}

/** The capabilities are neither root's nor handed on by what started this process: its file has them. */
function isByFile({ user, ambient }: ProcessFacts): boolean {
  return user !== null && user !== 0 && ambient !== null && !canMonitorAll(ambient);
}

function asRoot(commands: readonly string[]): string {
  return ['As root:', ...commands.map((line) => `  ${line}`)].join('\n');
}

/**
 * Filters on system calls, which containers and services have. `trial` is what the
 * filter did to perf_event_open.
 */
export function checkSeccomp(files: KernelFiles, trial: 'passed' | 'refused' | 'unclear'): Check {
  const name = 'system calls';
  const { seccomp } = readProcessFacts(files);
  const facts = { seccomp };
  const fine = { name, state: 'ok', fix: '', facts, isDetail: true } as const;
  if (seccomp === null) {
    const why = '/proc/self/status does not say whether seccomp filters system calls';
    return { name, state: 'unknown', why, fix: '', facts };
  }
  if (seccomp === 'none') return { ...fine, why: 'no seccomp filter' };
  if (trial === 'passed')
    return { ...fine, why: 'a seccomp filter decides on them, and allows perf_event_open' };
  const fix = seccompRemedy(containerKind(files));
  if (trial === 'refused') {
    const why = 'a seccomp filter decides on them, and refuses perf_event_open';
    return { name, state: 'forbidden', why, fix, facts };
  }
  const why =
    'a seccomp filter decides on them; whether it allows perf_event_open is not known until the other findings are fixed';
  return { name, state: 'unknown', why, fix: `If it does not: ${fix}`, facts };
}

export function checkContainer({ container: kind, isInNamespace }: Standing): Check {
  const facts = { container: kind, userNamespace: isInNamespace };
  const rootless = isInNamespace ? ', in a user namespace (rootless)' : '';
  const why = kind === null ? `none is seen${rootless}` : `${kind}${rootless}`;
  return { name: 'container', state: 'ok', why, fix: '', facts, isDetail: true };
}
