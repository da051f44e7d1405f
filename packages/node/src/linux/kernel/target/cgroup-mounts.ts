import { readProc } from './proc.ts';

/**
 * Where control groups are mounted that perf events know, best first. perf_event lives in one hierarchy: its
 * own of version 1 where that is mounted (hybrid layouts), else in cgroup2.
 *
 *   /proc/self/mountinfo:  36 35 0:31 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw
 */
export function cgroupMounts(mountInfo = readProc('self/mountinfo') ?? ''): string[] {
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
