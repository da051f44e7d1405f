/** What is public of this room where it asks the kernel: always the kernel that runs. */
import { type Fd, type Mapping, realSys, type Watch } from '../sys/index.ts';
import {
  attachToEvent as attachEvent,
  attachToRawTracepoint as attachTracepoint,
  type BpfAttachment,
} from './attach.ts';
import {
  type LinkInfo,
  listLinks as linksOf,
  type MapInfo,
  listMaps as mapsOf,
  type ProgramInfo,
  listPrograms as programsOf,
} from './listing.ts';
import {
  type LoadedProgram,
  type LoadedSet,
  type LoadOptions,
  loadPrograms as load,
  verifierLog as logOf,
} from './loader.ts';
import type { BpfMap } from './maps.ts';
import { possibleCpus as listPossibleCpus } from './possible-cpus.ts';
import type { BpfProgram } from './program.ts';
import { type BpfFeatures, probeFeatures as featuresOf, missingCapabilities as missingOf } from './rights.ts';
import { BpfRingBuffer } from './ring-buffer.ts';

export type { Fd, Mapping, Watch };

/**
 * Make the maps and load the programs. All or nothing: what is refused leaves nothing behind. Throws
 * VerifierError, with the line of the program that the kernel's verifier refuses, or an error that names
 * the right that is missing.
 */
export function loadPrograms(programs: readonly BpfProgram[], options: LoadOptions = {}): LoadedSet {
  return load(realSys, programs, options);
}

/** The verifier's own listing of a program, with all that it knew. The program is not kept. */
export function verifierLog(program: BpfProgram, level: 1 | 2 = 2): { log: string; isAccepted: boolean } {
  return logOf(realSys, program, level);
}

/**
 * Run a program at each overflow of a perf event, or at each hit of the tracepoint that the event is for.
 * What it returns decides about the kernel's own record: 0 drops it, another value keeps it. `cookie` is
 * what the helper get_attach_cookie tells the program.
 */
export function attachToEvent(
  program: LoadedProgram,
  event: Fd,
  cookie: bigint | null = null,
): BpfAttachment {
  return attachEvent(realSys, program, event, cookie);
}

/** Run a program at each hit of a tracepoint, with its raw arguments: `sched_switch`. */
export function attachToRawTracepoint(program: LoadedProgram, tracepoint: string): BpfAttachment {
  return attachTracepoint(realSys, program, tracepoint);
}

/** A map of the type `ring-buffer`, for reading. Close it before its set. */
export function openRingBuffer(map: BpfMap): BpfRingBuffer {
  return new BpfRingBuffer(realSys, map);
}

/** Every program on this machine, by its id. Needs CAP_SYS_ADMIN. */
export function listPrograms(): ProgramInfo[] {
  return programsOf(realSys);
}

/** Every map on this machine, by its id. Needs CAP_SYS_ADMIN. */
export function listMaps(): MapInfo[] {
  return mapsOf(realSys);
}

/** Every link on this machine, by its id. Needs CAP_SYS_ADMIN. */
export function listLinks(): LinkInfo[] {
  return linksOf(realSys);
}

/** Capabilities that a program for events needs, and that this process lacks. */
export function missingCapabilities(): string[] {
  return missingOf(realSys);
}

/** What this kernel takes; null where that is not for this process to know. */
export function probeFeatures(): BpfFeatures | null {
  return featuresOf(realSys);
}

/** CPUs that a per-CPU map has values for. Throws where the kernel does not say it. */
export function possibleCpus(): number[] {
  return listPossibleCpus();
}
