import {
  PERF_CONTEXT_MAX,
  PERF_CONTEXT_USER,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
} from '@counterpoint/core/abi';
import { decodeSampleInto, type Mmap2Record, SampleFields, SampleLayout } from '@counterpoint/core/records';
import type { PlannedEvent, SampledEvent } from '../../kernel/perf-events/index.ts';
import { PROT_EXEC } from '../../kernel/target/index.ts';
import {
  INTERPRETED_BYTES,
  INTERPRETED_START,
  type InterpretedFunctions,
  walkInterpretedFrames,
} from '../v8/index.ts';
import { samplesPerSecond } from './ring-size.ts';

/** Numbers of x86's registers in samples (asm/perf_regs.h). */
const REGISTER_BP = 6n;
const REGISTER_SP = 7n;
/** In which V8's interpreter keeps where it is. */
const REGISTER_R9 = 17n;
const REGISTERS = (1n << REGISTER_BP) | (1n << REGISTER_SP) | (1n << REGISTER_R9);
const WORD = 8;
const TWO_32 = 2 ** 32;
/** Of the stack, by samples per second: more of them bring less. */
const STACK_BYTES: readonly (readonly [mostHz: number, bytes: number])[] = [
  [1000, 32 << 10],
  [2000, 16 << 10],
  [5000, 8 << 10],
  [Number.POSITIVE_INFINITY, 4 << 10],
];
const HEADER_BYTES = 8;
const MOST_CHAIN_WORDS = 8192;
const PROT_READ = 1;
const MAP_PRIVATE = 2;
const USER_MARK = PERF_CONTEXT_USER | 0;

/** The events whose samples get their stacks, where they have chains and the top of the stack already. */
function isWide({ attr }: Pick<PlannedEvent, 'attr'>): boolean {
  const bits = Number(attr.sampleType);
  const has = (bit: number) => (bits & bit) !== 0;
  return (
    has(PERF_SAMPLE_CALLCHAIN) &&
    has(PERF_SAMPLE_STACK_USER) &&
    attr.sampleStackUser === WORD &&
    // Every hit is wanted: with their stacks most of them would have no room in the ring.
    (attr.flags.freq !== 0 || attr.samplePeriodOrFreq > 1n) &&
    // Registers come right behind the chain.
    !has(PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER)
  );
}

/**
 * Interpreted functions are known only while they run, by their frames. So the kernel copies the top of the
 * stack into each sample, and on the way to the output it becomes the names of functions again:
 *
 *     kernel   chain │ registers │ stack, some kilobytes
 *     output   chain with an address for each interpreted function │ top word of the stack
 */
export class JavascriptFrames {
  /** By process. */
  readonly #functions: ReadonlyMap<number, InterpretedFunctions>;
  /** By the id of the event in samples; of the only event where they have none. */
  #layouts = new Map<bigint, SampleLayout>();
  #first: SampleLayout | null = null;
  #wide = new Set<SampleLayout>();
  readonly #fields = new SampleFields();
  readonly #chain = new Float64Array(MOST_CHAIN_WORDS);
  readonly #found = new Float64Array(MOST_CHAIN_WORDS);
  #output = new Uint8Array(1 << 20);

  constructor(functions: ReadonlyMap<number, InterpretedFunctions>) {
    this.#functions = functions;
  }

  /** Before the events are opened. False: none of them has what it takes. */
  static widen(planned: readonly PlannedEvent[]): boolean {
    const wide = planned.filter(isWide);
    for (const event of wide) {
      const { attr } = event;
      // Of an event that comes as often as it happens, nobody knows how often that is.
      const hz = samplesPerSecond(event) || Number.POSITIVE_INFINITY;
      attr.sampleType |= BigInt(PERF_SAMPLE_REGS_USER);
      attr.sampleRegsUser = REGISTERS;
      attr.sampleStackUser = STACK_BYTES.find(([mostHz]) => hz <= mostHz)![1];
    }
    return wide.length > 0;
  }

  /** Whether the samples of an event that is open have what it takes. */
  static has({ attr }: Pick<SampledEvent, 'attr'>): boolean {
    return (attr.sampleType & BigInt(PERF_SAMPLE_REGS_USER)) !== 0n && attr.sampleRegsUser === REGISTERS;
  }

  /** The events as the output has them. */
  begin<Event extends SampledEvent>(events: readonly Event[]): Event[] {
    return events.map((event) => {
      const { attr, instances } = event;
      const layout = new SampleLayout(attr);
      this.#first ??= layout;
      for (const { id } of instances) this.#layouts.set(id, layout);
      if ((attr.sampleType & BigInt(PERF_SAMPLE_REGS_USER)) === 0n) return event;
      this.#wide.add(layout);
      const narrow = {
        ...attr,
        sampleType: attr.sampleType & ~BigInt(PERF_SAMPLE_REGS_USER),
        sampleRegsUser: 0n,
        sampleStackUser: WORD,
      };
      return { ...event, attr: narrow };
    });
  }

  /**
   * The records that say of each process that there is code at the addresses of its interpreted functions.
   */
  announce(): Mmap2Record[] {
    return [...this.#functions.keys()].map(interpretedMapping);
  }

  /** Whole records in, whole records out: borrowed until the next call. */
  rewrite(spans: readonly Uint8Array<ArrayBuffer>[], sizeBytes: number): Uint8Array<ArrayBuffer> {
    const input = new Uint8Array(sizeBytes);
    let at = 0;
    for (const span of spans) {
      input.set(span, at);
      at += span.length;
    }
    // A sample has one word more where it has all of a stack less.
    if (this.#output.length < sizeBytes) this.#output = new Uint8Array(2 * sizeBytes);
    const view = new DataView(input.buffer);
    let written = 0;
    for (at = 0; at + HEADER_BYTES <= sizeBytes; ) {
      const size = view.getUint16(at + 6, true);
      if (size < HEADER_BYTES || at + size > sizeBytes) break;
      const isSample = view.getUint32(at, true) === PERF_RECORD_SAMPLE;
      const narrow = isSample ? this.#sample(view, input, at, at + size, written) : 0;
      if (narrow === 0) this.#output.set(input.subarray(at, at + size), written);
      written += narrow === 0 ? size : narrow;
      at += size;
    }
    return this.#output.subarray(0, written);
  }

  /** The size of what was written; 0: it stays as it is. */
  #sample(view: DataView, input: Uint8Array, start: number, end: number, to: number): number {
    const first = this.#first!;
    const layout =
      first.idFromStart < 0
        ? first
        : (this.#layouts.get(view.getBigUint64(start + first.idFromStart, true)) ?? first);
    const fields = this.#fields;
    if (!this.#wide.has(layout) || !decodeSampleInto(view, start, end, layout, true, fields)) return 0;
    const { chainOffset, chainCount, userRegsAbi, userStackOffset, userStackSize } = fields;
    const behindChain = chainOffset + chainCount * WORD;
    const hasRegisters = userRegsAbi !== 0;
    // The registers have a word before them, and so has the stack, which has another one behind it.
    const registersEnd = behindChain + WORD + (hasRegisters ? layout.userRegisterCount * WORD : 0);
    const stackEnd = userStackSize === 0 ? registersEnd + WORD : userStackOffset + userStackSize + WORD;
    const output = this.#output;
    // Up to the count of the chain, as it is.
    output.set(input.subarray(start, chainOffset), to);
    let at = to + chainOffset - start;
    const words = this.#chainWords(view, hasRegisters, layout);
    const countAt = at - WORD;
    const target = new DataView(output.buffer, output.byteOffset);
    let count = 0;
    for (let row = 0; row < chainCount; row++) {
      const user = row - words.first;
      const found = user >= 0 && user < words.looked ? this.#found[user]! : 0;
      if (found === 0 || user === 0) {
        output.set(input.subarray(chainOffset + row * WORD, chainOffset + (row + 1) * WORD), at);
        at += WORD;
        count++;
      }
      if (found === 0) continue;
      target.setUint32(at, found % TWO_32, true);
      target.setUint32(at + 4, Math.floor(found / TWO_32), true);
      at += WORD;
      count++;
    }
    target.setUint32(countAt, count, true);
    at += this.#stackTop(target, view, at, words.looked > 0 && this.#found[0] !== 0);
    output.set(input.subarray(stackEnd, end), at);
    at += end - stackEnd;
    output.set(input.subarray(start, start + HEADER_BYTES), to);
    target.setUint16(to + 6, at - to, true);
    return at - to;
  }

  /** Looks at the user's part of the chain. */
  #chainWords(
    view: DataView,
    hasRegisters: boolean,
    { timeFromStart }: SampleLayout,
  ): { first: number; looked: number } {
    const { chainOffset, chainCount, pid, tid, userRegsOffset, userStackOffset, userStackDynamicSize } =
      this.#fields;
    const { timeLo, timeHi } = this.#fields;
    let first = 0;
    while (first < chainCount && !isUserMark(view, chainOffset + first * WORD)) first++;
    first++;
    const functions = hasRegisters ? (this.#functions.get(pid) ?? null) : null;
    if (functions === null || first >= chainCount || userStackDynamicSize === 0) return { first, looked: 0 };
    let length = 0;
    for (let row = first; row < chainCount && length < MOST_CHAIN_WORDS; row++) {
      const place = chainOffset + row * WORD;
      if (isMark(view, place)) break;
      this.#chain[length++] = word(view, place);
    }
    const stack = {
      view,
      offset: userStackOffset,
      bytes: userStackDynamicSize,
      framePointer: word(view, userRegsOffset),
      stackPointer: word(view, userRegsOffset + WORD),
      bytecodeOffset: word(view, userRegsOffset + 2 * WORD),
      timeUs: timeFromStart < 0 ? null : ((timeHi >>> 0) * TWO_32 + (timeLo >>> 0)) / 1000,
      tid,
    };
    return { first, looked: walkInterpretedFrames(functions, stack, this.#chain, length, this.#found) };
  }

  /** The word at the stack pointer; none where the caller of the innermost function is known already. */
  #stackTop(target: DataView, view: DataView, at: number, isCallerKnown: boolean): number {
    const { userStackOffset, userStackDynamicSize } = this.#fields;
    const has = userStackDynamicSize >= WORD && !isCallerKnown;
    target.setUint32(at, has ? WORD : 0, true);
    target.setUint32(at + 4, 0, true);
    if (!has) return WORD;
    target.setUint32(at + 8, view.getUint32(userStackOffset, true), true);
    target.setUint32(at + 12, view.getUint32(userStackOffset + 4, true), true);
    target.setUint32(at + 16, WORD, true);
    target.setUint32(at + 20, 0, true);
    return 3 * WORD;
  }
}

function isUserMark(view: DataView, place: number): boolean {
  return view.getInt32(place, true) === USER_MARK && view.getInt32(place + 4, true) === -1;
}

function isMark(view: DataView, place: number): boolean {
  return view.getInt32(place + 4, true) === -1 && view.getInt32(place, true) >= PERF_CONTEXT_MAX;
}

function word(view: DataView, place: number): number {
  return view.getUint32(place + 4, true) * TWO_32 + view.getUint32(place, true);
}

/** Says that there is code at the addresses that stand for interpreted functions. */
function interpretedMapping(pid: number): Mmap2Record {
  return {
    type: PERF_RECORD_MMAP2,
    misc: PERF_RECORD_MISC_USER,
    pid,
    tid: pid,
    start: BigInt(INTERPRETED_START),
    length: BigInt(INTERPRETED_BYTES),
    pageOffset: 0n,
    major: 0,
    minor: 0,
    inode: 0n,
    inodeGeneration: 0n,
    protection: PROT_READ | PROT_EXEC,
    flags: MAP_PRIVATE,
    path: '//anon',
    tail: new Uint8Array(0),
  };
}
