import { TripleTable, TWO_32, toSignedFloat } from '../../base/index.ts';
import type { CodeHistory } from '../../code/jit/index.ts';
import type { AddressSpace, Machine, Mapping, Process } from '../../code/machine/index.ts';
import { PERF_CONTEXT_MAX } from '../../format/abi/index.ts';
import type { SampleFields } from '../../format/records/index.ts';
import {
  MODE_GUEST_KERNEL,
  MODE_GUEST_USER,
  MODE_HYPERVISOR,
  MODE_KERNEL,
  MODE_UNKNOWN,
  MODE_USER,
  NONE,
  type Profile,
} from '../tables/index.ts';
import type { Binaries } from './binaries.ts';

/** Context marker (low half of -32, -128, ...) -> mode of the addresses after it. */
const MODE_OF_CONTEXT = new Map<number, number>([
  [-32, MODE_HYPERVISOR],
  [-128, MODE_KERNEL],
  [-512, MODE_USER],
  [-640, MODE_USER],
  [-2048, MODE_GUEST_USER],
  [-2176, MODE_GUEST_KERNEL],
  [-2560, MODE_GUEST_USER],
]);

/** Raw nodes beyond this are forgotten (mappings that change all the time make them useless). */
const MAX_NODES = 8 << 20;

/** More switches between kernel and user than this in one chain are taken for one. */
const MAX_PARTS = 64;

const HOST_IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** Marks the address of a guessed caller: those of users have no such bit (canonical addresses). */
const GUESSED = 1 << 30;
/** Third key of a row of stacks. */
const FROM_CHAIN = 0;
const FROM_STACK_TOP = 1;

interface Root {
  generation: number;
  kernelGeneration: number;
  codeVersion: number;
  node: number;
}

/** Room for the data and init code of a kernel image; BPF programs and trampolines lie further away. */
const KERNEL_TAIL_BYTES = 64 << 20;

/** The recorded map of the kernel image ends before its init code, which perf counts to it as well. */
function kernelMapping(space: AddressSpace, address: number): Mapping | null {
  const below = space.findBelow(address);
  if (below === null || address < below.end) return below;
  const isNear = address < below.end + KERNEL_TAIL_BYTES;
  return isNear && below.path.startsWith('[kernel.kallsyms]') ? below : null;
}

/** Inside execve the caller's frames are those of the program before. */
function userMapping(space: AddressSpace, { formerMaps }: Process, address: number): Mapping | null {
  return space.find(address) ?? formerMaps?.find(address) ?? null;
}

/**
 * Call chains to rows of `Profile.stacks`.
 *
 * A chain comes innermost first, in parts that context markers introduce:
 *
 *     KERNEL k0 k1  USER u0 u1 u2      is the stack  u2 > u1 > u0 > k1 > k0
 *
 * It is turned round and followed through a tree of raw addresses, one per address space and state of its
 * mappings and of its generated code. Chains that follow each other share most of their outer frames, so the
 * walk starts where the chain differs from the one before. A raw node knows its stack row; only a new node
 * asks what is mapped at its address.
 */
export class StackInterner {
  readonly #profile: Profile;
  readonly #machine: Machine;
  readonly #binaries: Binaries;
  /** False: only the innermost frame is wanted, and chains are not looked at. */
  wholeChains: boolean;
  /** Whether the stack's top, where samples have it, may name a caller that the chain lacks. */
  takesStackTop = false;
  /**
   * Rows of stacks whose frame is a guess: the function that they are the caller of may have built a frame,
   * and then its caller is the next row. Who knows the functions decides.
   */
  readonly guessedCallers = new Set<number>();
  /** Of the process and the time of the sample at hand; null: each address had one function at all times. */
  codeHistory: CodeHistory | null = null;
  codeVersion = 0;
  /** Of frames whose address had several functions: the line of the map that is theirs. */
  readonly codeLines = new Map<number, number>();
  readonly #code = new TripleTable();
  /** Depth of the guess in the chain at hand, or -1. */
  #guessAt = -1;
  readonly #nodes = new TripleTable(1 << 14);
  #nodeStack = new Int32Array(1 << 14);
  readonly #frames = new TripleTable(1 << 12);
  readonly #stacks = new TripleTable(1 << 14);
  #roots = new Map<AddressSpace, Root>();
  #nextRoot = -1;
  /**
   * The chain at hand and the one before, outermost first, as lo/hi pairs, with the raw node of each frame.
   */
  #chain = new Int32Array(2048);
  #node = new Int32Array(1024);
  #depth = 0;
  /** Parts of the chain at hand, outermost first: depth where each ends, and the mode of its addresses. */
  readonly #partEnds = new Int32Array(MAX_PARTS);
  readonly #partModes = new Uint8Array(MAX_PARTS);
  #parts = 0;
  #lastRoot = 0;
  #lastValid = false;
  #words: Int32Array = new Int32Array(0);
  #scratchWords: Int32Array = new Int32Array(0);

  readonly #mostNodes: number;

  constructor(
    profile: Profile,
    machine: Machine,
    binaries: Binaries,
    wholeChains: boolean,
    mostNodes: number = MAX_NODES,
  ) {
    this.#mostNodes = mostNodes;
    this.#profile = profile;
    this.#machine = machine;
    this.#binaries = binaries;
    this.wholeChains = wholeChains;
  }

  /** Stack row of a sample of `process`; `mode` is that of its instruction pointer. */
  intern(
    view: DataView,
    fields: SampleFields,
    process: Process,
    mode: number,
    hasIp: boolean,
    le: boolean,
  ): number {
    const root = this.#rootOf(process);
    const count = this.wholeChains ? fields.chainCount : 0;
    if (count + 2 > this.#node.length) this.#growChain(count + 2);
    const first = this.#chainWords(view, fields.chainOffset, count, le);
    const words = this.#words;
    const chain = this.#chain;
    // Frames below this depth are those of the chain before.
    let shared = this.#lastValid && root === this.#lastRoot ? this.#depth : 0;
    // A guess is another node than the same address in a chain.
    if (this.#guessAt >= 0 && this.#guessAt < shared) shared = this.#guessAt;
    let depth = 0;
    this.#parts = 0;
    this.#guessAt = -1;
    for (let at = first + count * 2 - 2; at >= first; at -= 2) {
      const low = words[at]!;
      const high = words[at + 1]!;
      if (high === -1 && low < 0 && low >= PERF_CONTEXT_MAX) {
        const partMode = MODE_OF_CONTEXT.get(low) ?? MODE_UNKNOWN;
        if (this.takesStackTop && partMode === MODE_USER && this.#guess(view, fields, depth, process)) {
          depth++;
          if (this.#guessAt < shared) shared = this.#guessAt;
        }
        this.#endPart(depth, partMode);
        continue;
      }
      const place = depth * 2;
      if (depth >= shared || chain[place] !== low || chain[place + 1] !== high) {
        if (depth < shared) shared = depth;
        chain[place] = low;
        chain[place + 1] = high;
      }
      depth++;
    }
    // Addresses before the first marker are of the sample's own mode.
    this.#endPart(depth, mode);
    if (hasIp) {
      const low = fields.ipLo | 0;
      const high = fields.ipHi | 0;
      const top = depth * 2 - 2;
      if (depth === 0 || chain[top] !== low || chain[top + 1] !== high) {
        // Precise sampling moves the ip inside the innermost function; a chain without its
        // kernel part lacks the ip.
        const at = depth > 0 && this.#modeAt(depth - 1) === mode ? depth - 1 : depth++;
        if (at < shared) shared = at;
        chain[at * 2] = low;
        chain[at * 2 + 1] = high;
        this.#endPart(depth, mode);
      }
    }
    return this.#follow(root, Math.min(shared, depth), depth, process);
  }

  /**
   * A function that builds no frame leaves its caller out of the chain; its return address is at the stack's
   * top. Put it there, if it is in code:
   *
   *     chain      handler ─────────────── middle ─ outer
   *     stack top             leaf + 0xdc
   *     made       handler ── leaf + 0xdc ─ middle ─ outer
   */
  #guess(view: DataView, fields: SampleFields, depth: number, process: Process): boolean {
    if (depth === 0 || fields.userStackDynamicSize < 8) return false;
    const low = view.getInt32(fields.userStackOffset, true);
    const high = view.getInt32(fields.userStackOffset + 4, true);
    const chain = this.#chain;
    const innermost = depth * 2 - 2;
    if (depth > 1 && chain[innermost - 2] === low && chain[innermost - 1] === high) return false;
    const mapping = process.maps.find(toSignedFloat(low >>> 0, high));
    if (mapping === null) return false;
    const { kind } = this.#profile.binaries[this.#binaries.of(mapping, false)]!;
    if (kind !== 'jit' && kind !== 'user') return false;
    this.#chain.copyWithin(innermost + 2, innermost, innermost + 2);
    this.#chain[innermost] = low;
    this.#chain[innermost + 1] = high;
    this.#guessAt = depth - 1;
    return true;
  }

  #endPart(depth: number, mode: number): void {
    if (this.#parts > 0 && this.#partEnds[this.#parts - 1]! >= depth) return;
    if (this.#parts === MAX_PARTS) this.#parts--;
    this.#partEnds[this.#parts] = depth;
    this.#partModes[this.#parts++] = mode;
  }

  #modeAt(depth: number): number {
    let part = 0;
    while (part < this.#parts - 1 && this.#partEnds[part]! <= depth) part++;
    return this.#partModes[part]!;
  }

  /**
   * Make `words` hold the chain as lo/hi pairs; returns the index of its first word. The file's own bytes
   * serve as they are where they are little-endian and aligned, which is nearly always.
   */
  #chainWords(view: DataView, offset: number, count: number, le: boolean): number {
    const byteOffset = view.byteOffset + offset;
    if (le && HOST_IS_LITTLE_ENDIAN && (byteOffset & 3) === 0) {
      if (this.#words.buffer !== view.buffer)
        this.#words = new Int32Array(view.buffer, 0, view.buffer.byteLength >> 2);
      return byteOffset >> 2;
    }
    if (this.#scratchWords.length < count * 2) this.#scratchWords = new Int32Array(count * 2);
    for (let i = 0; i < count; i++) {
      this.#scratchWords[i * 2] = view.getInt32(offset + i * 8 + (le ? 0 : 4), le);
      this.#scratchWords[i * 2 + 1] = view.getInt32(offset + i * 8 + (le ? 4 : 0), le);
    }
    this.#words = this.#scratchWords;
    return 0;
  }

  #follow(root: number, shared: number, depth: number, process: Process): number {
    let parent = shared > 0 ? this.#node[shared - 1]! : root;
    for (let i = shared; i < depth; i++) {
      const isGuess = i === this.#guessAt;
      const high = this.#chain[i * 2 + 1]!;
      let row = this.#nodes.find(parent, this.#chain[i * 2]!, isGuess ? high ^ GUESSED : high);
      if (row < 0) {
        row = -1 - row;
        const outer = i > 0 ? this.#nodeStack[this.#node[i - 1]!]! : NONE;
        const stack = this.#stackRow(
          outer,
          this.#frameRow(i, process),
          isGuess ? FROM_STACK_TOP : FROM_CHAIN,
        );
        if (isGuess) this.guessedCallers.add(stack);
        this.#setNodeStack(row, stack);
      }
      this.#node[i] = row;
      parent = row;
    }
    this.#depth = depth;
    this.#lastRoot = root;
    this.#lastValid = true;
    const stack = depth > 0 ? this.#nodeStack[this.#node[depth - 1]!]! : NONE;
    if (this.#nodes.length > this.#mostNodes) this.#forget();
    return stack;
  }

  /**
   * Raw trees are per address space and state of its mappings; roots are negative, so they never meet rows.
   */
  #rootOf(process: Process): number {
    const generation = process.maps.generation;
    const kernelGeneration = this.#machine.kernel.generation;
    const { codeVersion } = this;
    const known = this.#roots.get(process.maps);
    if (
      known !== undefined &&
      known.generation === generation &&
      known.kernelGeneration === kernelGeneration &&
      known.codeVersion === codeVersion
    ) {
      return known.node;
    }
    const node = this.#nextRoot--;
    this.#roots.set(process.maps, { generation, kernelGeneration, codeVersion, node });
    return node;
  }

  #frameRow(i: number, process: Process): number {
    const mode = this.#modeAt(i);
    const address = toSignedFloat(this.#chain[i * 2]! >>> 0, this.#chain[i * 2 + 1]!);
    const isKernel = mode === MODE_KERNEL || mode === MODE_GUEST_KERNEL || mode === MODE_HYPERVISOR;
    const space =
      mode === MODE_KERNEL
        ? this.#machine.kernel
        : mode === MODE_GUEST_KERNEL
          ? this.#machine.guestKernel
          : process.maps;
    const mapping =
      mode === MODE_HYPERVISOR
        ? null
        : isKernel
          ? kernelMapping(space, address)
          : userMapping(space, process, address);
    const binary = mapping === null ? this.#binaries.unknown : this.#binaries.of(mapping, isKernel);
    const kind = this.#profile.binaries[binary]!.kind;
    if (mapping === null || (kind !== 'user' && kind !== 'vdso')) {
      const [low, high] = [this.#chain[i * 2]!, this.#chain[i * 2 + 1]!];
      const line = kind === 'jit' ? (this.codeHistory?.lineAt(address, this.codeVersion) ?? -1) : -1;
      return line === -1
        ? this.#addFrame(binary, low, high, mode)
        : this.#addCodeFrame(binary, low, high, mode, line);
    }
    const offset = address - mapping.start + mapping.pageOffset;
    const high = Math.floor(offset / TWO_32) | 0;
    return this.#addFrame(binary, (offset - high * TWO_32) | 0, high, mode);
  }

  /** The same address is another frame where it is of another function. */
  #addCodeFrame(binary: number, low: number, high: number, mode: number, line: number): number {
    const code = this.#code.find(binary, line, 0);
    const key = -1 - (code < 0 ? -1 - code : code);
    const frame = this.#addFrame(binary, low, high, mode, key);
    this.codeLines.set(frame, line);
    return frame;
  }

  /** The frame of another address in the binary of a frame, and of its mode. */
  frameBeside(frame: number, lo: number, hi: number): number {
    const { binary, mode } = this.#profile.frames;
    return this.#addFrame(binary.at(frame), lo | 0, hi | 0, mode.at(frame));
  }

  /** `key`: what the frame is told apart by, beside its address. */
  #addFrame(binary: number, low: number, high: number, mode: number, key = binary): number {
    const row = this.#frames.find(key, low, high);
    if (row >= 0) return row;
    const { frames } = this.#profile;
    return frames.add({ binary, addressLo: low, addressHi: high, mode });
  }

  #stackRow(prefix: number, frame: number, source: number): number {
    const row = this.#stacks.find(prefix, frame, source);
    if (row >= 0) return row;
    this.#profile.stacks.prefix.push(prefix);
    this.#profile.stacks.frame.push(frame);
    return -1 - row;
  }

  #setNodeStack(row: number, stack: number): void {
    if (row >= this.#nodeStack.length) {
      const bigger = new Int32Array(this.#nodeStack.length * 2);
      bigger.set(this.#nodeStack);
      this.#nodeStack = bigger;
    }
    this.#nodeStack[row] = stack;
  }

  #growChain(needed: number): void {
    const size = Math.max(needed, this.#node.length * 2);
    this.#chain = new Int32Array(size * 2);
    this.#node = new Int32Array(size);
    this.#lastValid = false;
    this.#depth = 0;
  }

  #forget(): void {
    this.#nodes.clear();
    this.#roots = new Map();
    this.#lastValid = false;
  }
}
