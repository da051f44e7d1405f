import { closeSync, constants, openSync, statSync } from 'node:fs';
import { CounterpointError } from '@counterpoint/core/base';
import { Fd } from '../sys/index.ts';
import { cgroupMounts } from './cgroup-mounts.ts';

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
