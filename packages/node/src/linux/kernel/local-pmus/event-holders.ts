import type { KernelFiles } from '../probe/index.ts';

const MOST_NAMED = 5;

/** Other processes that have events open, `perf (708)`. Of other users' only root sees it. */
export function eventHolders(files: KernelFiles, ownPid = process.pid): string[] {
  const found: string[] = [];
  for (const pid of files.list('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === ownPid) continue;
    const folder = `/proc/${pid}/fd`;
    const hasEvent = files
      .list(folder)
      .some((fd) => files.link(`${folder}/${fd}`) === 'anon_inode:[perf_event]');
    if (!hasEvent) continue;
    if (found.length === MOST_NAMED) return [...found, 'and others'];
    found.push(`${files.read(`/proc/${pid}/comm`) ?? 'ended'} (${pid})`);
  }
  return found;
}
