import { checkArgument, type Damage, hasMembers, StringTable } from '../../base/index.ts';
import type { LossEntry } from '../../format/loss/index.ts';
import type { ProfileBranches } from './branches.ts';
import { Float64Column, Int32Column } from './column.ts';

/** No parent, no symbol, no CPU: absent indices are -1 in every table. */
export const NONE = -1;

/** What a binary is. Kernel code and user code share one table; JIT code has names but no file. */
export type BinaryKind = 'user' | 'kernel' | 'module' | 'vdso' | 'jit' | 'unknown';

/** A file or another place that code was in. */
export interface Binary {
  /**
   * Full path as the recording names it; `[kernel.kallsyms]`, `[vdso]`, `[JIT] tid 12`,
   * `[unknown]` if there is none.
   */
  path: string;
  /** What reports print: the last part of the path. */
  name: string;
  /** Lower-case hex, or empty. */
  buildId: string;
  /** What kind of place it is. */
  kind: BinaryKind;
}

// The CPU mode of a frame, as the kernel reports it
// (`PERF_RECORD_MISC_CPUMODE_MASK`, markers of call chains).

/** Not known (PERF_RECORD_MISC_CPUMODE_UNKNOWN of linux/perf_event.h). */
export const MODE_UNKNOWN = 0;
/** The kernel (PERF_RECORD_MISC_KERNEL of linux/perf_event.h). */
export const MODE_KERNEL = 1;
/** Programs and libraries (PERF_RECORD_MISC_USER of linux/perf_event.h). */
export const MODE_USER = 2;
/** A hypervisor (PERF_RECORD_MISC_HYPERVISOR of linux/perf_event.h). */
export const MODE_HYPERVISOR = 3;
/** A guest's kernel (PERF_RECORD_MISC_GUEST_KERNEL of linux/perf_event.h). */
export const MODE_GUEST_KERNEL = 4;
/** A guest's programs (PERF_RECORD_MISC_GUEST_USER of linux/perf_event.h). */
export const MODE_GUEST_USER = 5;

/** perf's letter for a mode, as in `[k]`. */
export const MODE_LETTERS = ['?', 'k', '.', 'H', 'g', 'u'] as const;

/** An event that was sampled. */
export interface ProfileEvent {
  /** Its name. */
  name: string;
  /** What a weight of this event counts: `nanoseconds` where it is time, else the event's own name. */
  unit: string;
  /** How many samples it has. */
  samples: number;
  /** Sum of periods, exact. */
  sumPeriod: bigint;
  /**
   * What the kernel says it dropped of this event, where it says so: samples, and its records
   * of mappings, forks and exits.
   */
  lost: bigint;
}

/**
 * (symbol name, binary): one row per function. Copies of a function that a JIT
 * compiler made are one function.
 */
export class SymbolTable {
  /** Index into `Profile.strings`, already demangled. */
  readonly name = new Int32Column();
  /** Row of `Profile.binaries`. */
  readonly binary = new Int32Column();
  /** How many functions there are. */
  get length(): number {
    return this.name.length;
  }
}

/** One row per distinct code address (address within its binary, not in memory). */
export class FrameTable {
  /** Row of `Profile.binaries`, or `NONE`. */
  readonly binary = new Int32Column();
  /** `NONE` where the address has no symbol. */
  readonly symbol = new Int32Column();
  /**
   * Lower 32 bits of the address in the binary's own terms: file offset in ELF
   * files, else the address itself.
   */
  readonly addressLo = new Int32Column();
  /** Upper 32 bits of the address. */
  readonly addressHi = new Int32Column();
  /** Bytes from the start of the symbol, 0 where there is no symbol. */
  readonly symbolOffset = new Int32Column();
  /** Whose code it is: one of `MODE_…`. */
  readonly mode = new Int32Column();
  /** Row of `Profile.jitCode`, or `NONE`. */
  readonly jitCode = new Int32Column();
  /** Row of `Profile.sources`; `NONE`: of the source no more is known than the function. */
  readonly source = new Int32Column();
  /** How many frames there are. */
  get length(): number {
    return this.binary.length;
  }

  /** Adds one, and says its row. What is not given is not known: `NONE`, 0, `MODE_UNKNOWN`. */
  add(frame: {
    binary?: number;
    symbol?: number;
    addressLo?: number;
    addressHi?: number;
    symbolOffset?: number;
    mode?: number;
    jitCode?: number;
    source?: number;
  }): number {
    this.symbol.push(frame.symbol ?? NONE);
    this.addressLo.push(frame.addressLo ?? 0);
    this.addressHi.push(frame.addressHi ?? 0);
    this.symbolOffset.push(frame.symbolOffset ?? 0);
    this.mode.push(frame.mode ?? MODE_UNKNOWN);
    this.jitCode.push(frame.jitCode ?? NONE);
    this.source.push(frame.source ?? NONE);
    return this.binary.push(frame.binary ?? NONE);
  }

  /** Adds the same address once more, as that of another function or place in the source. */
  addLike(row: number, other: Parameters<FrameTable['add']>[0]): number {
    return this.add({
      binary: this.binary.at(row),
      symbol: this.symbol.at(row),
      addressLo: this.addressLo.at(row),
      addressHi: this.addressHi.at(row),
      symbolOffset: this.symbolOffset.at(row),
      mode: this.mode.at(row),
      jitCode: this.jitCode.at(row),
      source: this.source.at(row),
      ...other,
    });
  }
}

/** Places in source code that frames are at. */
export class SourceTable {
  /** Index into `Profile.strings`. */
  readonly file = new Int32Column();
  /** From 1. */
  readonly line = new Int32Column();
  /** From 1; 0: unknown. */
  readonly column = new Int32Column();
  /** How many places there are. */
  get length(): number {
    return this.line.length;
  }
}

/**
 * Code that a JIT compiler made: one row per copy of a function. A function is compiled again and again, by
 * several compilers; its copies share their row of `Profile.symbols`.
 */
export class JitCodeTable {
  /**
   * The name that the runtime gave the copy, tier and all, with the place in the source where a source map
   * tells it; index into `Profile.strings`.
   */
  readonly recordedName = new Int32Column();
  /**
   * V8's mark of a compiler or another runtime's word, index into `Profile.strings`; an empty
   * text where nothing is known.
   */
  readonly tier = new Int32Column();
  /** Address of its first byte, signed. */
  readonly start = new Float64Column();
  /** How many pieces there are. */
  get length(): number {
    return this.start.length;
  }
}

/**
 * Stacks as a prefix tree: row = (caller's row, frame). Parents come before children.
 *
 *     main            row 0: prefix NONE, frame main
 *     ├─ parse        row 1: prefix 0
 *     │  └─ malloc    row 2: prefix 1     a sample's stack is its innermost row
 *     └─ sort         row 3: prefix 0
 */
export class StackTable {
  /** Row of the caller, or `NONE` for the outermost function. */
  readonly prefix = new Int32Column();
  /** Row of `Profile.frames`. */
  readonly frame = new Int32Column();
  /** How many rows there are. */
  get length(): number {
    return this.prefix.length;
  }
}

/** The threads that have samples, one a row. */
export class ThreadTable {
  /** The process. */
  readonly pid = new Int32Column();
  /** The thread. */
  readonly tid = new Int32Column();
  /** Last known command name, index into `Profile.strings`. */
  readonly comm = new Int32Column();
  /** How many threads there are. */
  get length(): number {
    return this.pid.length;
  }
}

/** The samples, one a row. */
export class SampleTable {
  /** Nanoseconds since `Profile.baseTimeNs`; NaN where the sample has no time. */
  readonly timeNs = new Float64Column();
  /** Row of `Profile.threads`. */
  readonly thread = new Int32Column();
  /** Command name at the time of the sample, index into `Profile.strings`. */
  readonly comm = new Int32Column();
  /** `NONE` where not recorded. */
  readonly cpu = new Int32Column();
  /** Row of `Profile.events`. */
  readonly event = new Int32Column();
  /** Innermost row of `Profile.stacks`, or `NONE`. */
  readonly stack = new Int32Column();
  /** How many events the row stands for: the sample's period, or the sum of them where rows were merged. */
  readonly weight = new Float64Column();
  /**
   * How many samples the row stands for: 1, or more where samples with the same stack,
   * thread and event were merged.
   */
  readonly count = new Float64Column();
  /** How many rows there are. */
  get length(): number {
    return this.stack.length;
  }

  /** Adds one, in the order of the columns: no object, since a recording has millions. */
  add(
    timeNs: number,
    thread: number,
    comm: number,
    cpu: number,
    event: number,
    stack: number,
    weight: number,
    count: number,
  ): void {
    this.timeNs.push(timeNs);
    this.thread.push(thread);
    this.comm.push(comm);
    this.cpu.push(cpu);
    this.event.push(event);
    this.stack.push(stack);
    this.weight.push(weight);
    this.count.push(count);
  }
}

/**
 * What samples say beside their place, such as the fields of a tracepoint: a text for each
 * key, made where it was asked for.
 */
export class SampleTextTable {
  /** The sort keys that the texts are for. */
  readonly keys: readonly string[];
  /** For each key, index into `Profile.strings`. Equal texts of all keys are one row. */
  readonly texts: readonly Int32Column[];
  /** By row of `Profile.samples`: row of the columns in `texts`. */
  readonly ofSample = new Int32Column();

  /** Without samples yet. */
  constructor(keys: readonly string[]) {
    this.keys = keys;
    this.texts = keys.map(() => new Int32Column());
  }
}

/**
 * Facts about the recording that front ends show. Everything optional is null where the file does not say.
 */
export interface ProfileMeta {
  /** The name of the machine (HEADER_HOSTNAME); null where the recording does not say it. */
  hostname: string | null;
  /** The kernel's release, as `uname -r` gives it. */
  osRelease: string | null;
  /** The architecture, as `uname -m` gives it. */
  arch: string | null;
  /** How many CPUs were online. */
  cpuCount: number | null;
  /** The model of the CPUs. */
  cpuDescription: string | null;
  /** The command line of the recording, as words. */
  commandLine: string[] | null;
  /** Wall clock of the first sample in milliseconds since 1970, where a reference clock was stored. */
  startTimeUnixMs: number | null;
}

/** What was sampled, as tables: columns of numbers, indices in place of objects. */
export class Profile {
  /** All texts. Other tables have their indices. */
  readonly strings = new StringTable();
  /** The files and other places that code was in. */
  readonly binaries: Binary[] = [];
  /** The events that were sampled. */
  readonly events: ProfileEvent[] = [];
  /** The functions. */
  readonly symbols = new SymbolTable();
  /** The places in code: addresses with their functions. */
  readonly frames = new FrameTable();
  /** The pieces of generated code. */
  readonly jitCode = new JitCodeTable();
  /** The places in source code. */
  readonly sources = new SourceTable();
  /** The call chains, as a tree of rows. */
  readonly stacks = new StackTable();
  /** The threads that have samples. */
  readonly threads = new ThreadTable();
  /** The samples. */
  readonly samples = new SampleTable();
  /** Null where nothing of the kind was asked for. */
  sampleTexts: SampleTextTable | null = null;
  /** The branches; null if they were not asked for. */
  branches: ProfileBranches | null = null;
  /** Clock value of `timeNs` 0, exact. */
  baseTimeNs = 0n;
  /** What the recording says of its machine. */
  meta: ProfileMeta = {
    hostname: null,
    osRelease: null,
    arch: null,
    cpuCount: null,
    cpuDescription: null,
    commandLine: null,
    startTimeUnixMs: null,
  };
  /** What the recording does not contain. */
  loss: LossEntry[] = [];
  /** What was wrong in it. */
  damage: Damage[] = [];
}

/** Throws `ERR_ARGUMENT` for anything else: most often it is the whole answer that has the profile. */
export function checkProfile(where: string, profile: unknown): void {
  const isRight = hasMembers(profile, { samples: 'object', stacks: 'object', symbols: 'object' });
  const remedy = 'Give the `profile` of the answer: const { profile } = await recording.profile().';
  checkArgument(isRight, where, 'the profile', profile, 'a Profile', remedy);
}
