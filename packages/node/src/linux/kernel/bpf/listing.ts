import {
  BPF_LINK_INFO_ID,
  BPF_LINK_INFO_PROGRAM,
  BPF_LINK_INFO_SIZE,
  BPF_LINK_INFO_TYPE,
  BPF_LINK_TYPES,
  BPF_MAP_INFO_FLAGS,
  BPF_MAP_INFO_ID,
  BPF_MAP_INFO_KEY_SIZE,
  BPF_MAP_INFO_MAX_ENTRIES,
  BPF_MAP_INFO_NAME,
  BPF_MAP_INFO_SIZE,
  BPF_MAP_INFO_TYPE,
  BPF_MAP_INFO_VALUE_SIZE,
  BPF_MAP_TYPES,
  BPF_NAME_LENGTH,
  BPF_PROG_INFO_ID,
  BPF_PROG_INFO_MAP_COUNT,
  BPF_PROG_INFO_NAME,
  BPF_PROG_INFO_RECURSION_MISSES,
  BPF_PROG_INFO_RUN_COUNT,
  BPF_PROG_INFO_RUN_TIME_NS,
  BPF_PROG_INFO_SIZE,
  BPF_PROG_INFO_TYPE,
  BPF_PROG_INFO_USER,
  BPF_PROGRAM_TYPES,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { type BpfObjectKind, type Fd, type Sys, SysError } from '../sys/index.ts';
import { explainRefusal } from './rights.ts';

/** A program that is loaded on this machine, by whomever. */
export interface ProgramInfo {
  /** Number of the program in the kernel. */
  readonly id: number;
  /** At most 15 characters. */
  readonly name: string;
  /** `perf-event`, or `type 26` for those that have no name here. */
  readonly type: string;
  /** The user who loaded it. */
  readonly userId: number;
  /** How many maps it uses. */
  readonly mapCount: number;
  /** How long it ran, in nanoseconds; 0 while the kernel keeps no statistics (kernel.bpf_stats_enabled). */
  readonly runTimeNs: number;
  /** How often it ran; 0 while the kernel keeps no statistics (kernel.bpf_stats_enabled). */
  readonly runCount: number;
  /**
   * Runs that fell out because BPF was already running on that CPU. The kernel does not
   * count those of perf events.
   */
  readonly recursionMisses: number;
}

/** A map of the kernel, whoever made it. */
export interface MapInfo {
  /** Number of the map in the kernel. */
  readonly id: number;
  /** Its name, at most 15 characters. */
  readonly name: string;
  /** Its type, such as `hash`. */
  readonly type: string;
  /** Size of a key. */
  readonly keySizeBytes: number;
  /** Size of a value. */
  readonly valueSizeBytes: number;
  /** Most entries. */
  readonly maxEntries: number;
  /** Flags with which it was made (BPF_F_ of linux/bpf.h). */
  readonly flags: number;
}

/** What holds a program to its place. */
export interface LinkInfo {
  /** Number of the link in the kernel. */
  readonly id: number;
  /** `perf-event`, `raw-tracepoint`. */
  readonly type: string;
  /** Number of the program that it attaches. */
  readonly programId: number;
}

const nameByNumber = (table: Readonly<Record<string, number>>): ReadonlyMap<number, string> =>
  new Map(Object.entries(table).map(([name, number]) => [number, name]));
const PROGRAM_TYPE_NAMES = nameByNumber(BPF_PROGRAM_TYPES);
const MAP_TYPE_NAMES = nameByNumber(BPF_MAP_TYPES);

export function programInfo(sys: Sys, fd: Fd): ProgramInfo {
  const view = readInfo(sys, fd, BPF_PROG_INFO_SIZE);
  const type = view.getUint32(BPF_PROG_INFO_TYPE, true);
  return {
    id: view.getUint32(BPF_PROG_INFO_ID, true),
    name: nameAt(view, BPF_PROG_INFO_NAME),
    type: PROGRAM_TYPE_NAMES.get(type) ?? `type ${type}`,
    userId: view.getUint32(BPF_PROG_INFO_USER, true),
    mapCount: view.getUint32(BPF_PROG_INFO_MAP_COUNT, true),
    runTimeNs: Number(view.getBigUint64(BPF_PROG_INFO_RUN_TIME_NS, true)),
    runCount: Number(view.getBigUint64(BPF_PROG_INFO_RUN_COUNT, true)),
    recursionMisses: Number(view.getBigUint64(BPF_PROG_INFO_RECURSION_MISSES, true)),
  };
}

export function mapInfo(sys: Sys, fd: Fd): MapInfo {
  const view = readInfo(sys, fd, BPF_MAP_INFO_SIZE);
  const type = view.getUint32(BPF_MAP_INFO_TYPE, true);
  return {
    id: view.getUint32(BPF_MAP_INFO_ID, true),
    name: nameAt(view, BPF_MAP_INFO_NAME),
    type: MAP_TYPE_NAMES.get(type) ?? `type ${type}`,
    keySizeBytes: view.getUint32(BPF_MAP_INFO_KEY_SIZE, true),
    valueSizeBytes: view.getUint32(BPF_MAP_INFO_VALUE_SIZE, true),
    maxEntries: view.getUint32(BPF_MAP_INFO_MAX_ENTRIES, true),
    flags: view.getUint32(BPF_MAP_INFO_FLAGS, true),
  };
}

function linkInfo(sys: Sys, fd: Fd): LinkInfo {
  const view = readInfo(sys, fd, BPF_LINK_INFO_SIZE);
  const type = view.getUint32(BPF_LINK_INFO_TYPE, true);
  return {
    id: view.getUint32(BPF_LINK_INFO_ID, true),
    type: BPF_LINK_TYPES[type] ?? `type ${type}`,
    programId: view.getUint32(BPF_LINK_INFO_PROGRAM, true),
  };
}

function readInfo(sys: Sys, fd: Fd, sizeBytes: number): DataView<ArrayBuffer> {
  const info = new Uint8Array(new ArrayBuffer(sizeBytes));
  sys.bpfObjectInfo(fd, info);
  return new DataView(info.buffer);
}

function nameAt(view: DataView<ArrayBuffer>, offset: number): string {
  const bytes = new Uint8Array(view.buffer, offset, BPF_NAME_LENGTH);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end));
}

/** Every program on this machine, by its id. Needs CAP_SYS_ADMIN. */
export function listPrograms(sys: Sys): ProgramInfo[] {
  return list(sys, 'program', programInfo);
}

export function listMaps(sys: Sys): MapInfo[] {
  return list(sys, 'map', mapInfo);
}

export function listLinks(sys: Sys): LinkInfo[] {
  return list(sys, 'link', linkInfo);
}

/** Ids are the kernel's and only grow. What goes away while it is listed is left out. */
function list<T>(sys: Sys, kind: BpfObjectKind, describe: (sys: Sys, fd: Fd) => T): T[] {
  const found: T[] = [];
  try {
    for (let id = sys.bpfNextId(kind, 0); id !== null; id = sys.bpfNextId(kind, id)) {
      using fd = sys.bpfOpenById(kind, id);
      if (fd !== null) found.push(describe(sys, fd));
    }
  } catch (error) {
    if (!(error instanceof SysError)) throw error;
    if (error.code !== 'EPERM') throw explainRefusal(sys, `the list of BPF ${kind}s`, error);
    throw new CounterpointError(
      'ERR_BPF_RIGHTS',
      `the list of BPF ${kind}s is refused: CAP_SYS_ADMIN missing (EPERM)`,
      'Run it as root; loading your own programs needs fewer rights.',
    );
  }
  return found;
}

/** BPF_TRACE_MAX_PROGS of the kernel. */
const MOST_ON_A_TRACEPOINT = 64;

/**
 * Programs on the tracepoint that an event is for, by whomever. One of them that returns 0 takes the
 * tracepoint's hits away from every perf event on it, so a recording that finds a stranger here says so.
 */
export function programsOnTracepoint(sys: Sys, event: Fd): { id: number; name: string | null }[] {
  return sys.queryBpf(event, MOST_ON_A_TRACEPOINT).map((id) => ({ id, name: programName(sys, id) }));
}

/** Null where it is gone, or where only the administrator may look. */
function programName(sys: Sys, id: number): string | null {
  try {
    using fd = sys.bpfOpenById('program', id);
    return fd === null ? null : programInfo(sys, fd).name;
  } catch (error) {
    if (error instanceof SysError && error.code === 'EPERM') return null;
    throw error;
  }
}

/**
 * Types of programs that watch: those of perf events, probes and tracepoints, and 26,
 * which hangs on functions by BTF.
 */
const WATCHING_TYPES: ReadonlySet<string> = new Set([
  'perf-event',
  'tracepoint',
  'raw-tracepoint',
  'kprobe',
  'type 26',
]);

/** Programs of others that watch this machine, too: each adds its time to every event that it is on. */
export function otherWatchers(sys: Sys, ownIds: ReadonlySet<number>): ProgramInfo[] {
  return listPrograms(sys).filter(({ id, type }) => WATCHING_TYPES.has(type) && !ownIds.has(id));
}
