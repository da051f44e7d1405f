import { closeSync, constants, openSync, readFileSync, statSync } from 'node:fs';
import { CounterpointError } from '@counterpoint/core/base';
import { Fd } from '../sys/index.ts';

/**
 * Where control groups are mounted that perf events know, best first. perf_event lives in one hierarchy: its
 * own of version 1 where that is mounted (hybrid layouts), else in cgroup2.
 *
 *   /proc/self/mountinfo:  36 35 0:31 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw
 */
export function cgroupMounts(mountInfo = readMountInfo()): string[] {
  const own: string[] = [];
  const unified: string[] = [];
  for (const line of mountInfo.split('\n')) {
    const [place = '', filesystem = ''] = line.split(' - ');
    const [type, , options = ''] = filesystem.split(' ');
    const mount = place
      .split(' ')[4]
      ?.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
    if (mount === undefined) continue;
    if (type === 'cgroup' && options.split(',').includes('perf_event')) own.push(mount);
    if (type === 'cgroup2') unified.push(mount);
  }
  return [...own, ...unified];
}

function readMountInfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

/** Open a control group's directory, by its path under a mount or the whole path. */
export function openCgroup(path: string): Fd {
  const mounts = cgroupMounts();
  if (mounts.length === 0) {
    throw new CounterpointError(
      'ERR_NO_CGROUP',
      'no control groups are mounted here',
      'Mount them: mount -t cgroup2 none /sys/fs/cgroup',
    );
  }
  const isWhole = mounts.some((mount) => path === mount || path.startsWith(`${mount}/`));
  const candidates = isWhole ? [path] : mounts.map((mount) => `${mount}/${path.replace(/^\/+/, '')}`);
  const found = candidates.find(isDirectory);
  if (found === undefined) {
    throw new CounterpointError(
      'ERR_NO_CGROUP',
      `there is no control group ${path}`,
      `Counterpoint looked in ${isWhole ? 'its place' : mounts.join(' and ')}; systemd-cgls lists the control groups of services.`,
    );
  }
  return new Fd(openSync(found, constants.O_RDONLY | constants.O_DIRECTORY), closeSync);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
