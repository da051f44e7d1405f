/**
 * A record of the handler's own at an overflow of any event: where it was, and as much more as is wanted. The
 * classic case is the kernel's call stack at a last-level cache miss:
 *
 *   counterpoint record -e LLC-load-misses -c 10000 --format on-miss -a -- sleep 10
 *
 *   overflow ─> scratch, one for each CPU [ head | registers | kernel frames | user frames ] ─> ring buffer, as much as is used
 */
import {
  BPF_F_USER_STACK,
  BPF_RB_NO_WAKEUP,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_REGS_INTR,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import {
  type BpfAssembler,
  type BpfMapDefinition,
  bpfStruct,
  r0,
  r1,
  r7,
  r8,
  r9,
  u64,
} from '../../../kernel/bpf/index.ts';
import { everyNth, runCounts } from '../every-nth.ts';
import { defineFormat, type HandlerContext } from '../format.ts';
import { interruptRegisterMask, interruptRegisters } from './interrupt-registers.ts';
import { requireRingSize } from './ring-size.ts';
import { requireStackDepth } from './stack-depth.ts';
import { callchainOf, withoutMarks } from './stack-tables.ts';

const Head = bpfStruct({
  timeNs: 'u64',
  ip: 'u64',
  address: 'u64',
  period: 'u64',
  pid: 'u32',
  tid: 'u32',
  cpu: 'u32',
  event: 'u32',
  kernelBytes: 'u32',
  userBytes: 'u32',
});

const ADDRESS_BYTES = 8;
const LONGEST_WAIT_MS = 200;

interface Options {
  readonly every: number;
  readonly kernelStack: boolean;
  readonly userStack: boolean;
  readonly registers: boolean;
  readonly depth: number;
  readonly ring: number;
  readonly wakeAt: number;
}

/** One overflow. */
export interface Miss {
  readonly event: number;
  readonly pid: number;
  readonly tid: number;
  readonly cpu: number;
  readonly timeNs: bigint;
  readonly ip: bigint;
  readonly address: bigint;
  readonly period: bigint;
  readonly registers: readonly bigint[];
  readonly callchain: readonly bigint[];
}

const ringMap = ({ ring }: Options): BpfMapDefinition => ({
  name: 'misses',
  type: 'ring-buffer',
  keySizeBytes: 0,
  valueSizeBytes: 0,
  maxEntries: ring,
});

/** Where the parts of a record begin; there is room for both stacks at their greatest. */
function layoutOf({ registers, depth }: Options) {
  const framesAt = Head.sizeBytes + (registers ? interruptRegisters().length * ADDRESS_BYTES : 0);
  // The frames, and the mark before them.
  const stackBytes = (depth + 1) * ADDRESS_BYTES;
  return { framesAt, stackBytes, sizeBytes: framesAt + 2 * stackBytes };
}

const scratchMap = (options: Options): BpfMapDefinition => ({
  name: 'scratch',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: layoutOf(options).sizeBytes,
  maxEntries: 1,
});

const MOST_EVENTS = 1024;

export default defineFormat({
  name: 'on-miss',
  version: 1,
  summary: 'a record chosen by options at an overflow of any event, through a ring buffer of its own',
  options: {
    every: {
      type: 'count',
      default: 1,
      min: 1,
      max: 1 << 30,
      help: 'keep a record at every Nth overflow of a CPU',
    },
    kernelStack: { type: 'switch', default: true, help: 'the call stack in the kernel' },
    userStack: { type: 'switch', default: false, help: 'the call stack in user space' },
    registers: { type: 'switch', default: false, help: 'the registers of what was interrupted' },
    depth: {
      type: 'count',
      default: 64,
      min: 1,
      max: 127,
      help: 'at most N frames of a stack; outer frames are cut off',
    },
    ring: {
      type: 'bytes',
      default: 1 << 20,
      min: 4096,
      max: 1 << 28,
      help: 'room for records, a power of two',
    },
    wakeAt: {
      type: 'bytes',
      default: 0,
      help: 'wake the reader when the ring holds this much; 0: a quarter of the ring',
    },
  },
  history: {},
  plan(options, { events }) {
    // The helper gives so many words, and one of them is the mark of its part.
    requireStackDepth('on-miss', { depth: options.depth, frames: options.depth + 1 });
    const isFor = (wanted: boolean) =>
      wanted && events.some(({ attr }) => attr.type === PERF_TYPE_TRACEPOINT);
    if (isFor(options.registers))
      throw new CounterpointError(
        'ERR_FORMAT_OPTION',
        'a tracepoint has no registers for the format on-miss, because it interrupts nothing',
        'Leave out registers, or sample a clock or a counter.',
      );
    if (options.registers && interruptRegisters().length === 0)
      throw new CounterpointError(
        'ERR_FORMAT_OPTION',
        `the registers of ${process.arch} have no names here`,
        'Leave registers out.',
      );
    requireRingSize('on-miss', options.ring);
    const wakeAt = options.wakeAt === 0 ? options.ring / 4 : options.wakeAt;
    if (wakeAt > options.ring)
      throw new CounterpointError(
        'ERR_FORMAT_OPTION',
        `the format on-miss would wait for ${wakeAt} bytes in a ring of ${options.ring}`,
        'Make wake-at smaller, or ring larger.',
      );
    return {
      maps: [ringMap(options)],
      wake: { kind: 'filled', map: 'misses', bytes: wakeAt },
      callchains: options.kernelStack || options.userStack ? { mostFrames: options.depth } : false,
      sampleFields: options.registers
        ? { bits: PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_INTR, registers: interruptRegisterMask() }
        : { bits: PERF_SAMPLE_ADDR },
    };
  },
  onOverflow(asm, context) {
    const { options } = context;
    if (options.every > 1) skipMost(asm, context);
    asm.mapLookup(scratchMap(options), 0);
    asm.ifNull(r0, () => leave(asm, context));
    asm.move(r7, r0);
    writeHead(asm, context);
    writeStacks(asm, context);
    handOver(asm, context);
  },
  async *collect(maps, { options, openRing, next }): AsyncGenerator<Miss> {
    using ring = openRing(maps.get('misses')!);
    const { reader } = ring;
    for (let isLast = false; !isLast; ) {
      isLast = (await next(LONGEST_WAIT_MS)) === 'stopped';
      while (reader.next()) yield missIn(reader.payload(), options);
      reader.commit();
    }
  },
  *toSamples({ registers, ...miss }) {
    yield registers.length === 0 ? miss : { ...miss, registers };
  },
});

/** End without a record. On a tracepoint or probe others may want theirs. */
function leave(asm: BpfAssembler, { programType }: HandlerContext<Options>): void {
  if (programType !== 'perf-event') asm.keepRecord();
  else asm.dropRecord();
}

/** Go on at each `every`-th overflow only. */
function skipMost(asm: BpfAssembler, context: HandlerContext<Options>): void {
  const { event, options } = context;
  everyNth(
    asm,
    runCounts('since_record', MOST_EVENTS),
    event,
    options.every,
    () => {},
    () => leave(asm, context),
  );
}

/** r7 is the record from here on. */
function writeHead(asm: BpfAssembler, { options, event, programType }: HandlerContext<Options>): void {
  const head = Head.at(r7);
  const has = { ip: programType !== 'tracepoint', address: programType === 'perf-event', period: true };
  for (const [field, name] of [
    ['ip', 'ip'],
    ['address', 'address'],
    ['period', 'samplePeriod'],
  ] as const) {
    if (has[field]) asm.loadContext(r1, name);
    else asm.move(r1, 0);
    if (field === 'period' && options.every > 1) asm.multiply(r1, options.every);
    asm.store(head[field], r1);
  }
  if (options.registers)
    for (const [index, { name }] of interruptRegisters().entries()) {
      asm.loadContext(r1, name);
      asm.store(u64(r7, Head.sizeBytes + index * ADDRESS_BYTES), r1);
    }
  asm.store(head.event, event);
  asm.call('ktime_get_ns');
  asm.store(head.timeNs, r0);
  asm.call('get_smp_processor_id');
  asm.store(head.cpu, r0);
  asm.loadProcessId(r0);
  asm.store(head.pid, r0);
  asm.loadThreadId(r0);
  asm.store(head.tid, r0);
}

/** The user's frames stand where the kernel's end. r8 is then the size of the record. */
function writeStacks(asm: BpfAssembler, { options, programType }: HandlerContext<Options>): void {
  const { framesAt, stackBytes } = layoutOf(options);
  const head = Head.at(r7);
  // Without an interrupted instruction the place of a tracepoint is where its stack begins.
  const kernelBytes = options.kernelStack ? stackBytes : programType === 'tracepoint' ? ADDRESS_BYTES : 0;
  asm.move(r8, 0);
  if (kernelBytes > 0) {
    asm.call('get_stack', asm.context, u64(r7, framesAt), kernelBytes, 0);
    // An error: no such stack.
    asm.if(r0, 's>', 0, () => asm.move(r8, r0));
  }
  asm.store(head.kernelBytes, r8);
  asm.move(r9, 0);
  if (options.userStack) {
    asm.move(r9, r7);
    asm.add(r9, r8);
    asm.call('get_stack', asm.context, u64(r9, framesAt), stackBytes, BPF_F_USER_STACK);
    asm.move(r9, 0);
    asm.if(r0, 's>', 0, () => asm.move(r9, r0));
  }
  asm.store(head.userBytes, r9);
  asm.add(r8, r9);
  asm.add(r8, framesAt);
}

function handOver(asm: BpfAssembler, { options, countLoss }: HandlerContext<Options>): void {
  asm.call('ringbuf_output', ringMap(options), u64(r7), r8, BPF_RB_NO_WAKEUP);
  asm.if(r0, '!=', 0, () => countLoss('ring-full'));
}

function missIn(bytes: Uint8Array, options: Options): Miss {
  const { kernelBytes, userBytes, ip, ...head } = Head.read(bytes);
  const { framesAt } = layoutOf(options);
  const words = (from: number, to: number) => [...new BigUint64Array(bytes.slice(from, to).buffer)];
  const userAt = framesAt + kernelBytes;
  const kernel = withoutMarks(words(framesAt, userAt));
  const user = withoutMarks(words(userAt, userAt + userBytes));
  return {
    ...head,
    ip: ip === 0n ? (kernel[0] ?? 0n) : ip,
    registers: words(Head.sizeBytes, framesAt),
    callchain: callchainOf(options.kernelStack ? kernel : [], user),
  };
}
