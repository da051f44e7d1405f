import {
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_MISC_FORK_EXEC,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_MMAP_DATA,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
} from '@counterpoint/core/abi';
import type { CommRecord, ForkRecord, Mmap2Record, MmapRecord, PerfRecord } from '@counterpoint/core/records';
import type { KernelMap, ModuleMap } from './kernel-map.ts';
import { type MappedArea, PROT_EXEC, parseMappedAreas } from './memory-map.ts';
import { listThreads, readProc, readTask } from './proc.ts';
import { namespacesRecord } from './synthesize-groups.ts';

/**
 * Records that the kernel would have written had the recording begun earlier: made from /proc, as perf makes
 * them. Their time is 0, so they stand before everything.
 */

export type RecordSink = (record: PerfRecord) => void;

const NO_TAIL = new Uint8Array(0);
/** The kernel's maps belong to no process. */
const KERNEL_PID = -1;

export function commRecord(pid: number, tid: number, comm: string): CommRecord {
  return { type: PERF_RECORD_COMM, misc: 0, tail: NO_TAIL, pid, tid, comm, sampleId: {} };
}

function forkRecord(pid: number, parentPid: number, tid: number, parentTid: number): ForkRecord {
  const misc = PERF_RECORD_MISC_FORK_EXEC;
  const base = { type: PERF_RECORD_FORK, misc, tail: NO_TAIL, sampleId: {} } as const;
  return { ...base, pid, ppid: parentPid, tid, ptid: parentTid, time: 0n };
}

function mmap2Record(pid: number, area: MappedArea): Mmap2Record {
  return {
    type: PERF_RECORD_MMAP2,
    misc: PERF_RECORD_MISC_USER | ((area.protection & PROT_EXEC) === 0 ? PERF_RECORD_MISC_MMAP_DATA : 0),
    tail: NO_TAIL,
    sampleId: {},
    pid,
    tid: pid,
    start: area.start,
    length: area.length,
    pageOffset: area.pageOffset,
    major: area.major,
    minor: area.minor,
    inode: area.inode,
    inodeGeneration: 0n,
    protection: area.protection,
    flags: area.flags,
    path: area.path,
  };
}

function kernelMmap(start: bigint, length: bigint, pageOffset: bigint, path: string): MmapRecord {
  const base = {
    type: PERF_RECORD_MMAP,
    misc: PERF_RECORD_MISC_KERNEL,
    tail: NO_TAIL,
    sampleId: {},
  } as const;
  return { ...base, pid: KERNEL_PID, tid: 0, start, length, pageOffset, path };
}

/** The kernel's text as perf writes it: the name says which symbol stands at `pageOffset`. */
export function synthesizeKernel(map: KernelMap, modules: readonly ModuleMap[], sink: RecordSink): void {
  sink(kernelMmap(map.start, map.length, map.anchorAddress, `[kernel.kallsyms]${map.anchorName}`));
  for (const module of modules) sink(kernelMmap(module.start, module.length, 0n, module.path));
}

/** One kind of record about what runs already: names of tasks, their maps, names of control groups. */
export type SynthesisPart = 'tasks' | 'maps' | 'cgroups';
export const SYNTHESIS_PARTS: readonly SynthesisPart[] = ['tasks', 'maps', 'cgroups'];

/** What is told of what runs already, beside names of tasks. */
export interface SynthesisExtras {
  readonly maps: boolean;
  readonly dataMaps: boolean;
  readonly namespaces: boolean;
  readonly cgroups: boolean;
}

export const NO_EXTRAS: SynthesisExtras = { maps: true, dataMaps: false, namespaces: false, cgroups: false };

/**
 * All of a process: where it comes from, its threads and their names, and its executable
 * maps; and what `extras` says.
 */
export function synthesizeProcess(pid: number, sink: RecordSink, extras: SynthesisExtras = NO_EXTRAS): void {
  for (const tid of listThreads(pid)) {
    const task = readTask(pid, tid);
    if (task === null) continue;
    const isLeader = tid === pid;
    sink(isLeader ? forkRecord(pid, task.parentPid, pid, task.parentPid) : forkRecord(pid, pid, tid, pid));
    sink(commRecord(pid, tid, task.name));
    synthesizeNamespaces(pid, tid, sink, extras);
    if (isLeader) synthesizeMaps(pid, sink, extras);
  }
}

/** Some threads of a process: their names, the process's own name, and its maps. */
export function synthesizeThreads(
  pid: number,
  tids: readonly number[],
  sink: RecordSink,
  extras: SynthesisExtras = NO_EXTRAS,
): void {
  for (const tid of new Set([pid, ...tids])) {
    const task = readTask(pid, tid);
    if (task === null) continue;
    sink(commRecord(pid, tid, task.name));
    synthesizeNamespaces(pid, tid, sink, extras);
  }
  synthesizeMaps(pid, sink, extras);
}

function synthesizeNamespaces(
  pid: number,
  tid: number,
  sink: RecordSink,
  { namespaces }: SynthesisExtras,
): void {
  const record = namespaces ? namespacesRecord(pid, tid) : null;
  if (record !== null) sink(record);
}

function synthesizeMaps(pid: number, sink: RecordSink, { maps, dataMaps }: SynthesisExtras): void {
  if (!maps) return;
  for (const area of parseMappedAreas(readProc(`${pid}/maps`) ?? '', dataMaps)) sink(mmap2Record(pid, area));
}
