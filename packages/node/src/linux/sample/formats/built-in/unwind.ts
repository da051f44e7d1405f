/**
 * A record at each overflow with the whole call chain of user space, also of binaries without frame pointers:
 * the handler finds the callers by the frame information of the binaries, from tables that are in maps
 * (unwind/). Nothing of the stack is copied.
 *
 *   overflow ─> scratch, one for each CPU [ head | user frames | kernel frames ] ─> ring buffer, as much as is used
 */
import {
  BPF_RB_AVAIL_DATA,
  BPF_RB_NO_WAKEUP,
  PERF_SAMPLE_STACK_USER,
  PERF_TYPE_TRACEPOINT,
} from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import {
  type BpfAssembler,
  type BpfMapDefinition,
  bpfStruct,
  kernelMemberOffset,
  r0,
  r1,
  r2,
  r3,
  r7,
  r8,
  r9,
  u64,
} from '../../../kernel/bpf/index.ts';
import { listProcesses } from '../../../kernel/target/index.ts';
import { defineFormat, type FormatTarget, type HandlerContext } from '../format.ts';
import { requireRingSize } from './ring-size.ts';
import { requireStackDepth, UNWOUND_FRAMES } from './stack-depth.ts';
import { callchainOf, withoutMarks } from './stack-tables.ts';
import { blank, spaces, Wanted, wanted } from './unwind/address-spaces.ts';
import { pages, rows, rules } from './unwind/frame-tables.ts';
import { MappedBinaries, type UnwoundFile } from './unwind/mapped-binaries.ts';
import { END_LOST, END_WAITS, END_WHOLE, USER_REGISTERS, unwindUser, Walk } from './unwind/user-unwinder.ts';

const Head = bpfStruct({
  timeNs: 'u64',
  ip: 'u64',
  period: 'u64',
  pid: 'u32',
  tid: 'u32',
  cpu: 'u32',
  event: 'u32',
  userFrames: 'u32',
  kernelBytes: 'u32',
  end: 'u32',
  stackBytes: 'u32',
});

const LONGEST_WAIT_MS = 200;
const WORD = 8;
/** Pieces in which a stack is copied: together 16 KiB, less where it is near its end. */
const COPY_BYTES = [8192, 4096, 2048, 1024, 512, 256] as const;
const MOST_COPY_BYTES = COPY_BYTES.reduce((sum, bytes) => sum + bytes, 0);
/**
 * In place of frames, before a copy: registers by their numbers in asm/perf_regs.h (ax bx cx dx si di bp sp
 * ip, r8 to r15), at their places in `struct pt_regs`.
 */
const REGISTER_MASK = 0xff_01ffn;
const REGISTER_PLACES = [80, 40, 88, 96, 104, 112, 32, 152, 128, 72, 64, 56, 48, 24, 16, 8, 0];

interface Options {
  readonly depth: number;
  readonly ring: number;
}

/** One overflow. */
export interface UnwoundSample {
  readonly event: number;
  readonly pid: number;
  readonly tid: number;
  readonly cpu: number;
  readonly timeNs: bigint;
  readonly ip: bigint;
  readonly period: bigint;
  readonly callchain: readonly bigint[];
  /** Where the tables were not there yet, in place of the user's part of the chain. */
  readonly user?: { readonly registers: readonly bigint[]; readonly stack: Uint8Array };
}

/** How each binary was unwound. */
interface UnwoundFiles {
  readonly files: readonly UnwoundFile[];
}
/** More are counted. */
const MOST_NAMED_FILES = 6;

const ringMap = ({ ring }: Options): BpfMapDefinition => ({
  name: 'unwound',
  type: 'ring-buffer',
  keySizeBytes: 0,
  valueSizeBytes: 0,
  maxEntries: ring,
});

/** Places in the scratch memory of a CPU: the kernel's part stands where the user's frames end. */
function layoutOf({ depth }: Options) {
  const kernelBytes = (depth + 1) * WORD;
  // A copy of the stack stands behind them, where there is one. The verifier sees no more of its
  // size than that.
  const walkAt = Head.sizeBytes + depth * WORD + kernelBytes + 3 * COPY_BYTES[0];
  return { framesAt: Head.sizeBytes, kernelBytes, walkAt, sizeBytes: walkAt + Walk.sizeBytes };
}

const scratchMap = (options: Options): BpfMapDefinition => ({
  name: 'scratch',
  type: 'per-cpu-array',
  keySizeBytes: 4,
  valueSizeBytes: layoutOf(options).sizeBytes,
  maxEntries: 1,
});

export default defineFormat({
  name: 'unwind',
  version: 1,
  summary: 'whole call stacks of user space without frame pointers, unwound in the kernel',
  options: {
    depth: {
      type: 'count',
      default: 127,
      min: UNWOUND_FRAMES.least,
      max: UNWOUND_FRAMES.most,
      help: 'at most N frames of a stack; outer frames are cut off',
    },
    ring: {
      type: 'bytes',
      default: 1 << 22,
      min: 4096,
      max: 1 << 28,
      help: 'room for records, a power of two',
    },
  },
  plan(options, { events }) {
    if (process.arch !== 'x64')
      throw new CounterpointError(
        'ERR_FORMAT_KERNEL',
        `the format unwind knows x86-64 only, and this is ${process.arch}`,
        'Use --call-graph dwarf, or fp.',
      );
    const tracepoint = events.find(({ attr }) => attr.type === PERF_TYPE_TRACEPOINT);
    if (tracepoint !== undefined)
      throw new CounterpointError(
        'ERR_FORMAT_EVENT',
        `the format unwind has no interrupted address at the tracepoint ${tracepoint.name}`,
        'Use unwind with a clock or a counter; sample a tracepoint with -g.',
      );
    requireStackDepth('unwind', { depth: options.depth, frames: options.depth });
    requireRingSize('unwind', options.ring);
    return {
      maps: [ringMap(options), spaces, blank, wanted, rows, pages, rules],
      wake: { kind: 'filled', map: 'unwound', bytes: options.ring / 4 },
      callchains: {
        mostFrames: options.depth,
        isFoundByHandler: () => true,
        userStacks: { registers: REGISTER_MASK, bytes: MOST_COPY_BYTES },
      },
    };
  },
  onOverflow(asm, context) {
    const { options, attr } = context;
    const { framesAt, kernelBytes, walkAt } = layoutOf(options);
    asm.mapLookup(scratchMap(options), 0);
    asm.ifNull(r0, () => asm.dropRecord());
    asm.move(r7, r0);
    writeHead(asm, context);
    const request = asm.stack('request', Wanted);
    const ask = () => {
      asm.loadProcessId(r0);
      asm.store(request.fields.pid, r0);
      asm.store(request.fields.unused, 0);
      asm.call('ringbuf_output', wanted, request, Wanted.sizeBytes, BPF_RB_NO_WAKEUP);
      context.notify();
    };
    asm.move(r9, 0);
    asm.store(Walk.at(r7, walkAt).end, END_WHOLE);
    // Else chains of the kernel alone are wanted.
    if ((attr.sampleType & BigInt(PERF_SAMPLE_STACK_USER)) !== 0n)
      unwindUser(asm, { walkAt, framesAt, depth: options.depth, taskMm: taskMm(), ask });
    const head = Head.at(r7);
    giveUpCopies(asm, options, walkAt);
    asm.load(r1, Walk.at(r7, walkAt).end);
    asm.store(head.end, r1);
    asm.if(r1, '==', END_WAITS, () => asm.move(r9, REGISTER_PLACES.length));
    asm.store(head.userFrames, r9);
    asm.shiftLeft(r9, 3);
    asm.move(r8, 0);
    if (attr.flags.excludeCallchainKernel !== 1) {
      asm.move(r1, r7);
      asm.add(r1, r9);
      asm.call('get_stack', asm.context, u64(r1, framesAt), kernelBytes, 0);
      asm.if(r0, 's>', 0, () => asm.move(r8, r0));
    }
    asm.store(head.kernelBytes, r8);
    asm.add(r8, r9);
    asm.add(r8, framesAt);
    asm.store(head.stackBytes, 0);
    asm.load(r1, head.end);
    asm.if(r1, '==', END_WAITS, () => copyStack(asm, framesAt));
    asm.call('ringbuf_output', ringMap(options), u64(r7), r8, BPF_RB_NO_WAKEUP);
    asm.if(r0, '!=', 0, () => context.countLoss('ring-full'));
  },
  async *collect(maps, { openRing, next, target, countLoss }): AsyncGenerator<UnwoundSample | UnwoundFiles> {
    const code = new MappedBinaries(maps);
    try {
      using ring = openRing(maps.get('unwound')!);
      using requests = openRing(maps.get('wanted')!);
      for (const pid of processesOf(target)) code.look(pid);
      for (let isLast = false; !isLast; ) {
        isLast = (await next(code.isWaiting ? 0 : LONGEST_WAIT_MS)) === 'stopped';
        while (requests.reader.next()) code.ask(Wanted.read(requests.reader.payload()).pid);
        requests.reader.commit();
        while (ring.reader.next()) {
          const { sample, end } = sampleIn(ring.reader.payload());
          if (end === END_LOST) countLoss('stack-lost', 1, { event: sample.event, cpu: sample.cpu });
          yield sample;
        }
        ring.reader.commit();
        if (!isLast) await code.loadNext();
      }
      yield { files: code.files() };
    } finally {
      await code.close();
    }
  },
  *toSamples(result) {
    if ('callchain' in result) yield result;
  },
  *describe(result) {
    if ('files' in result) yield* fileLines(result.files);
  },
});

/** `by frame information: 12 binaries`, and each other one with the reason. */
function* fileLines(files: readonly UnwoundFile[]): Generator<string> {
  const count = files.filter(({ way }) => way === 'frame information').length;
  yield `unwound by frame information: ${count} ${count === 1 ? 'binary' : 'binaries'}`;
  const others = files.filter(({ way }) => way !== 'frame information');
  for (const { path, way, why } of others.slice(0, MOST_NAMED_FILES))
    yield `unwound by ${way}: ${path} (${why})`;
  const more = others.length - MOST_NAMED_FILES;
  if (more > 0) yield `and ${more} more by frame pointers or copies`;
}

let knownTaskMm: number | null = null;

/** Throws where the kernel does not say where a task's memory is. */
function taskMm(): number {
  knownTaskMm ??= kernelMemberOffset('task_struct', 'mm');
  if (knownTaskMm !== null) return knownTaskMm;
  throw new CounterpointError(
    'ERR_FORMAT_KERNEL',
    'the format unwind needs the type information (BTF) of the kernel, and this one has none',
    'Use a kernel with CONFIG_DEBUG_INFO_BTF, as those of distributions are; or --call-graph dwarf.',
  );
}

/** Whose code is mapped already. */
function processesOf({ kind, ids }: FormatTarget): readonly number[] {
  return kind === 'cpus' ? listProcesses() : ids;
}

function writeHead(asm: BpfAssembler, { event }: HandlerContext<Options>): void {
  const head = Head.at(r7);
  asm.loadContext(r1, 'ip');
  asm.store(head.ip, r1);
  asm.loadContext(r1, 'samplePeriod');
  asm.store(head.period, r1);
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

/**
 * Where the ring is half full, the frames found so far are all there is: copies would fill it, and whole
 * samples be lost.
 */
function giveUpCopies(asm: BpfAssembler, options: Options, walkAt: number): void {
  const { end } = Walk.at(r7, walkAt);
  asm.load(r1, end);
  asm.if(r1, '==', END_WAITS, () => {
    asm.call('ringbuf_query', ringMap(options), BPF_RB_AVAIL_DATA);
    asm.if(r0, '>', options.ring / 2, () => asm.store(end, END_LOST));
  });
}

/** r7: the record, r8: its size, which grows by the copy. */
function copyStack(asm: BpfAssembler, framesAt: number): void {
  const head = Head.at(r7);
  const stackPointer = asm.stack('stack pointer', 8);
  asm.call('get_current_task_btf');
  asm.call('task_pt_regs', r0);
  REGISTER_PLACES.forEach((place, index) => {
    asm.load(r1, u64(r0, place));
    asm.store(u64(r7, framesAt + index * WORD), r1);
  });
  asm.load(r1, u64(r0, USER_REGISTERS.rsp));
  asm.store(stackPointer, r1);
  // As much as is there, piece by piece.
  for (const bytes of COPY_BYTES) {
    asm.load(r2, head.stackBytes);
    asm.and(r2, 2 * COPY_BYTES[0] - 1);
    asm.load(r3, stackPointer);
    asm.add(r3, r2);
    asm.move(r1, r7);
    asm.add(r1, r8);
    asm.add(r1, r2);
    asm.call('probe_read_user', u64(r1), bytes, r3);
    asm.if(r0, '==', 0, () => {
      asm.load(r1, head.stackBytes);
      asm.add(r1, bytes);
      asm.store(head.stackBytes, r1);
    });
  }
  asm.load(r1, head.stackBytes);
  asm.and(r1, 2 * COPY_BYTES[0] - 1);
  asm.add(r8, r1);
}

function sampleIn(bytes: Uint8Array): { sample: UnwoundSample; end: number } {
  const { userFrames, kernelBytes, stackBytes, end, ...head } = Head.read(bytes);
  const words = (from: number, to: number) => [...new BigUint64Array(bytes.slice(from, to).buffer)];
  const userEnd = Head.sizeBytes + userFrames * WORD;
  const kernelEnd = userEnd + kernelBytes;
  const user = words(Head.sizeBytes, userEnd);
  const kernel = withoutMarks(words(userEnd, kernelEnd));
  if (end !== END_WAITS) return { sample: { ...head, callchain: callchainOf(kernel, user) }, end };
  const stack = bytes.slice(kernelEnd, kernelEnd + stackBytes);
  return { sample: { ...head, callchain: callchainOf(kernel, []), user: { registers: user, stack } }, end };
}
