import {
  BPF_PROGRAM_TYPES,
  BPF_PSEUDO_MAP_FD,
  BPF_PSEUDO_MAP_VALUE,
  BPF_SLOT_SIZE,
} from '@counterpoint/core/abi';
import { CounterpointError, didYouMean, nearestNames } from '@counterpoint/core/base';
import { checkOptions, listOf, type OptionsOf, oneOf, wholeNumberFrom } from '../../../host/options/index.ts';
import { type Fd, type Sys, SysError } from '../sys/index.ts';
import { checkProgram, checkPrograms, checkText, isMapList } from './checks.ts';
import { type ProgramInfo, programInfo } from './listing.ts';
import { type BpfMap, createMap } from './maps.ts';
import { possibleCpus } from './possible-cpus.ts';
import { type BpfMapDefinition, type BpfProgram, formatSourceLine, type SourceLine } from './program.ts';
import { explainRefusal } from './rights.ts';
import { adviceFor, readVerdict, type Verdict } from './verifier-log.ts';

const FIRST_LOG_BYTES = 1 << 18;
/** The verifier's own limit is 1 GiB. A log of a million instructions has about this. */
const MOST_LOG_BYTES = 1 << 26;
/** Lines of the log that an error quotes. */
const QUOTED_LINES = 12;

/** The verifier does not accept a program: which instruction, from which line, and why. */
export class VerifierError extends CounterpointError {
  /** The name of the program. */
  readonly program: string;
  /** What the verifier says at the end of its log. */
  readonly verdict: Verdict;
  /** The TypeScript line that asked for the instruction; null where it is not known. */
  readonly line: SourceLine | null;
  /** All that the verifier wrote, at level 1. */
  readonly log: string;

  /** Reads the verdict out of the log. */
  constructor(program: BpfProgram, log: string) {
    checkProgram('VerifierError', program);
    checkText('VerifierError', 'the log', log);
    const verdict = readVerdict(log);
    const line = verdict.instruction === null ? null : (program.lines[verdict.instruction] ?? null);
    const place = line === null ? '' : `${formatSourceLine(line)}: `;
    const at = verdict.instruction === null ? '' : ` at instruction ${verdict.instruction}`;
    const what = verdict.disassembled === null ? '' : `, ${verdict.disassembled}`;
    const known = verdict.registers === null ? '' : `\n  known there: ${verdict.registers}`;
    super(
      'ERR_BPF_VERIFIER',
      `${place}the kernel's verifier refuses program "${program.name}"${at}${what}: ${verdict.reason}${known}`,
      adviceFor(verdict.reason) || `The end of its log:\n${lastLines(log)}`,
    );
    this.name = 'VerifierError';
    this.program = program.name;
    this.verdict = verdict;
    this.line = line;
    this.log = log;
  }
}

function lastLines(log: string): string {
  const lines = log.trimEnd().split('\n');
  return lines
    .slice(-QUOTED_LINES)
    .map((line) => `  ${line}`)
    .join('\n');
}

/** A program in the kernel. It is gone when this and all its attachments are closed. */
export class LoadedProgram implements Disposable {
  /** What was loaded. */
  readonly program: BpfProgram;
  /** Its descriptor. */
  readonly fd: Fd;
  readonly #sys: Sys;

  /** @internal */
  constructor(sys: Sys, program: BpfProgram, fd: Fd) {
    this.#sys = sys;
    this.program = program;
    this.fd = fd;
  }

  /** As the kernel lists it, with its runs where somebody has them counted (`Sys.bpfEnableStats`). */
  info(): ProgramInfo {
    return programInfo(this.#sys, this.fd);
  }

  /** Closes the descriptor. The kernel keeps the program while it is attached. Closing twice does nothing. */
  close(): void {
    this.fd.close();
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

/** Programs and the maps that they share. Closing it closes all of them. */
export class LoadedSet implements Disposable {
  /** The programs, by their names. */
  readonly programs: ReadonlyMap<string, LoadedProgram>;
  /** The maps, by their names. */
  readonly maps: ReadonlyMap<string, BpfMap>;
  /** CPUs that per-CPU values stand for, in their order. */
  readonly cpus: readonly number[];

  /** @internal */
  constructor(programs: Map<string, LoadedProgram>, maps: Map<string, BpfMap>, cpus: readonly number[]) {
    this.programs = programs;
    this.maps = maps;
    this.cpus = cpus;
  }

  /** A program by its name. Throws ERR_BPF_NAME if there is none. */
  program(name: string): LoadedProgram {
    return found(this.programs, 'program', name);
  }

  /** A map by its name. Throws ERR_BPF_NAME if there is none. */
  map(name: string): BpfMap {
    return found(this.maps, 'map', name);
  }

  /** Closes all programs and maps. Closing twice does nothing. */
  close(): void {
    for (const program of this.programs.values()) program.close();
    for (const map of this.maps.values()) map.close();
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }
}

function found<T>(all: ReadonlyMap<string, T>, what: string, name: string): T {
  const value = all.get(name);
  const loaded = [...all.keys()];
  if (value !== undefined) return value;
  throw new CounterpointError(
    'ERR_BPF_NAME',
    `no ${what} "${String(name)}" was loaded${didYouMean(nearestNames(String(name), loaded))}`,
    loaded.length === 0 ? `The set has no ${what}.` : `Loaded are ${loaded.join(', ')}.`,
  );
}

/** Options of `loadPrograms()`. */
export interface LoadOptions {
  /** Maps to make beyond those that programs refer to. */
  readonly maps?: readonly BpfMapDefinition[];
  /** Possible CPUs; as the kernel says where absent. */
  readonly cpus?: readonly number[];
}

const OPTIONS: OptionsOf<LoadOptions> = {
  maps: { expects: 'a list of definitions of maps', accepts: isMapList },
  cpus: listOf(wholeNumberFrom(0), 'a list of CPU numbers'),
};

/** Make the maps and load the programs. All or nothing: what is refused leaves nothing behind. */
export function loadPrograms(
  sys: Sys,
  programs: readonly BpfProgram[],
  options: LoadOptions = {},
): LoadedSet {
  checkPrograms('loadPrograms()', programs);
  checkOptions('loadPrograms()', options, OPTIONS);
  const { maps: moreMaps = [], cpus = possibleCpus() } = options;
  const definitions = mergeDefinitions([...moreMaps, ...programs.flatMap(({ maps }) => maps)]);
  const names = programs.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new CounterpointError('ERR_BPF_NAME', `two programs are called "${twice}"`, 'Rename one.');
  const maps = new Map<string, BpfMap>();
  const loaded = new Map<string, LoadedProgram>();
  const set = new LoadedSet(loaded, maps, cpus);
  try {
    for (const definition of definitions) maps.set(definition.name, createMap(sys, definition, cpus.length));
    for (const program of programs) {
      const fd = loadProgram(sys, program, maps);
      loaded.set(program.name, new LoadedProgram(sys, program, fd));
    }
    return set;
  } catch (error) {
    set.close();
    throw error;
  }
}

/** One definition per name. Two that differ under one name are an error, not a choice. */
function mergeDefinitions(definitions: readonly BpfMapDefinition[]): BpfMapDefinition[] {
  const byName = new Map<string, BpfMapDefinition>();
  for (const definition of definitions) {
    const known = byName.get(definition.name) ?? definition;
    if (shapeOf(known) !== shapeOf(definition)) {
      throw new CounterpointError(
        'ERR_BPF_MAP_CLASH',
        `map "${definition.name}" is defined twice: ${shapeOf(known)}, and ${shapeOf(definition)}`,
        'Programs that are loaded together share maps by name: define the map once, or use two names.',
      );
    }
    byName.set(definition.name, known);
  }
  return [...byName.values()];
}

function shapeOf({ type, keySizeBytes, valueSizeBytes, maxEntries, flags = 0 }: BpfMapDefinition): string {
  return `${type}, keys of ${keySizeBytes} and values of ${valueSizeBytes} bytes, ${maxEntries} entries, flags ${flags}`;
}

function loadProgram(sys: Sys, program: BpfProgram, maps: ReadonlyMap<string, BpfMap>): Fd {
  const { name, license } = program;
  const instructions = resolveMaps(program, maps);
  const { type: attachType = 0, btfId: attachBtfId = 0 } = program.attach ?? {};
  const type = BPF_PROGRAM_TYPES[program.type];
  const request = { name, type, license, instructions, attachType, attachBtfId };
  try {
    // Without a log: writing one costs the verifier more than its work.
    return sys.bpfProgramLoad(request, null);
  } catch (error) {
    const isVerifiers = error instanceof SysError && VERIFIER_ERRNOS.has(error.code);
    const log = isVerifiers ? readLog(sys, request, 1).log : '';
    if (log !== '') throw new VerifierError(program, log);
    throw explainRefusal(sys, `program "${name}" (${program.type})`, error);
  }
}

/** What the verifier may answer with; without rights it is not asked, and its log stays empty. */
const VERIFIER_ERRNOS: ReadonlySet<string> = new Set([
  'EACCES',
  'EPERM',
  'EINVAL',
  'E2BIG',
  'EFAULT',
  'ENOENT',
  'EOPNOTSUPP',
  'EBADF',
  'errno 524',
]);

/** Descriptors in the places of map references. The program itself stays as it is. */
function resolveMaps(program: BpfProgram, maps: ReadonlyMap<string, BpfMap>): Uint8Array {
  const instructions = program.instructions.slice();
  const view = new DataView(instructions.buffer);
  for (const { instruction, map, kind, offsetBytes } of program.mapReferences) {
    const fd = maps.get(map)?.fd;
    if (fd === undefined)
      throw new Error(`program "${program.name}" refers to map "${map}", which it does not define`);
    const at = instruction * BPF_SLOT_SIZE;
    const source = kind === 'value' ? BPF_PSEUDO_MAP_VALUE : BPF_PSEUDO_MAP_FD;
    view.setUint8(at + 1, (view.getUint8(at + 1) & 0x0f) | (source << 4));
    view.setInt32(at + 4, fd.number, true);
    if (kind === 'value') view.setInt32(at + BPF_SLOT_SIZE + 4, offsetBytes, true);
  }
  return instructions;
}

type LoadRequest = Parameters<Sys['bpfProgramLoad']>[0];

/** Load with a log, in a buffer that grows until it fits, and let the program go again. */
function readLog(sys: Sys, request: LoadRequest, level: number): { log: string; isAccepted: boolean } {
  for (let sizeBytes = FIRST_LOG_BYTES; ; sizeBytes *= 8) {
    const buffer = new Uint8Array(new ArrayBuffer(sizeBytes));
    try {
      sys.bpfProgramLoad(request, { level, buffer }).close();
      return { log: textOf(buffer), isAccepted: true };
    } catch (error) {
      if (!(error instanceof SysError)) throw error;
      // Since Linux 6.4 a log that does not fit keeps its end, where the reason is; before, its beginning.
      if (error.code !== 'ENOSPC' || sizeBytes >= MOST_LOG_BYTES)
        return { log: textOf(buffer), isAccepted: false };
    }
  }
}

function textOf(buffer: Uint8Array): string {
  const end = buffer.indexOf(0);
  return new TextDecoder().decode(buffer.subarray(0, end < 0 ? buffer.length : end));
}

/**
 * The verifier's own listing of a program, with all that it knew (level 2 lists what it accepts, too). The
 * program is not kept. Maps are made for it where none are given.
 */
export function verifierLog(
  sys: Sys,
  program: BpfProgram,
  level: 1 | 2 = 2,
): { log: string; isAccepted: boolean } {
  checkProgram('verifierLog()', program);
  checkOptions('verifierLog()', { level }, { level: oneOf(1, 2) });
  using set = loadPrograms(sys, [], { maps: program.maps });
  const { name, license } = program;
  const instructions = resolveMaps(program, set.maps);
  const type = BPF_PROGRAM_TYPES[program.type];
  return readLog(sys, { name, type, license, instructions, attachType: 0 }, level);
}
