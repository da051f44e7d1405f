import {
  PERF_RECORD_CPU_MAP,
  PERF_RECORD_FINISHED_INIT,
  PERF_RECORD_ID_INDEX,
  PERF_RECORD_THREAD_MAP,
} from '@counterpoint/core/abi';
import {
  BodyWriter,
  encodeRecord,
  type IdIndexEntry,
  type PerfRecord,
  SampleLayout,
} from '@counterpoint/core/records';
import type { Note, SampledEvents } from '../../kernel/perf-events/index.ts';
import { kernelSetting } from '../../kernel/probe/index.ts';
import {
  cgroupRecords,
  commRecord,
  type KernelMap,
  listProcesses,
  listThreads,
  NO_EXTRAS,
  namespacesRecord,
  processOfThread,
  readKernelMap,
  readModules,
  readTask,
  SYNTHESIS_PARTS,
  type SynthesisExtras,
  type SynthesisPart,
  synthesizeKernel,
  synthesizeProcess,
  synthesizeThreads,
} from '../../kernel/target/index.ts';
import type { JavascriptFrames } from './javascript-frames.ts';
import type { MapWatch } from './map-watch.ts';
import { type NamelessCode, processWithMadeCode } from './nameless-code.ts';
import type { Scope } from './request.ts';

/** 32 bytes each: a record holds 65,535 bytes. */
const MOST_ID_ENTRIES = 2000;
const MOST_THREAD_ENTRIES = 2600;
const CPU_MAP_CPUS = 0;

const base = { misc: 0, tail: new Uint8Array(0) } as const;

/** All that was there before the recording has been told. */
export const FINISHED_INIT: PerfRecord = { ...base, type: PERF_RECORD_FINISHED_INIT };

export interface SynthesisTarget {
  scope: Scope;
  tasks: readonly number[];
  cpus: readonly number[];
  /** The held command, whether it is the target or not. */
  command: { pid: number; name: string } | null;
}

/**
 * Everything of the data section that comes before the first ring: which event has which ids,
 * where the kernel is, who is watched, and what already runs. In perf's order. `nameless` null:
 * nobody wants names of JIT code.
 */
export function synthesizeStart(
  sampled: SampledEvents,
  target: SynthesisTarget,
  maps: Pick<MapWatch, 'add'>,
  notes: Note[],
  kernel: KernelMap | null = readKernelMap(),
  nameless: NamelessCode | null = null,
  frames: Pick<JavascriptFrames, 'announce'> | null = null,
  parts: readonly SynthesisPart[] = SYNTHESIS_PARTS,
): Uint8Array<ArrayBuffer> {
  const writer = new BodyWriter(true, 4096);
  const layout = new SampleLayout(sampled.events[0]!.attr);
  const makers = new Set<number>();
  const sink = (record: PerfRecord) => {
    maps.add(record);
    const maker = processWithMadeCode(record);
    if (maker !== null) makers.add(maker);
    encodeRecord(writer, record, layout);
  };
  synthesizeMachine(sampled, target, sink, notes, kernel);
  synthesizeWatched(target, sink, extrasOf(sampled, parts), parts);
  for (const mapping of frames?.announce() ?? []) encodeRecord(writer, mapping, layout);
  sink(FINISHED_INIT);
  nameless?.noteAll(makers, notes);
  return writer.take();
}

/** What holds for the whole recording. */
export function synthesizeMachine(
  sampled: SampledEvents,
  { tasks, cpus }: Pick<SynthesisTarget, 'tasks' | 'cpus'>,
  sink: (record: PerfRecord) => void,
  notes: Note[],
  kernel: KernelMap | null = readKernelMap(),
): void {
  idIndex(sampled, sink);
  if (kernel !== null) synthesizeKernel(kernel, readModules(), sink);
  else if (sampled.events.some(({ attr }) => attr.flags.excludeKernel === 0)) notes.push(noKernelNames());
  threadMap(tasks, sink);
  cpuMap(cpus, sink);
}

/** What runs already, and the command before it runs. */
export function synthesizeWatched(
  target: Pick<SynthesisTarget, 'scope' | 'command'>,
  sink: (record: PerfRecord) => void,
  extras: SynthesisExtras = NO_EXTRAS,
  parts: readonly SynthesisPart[] = SYNTHESIS_PARTS,
): void {
  if (extras.cgroups) for (const record of cgroupRecords()) sink(record);
  // Maps are of tasks that have names.
  if (parts.includes('tasks') || parts.includes('maps')) synthesizeScope(target, sink, extras);
  // Samples may be taken between the exec and the record of the new name.
  if (target.command === null) return;
  const { pid, name } = target.command;
  sink(commRecord(pid, pid, name));
  const namespaces = extras.namespaces ? namespacesRecord(pid, pid) : null;
  if (namespaces !== null) sink(namespaces);
}

/** Without its addresses nobody can tell afterwards which function of the kernel it was. */
function noKernelNames(): Note {
  const restrict = kernelSetting('kptr_restrict');
  const level = restrict === null ? '' : ` (kernel.kptr_restrict is ${restrict})`;
  // In a container root may lack it, too.
  const right =
    process.geteuid?.() === 0 ? 'CAP_SYSLOG (docker run --cap-add SYSLOG)' : 'root, or CAP_SYSLOG,';
  const remedy = restrict === 2 ? 'sysctl kernel.kptr_restrict=1' : right;
  const text = `the kernel hides its addresses${level}: its functions will have no names. ${remedy} changes that`;
  return { kind: 'kernel-names', text };
}

/** As the kernel tells of them while it records. */
function extrasOf({ events }: SampledEvents, parts: readonly SynthesisPart[]): SynthesisExtras {
  const has = (flag: 'mmapData' | 'namespaces' | 'cgroup') =>
    events.some(({ attr }) => attr.flags[flag] !== 0);
  return {
    maps: parts.includes('maps'),
    dataMaps: has('mmapData'),
    namespaces: has('namespaces'),
    cgroups: has('cgroup') && parts.includes('cgroups'),
  };
}

function synthesizeScope(
  { scope }: Pick<SynthesisTarget, 'scope'>,
  sink: (record: PerfRecord) => void,
  extras: SynthesisExtras,
): void {
  switch (scope.kind) {
    case 'command':
      return;
    case 'cpus':
      for (const pid of listProcesses()) synthesizeProcess(pid, sink, extras);
      return;
    case 'processes':
      for (const pid of scope.pids) synthesizeThreads(pid, listThreads(pid), sink, extras);
      return;
    case 'threads': {
      const byProcess = new Map<number, number[]>();
      for (const tid of scope.tids) {
        const pid = processOfThread(tid);
        if (pid !== null) byProcess.set(pid, [...(byProcess.get(pid) ?? []), tid]);
      }
      for (const [pid, tids] of byProcess) synthesizeThreads(pid, tids, sink, extras);
    }
  }
}

function idIndex(sampled: SampledEvents, sink: (record: PerfRecord) => void): void {
  const entries: IdIndexEntry[] = sampled.events.flatMap(({ instances }) =>
    instances.map(({ id, ring, cpu, task }) => ({
      id,
      index: BigInt(ring),
      cpu: BigInt.asUintN(64, BigInt(cpu)),
      tid: BigInt.asUintN(64, BigInt(task)),
    })),
  );
  for (let at = 0; at < entries.length; at += MOST_ID_ENTRIES)
    sink({ ...base, type: PERF_RECORD_ID_INDEX, entries: entries.slice(at, at + MOST_ID_ENTRIES) });
}

function threadMap(tasks: readonly number[], sink: (record: PerfRecord) => void): void {
  const entries = tasks.slice(0, MOST_THREAD_ENTRIES).map((task) => ({
    pid: BigInt.asUintN(64, BigInt(task)),
    comm: task < 0 ? '' : (readTask(task, task)?.name ?? ''),
  }));
  sink({ ...base, type: PERF_RECORD_THREAD_MAP, entries });
}

/** A list of CPU numbers: u16 count, u16 each; every version of perf reads it. */
function cpuMap(cpus: readonly number[], sink: (record: PerfRecord) => void): void {
  const words = Uint16Array.of(cpus.length, ...cpus);
  const data = new Uint8Array(Math.ceil((2 + words.byteLength) / 8) * 8 - 2);
  data.set(new Uint8Array(words.buffer));
  sink({ ...base, type: PERF_RECORD_CPU_MAP, mapType: CPU_MAP_CPUS, data });
}
