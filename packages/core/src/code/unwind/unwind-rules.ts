import type { Diagnostic } from '../../base/index.ts';
import { EM_386 } from '../elf/index.ts';
import { type Mapping, mappingKind, type Process } from '../machine/index.ts';
import { loadJitDump, type SymbolDriver } from '../symbols/index.ts';
import type { UnwindRule } from './call-frame-program.ts';
import { JitFrames } from './jit-frames.ts';
import { type FindRule, NO_CODE, NO_FRAME_POINTER, NO_RULE, RULE_WAITS } from './stack-unwinder.ts';
import { loadUnwindBinary, type UnwindBinary, type WantedBinary } from './unwind-binary.ts';

/** Rules that are kept: a power of two. A program has some thousand places where it is sampled, or calls. */
const CACHED_RULES = 1 << 14;
const HASH = 0x9e37_79b1;

/** What `UnwindRules` has to know of a mapped binary, beside its path. */
type Described = Pick<WantedBinary, 'buildId' | 'acceptUnverified'>;

/**
 * The rule of an address in a process. Binaries are loaded once; the rule of an instruction is worked out
 * once, and kept in a table of fixed size, in which a new one takes the place of the one that was there:
 *
 *   address -> mapping -> (binary, offset in its file) -> slot -> rule
 *
 * Code that was made while the program ran has rules where its process dumped them.
 */
export class UnwindRules {
  readonly diagnostics: Diagnostic[] = [];
  readonly #wanted: WantedBinary[] = [];
  /** By the same index; undefined until it is loaded. */
  readonly #loaded: (UnwindBinary | JitFrames | null | undefined)[] = [];
  /** Paths of dumps by process. */
  readonly #dumps = new Map<number, string>();
  readonly #byKey = new Map<string, number>();
  readonly #driver: SymbolDriver;
  readonly #describe: (mapping: Mapping) => Described;
  readonly #areTimesMonotonic: () => boolean;
  readonly #slotBinary = new Int32Array(CACHED_RULES).fill(-1);
  readonly #slotOffset = new Float64Array(CACHED_RULES);
  readonly #slotRule: (UnwindRule | typeof NO_RULE)[] = Array(CACHED_RULES).fill(NO_RULE);
  #process!: Process;
  #machine = 0;
  #timeNs = 0;
  #waitsFor = -1;

  constructor(
    driver: SymbolDriver,
    describe: (mapping: Mapping) => Described,
    areTimesMonotonic: () => boolean,
  ) {
    this.#driver = driver;
    this.#describe = describe;
    this.#areTimesMonotonic = areTimesMonotonic;
  }

  /** A process has mapped a dump of the code that it makes. */
  addDump(pid: number, path: string): void {
    this.#dumps.set(pid, path);
  }

  /**
   * Of whom rules are found from now on, and when. `machine` is ELF's number of the
   * architecture that its code is of.
   */
  select(process: Process, machine: number, timeNs: number): void {
    this.#process = process;
    this.#machine = machine;
    this.#timeNs = timeNs;
  }

  /** Finds rules in the process that was selected last. */
  readonly find: FindRule = (address) => {
    const { maps, formerMaps } = this.#process;
    const mapping = maps.find(address) ?? formerMaps?.find(address) ?? null;
    if (mapping === null) return NO_CODE;
    const binary = mapping.binary < 0 ? this.#indexOf(mapping) : mapping.binary;
    const loaded = this.#loaded[binary];
    if (loaded === undefined) {
      this.#waitsFor = binary;
      return RULE_WAITS;
    }
    // Rules in the registers of another architecture say nothing here.
    if (loaded === null || loaded.machine !== this.#machine) return this.#withoutRules(mapping);
    if (loaded instanceof JitFrames) return loaded.ruleAt(address, this.#timeNs) ?? NO_RULE;
    const offset = address - mapping.start + mapping.pageOffset;
    const slot = (Math.imul(offset | 0, HASH) ^ binary) & (CACHED_RULES - 1);
    if (this.#slotBinary[slot] !== binary || this.#slotOffset[slot] !== offset) {
      this.#slotBinary[slot] = binary;
      this.#slotOffset[slot] = offset;
      this.#slotRule[slot] = loaded.ruleAt(offset) ?? NO_RULE;
    }
    return this.#slotRule[slot]!;
  };

  /** The vdso of 32-bit programs, which is in no file, has code that keeps no frame pointers. */
  #withoutRules({ path }: Mapping): typeof NO_RULE | typeof NO_FRAME_POINTER {
    return this.#machine === EM_386 && mappingKind(path) === 'vdso' ? NO_FRAME_POINTER : NO_RULE;
  }

  /** Loads the binary for which `find` said RULE_WAITS. */
  async load(): Promise<void> {
    const index = this.#waitsFor;
    if (index < 0 || this.#loaded[index] !== undefined) return;
    const wanted = this.#wanted[index]!;
    this.#loaded[index] =
      mappingKind(wanted.path) === 'jit'
        ? await this.#loadDump(wanted.pid)
        : await loadUnwindBinary(wanted, this.#driver, this.diagnostics);
  }

  /** Null where there is no dump, or no frame information in it. Who loads the names says what is wrong. */
  async #loadDump(pid: number): Promise<JitFrames | null> {
    const wanted = { path: this.#dumps.get(pid)!, pid, startMs: null, frames: true };
    const code = await loadJitDump(wanted, this.#driver, []);
    if (code === null || code.frames.length === 0) return null;
    return new JitFrames(code, !code.hasArchTimes && this.#areTimesMonotonic());
  }

  #indexOf(mapping: Mapping): number {
    const { path, pid } = mapping;
    const kind = mappingKind(path);
    const isFile = kind === 'file' || kind === 'vdso';
    const isDumped = kind === 'jit' && this.#dumps.has(pid);
    const described = this.#describe(mapping);
    const key = isFile ? `${path} ${described.buildId}` : isDumped ? `jit ${pid}` : '';
    let index = this.#byKey.get(key);
    if (index === undefined) {
      index = this.#wanted.length;
      this.#byKey.set(key, index);
      this.#wanted.push({ path, pid, isVdso: kind === 'vdso', ...described });
      // Other memory has no frame information.
      this.#loaded.push(isFile || isDumped ? undefined : null);
    }
    mapping.binary = index;
    return index;
  }
}
