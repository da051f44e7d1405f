import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PERF_RECORD_CGROUP, PERF_RECORD_NAMESPACES } from '@counterpoint/core/abi';
import type { CgroupRecord, NamespacesRecord } from '@counterpoint/core/records';
import { cgroupMounts } from './cgroup-mounts.ts';

/** In the kernel's order (`NET_NS_INDEX`, ...): linux/perf_event.h. */
const NAMESPACES = ['net', 'uts', 'ipc', 'pid', 'user', 'mnt', 'cgroup'] as const;
/** A machine with more groups than this tells of the first. */
const MOST_CGROUPS = 100_000;
const base = { misc: 0, tail: new Uint8Array(0), sampleId: {} } as const;

/** Which namespaces a thread is in; null where it is gone, or its links may not be read. */
export function namespacesRecord(pid: number, tid: number): NamespacesRecord | null {
  try {
    const links = NAMESPACES.map((name) => {
      const { dev, ino } = statSync(`/proc/${pid}/task/${tid}/ns/${name}`, { bigint: true });
      return { device: dev, inode: ino };
    });
    return { ...base, type: PERF_RECORD_NAMESPACES, pid, tid, links };
  } catch {
    return null;
  }
}

/** The groups of the hierarchy that perf events are counted by, each with its number in samples. */
export function* cgroupRecords(): Generator<CgroupRecord> {
  const root = cgroupMounts()[0];
  if (root === undefined) return;
  const waiting = ['/'];
  for (let count = 0; waiting.length > 0 && count < MOST_CGROUPS; count++) {
    const path = waiting.pop()!;
    try {
      const { ino } = statSync(join(root, path), { bigint: true });
      const entries = readdirSync(join(root, path), { withFileTypes: true });
      for (const entry of entries) if (entry.isDirectory()) waiting.push(join(path, entry.name));
      yield { ...base, type: PERF_RECORD_CGROUP, id: ino, path };
    } catch {
      // It has ended meanwhile.
    }
  }
}
