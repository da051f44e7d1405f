/**
 * Profiles made by hand, always the same: a small one with a bit of everything, a
 * hostile one, and one of any size.
 */
import {
  type Binary,
  type BinaryKind,
  MODE_KERNEL,
  MODE_USER,
  NONE,
  Profile,
  type ProfileEvent,
} from '../profile/tables/index.ts';
import { Random } from './random.ts';

/** Fills a profile by names instead of indices. */
export class ExampleBuilder {
  readonly profile = new Profile();
  readonly #rows = new Map<string, number>();

  event(facts: Partial<ProfileEvent> & { name: string }): number {
    return this.profile.events.push({ unit: facts.name, samples: 0, sumPeriod: 0n, lost: 0n, ...facts }) - 1;
  }

  binary(path: string, kind: BinaryKind, buildId = ''): number {
    return this.#once(`binary ${path}`, () => {
      const name = kind === 'kernel' ? path : path.slice(path.lastIndexOf('/') + 1);
      const binary: Binary = { path, name, buildId, kind };
      return this.profile.binaries.push(binary) - 1;
    });
  }

  thread(pid: number, tid: number, comm: string): number {
    return this.#once(`thread ${tid}`, () => {
      const { threads, strings } = this.profile;
      threads.tid.push(tid);
      threads.comm.push(strings.intern(comm));
      return threads.pid.push(pid);
    });
  }

  /** `symbol` null is an address without name. */
  frame(binary: number, symbol: string | null, address: bigint, symbolOffset = 0): number {
    return this.#once(`frame ${binary} ${symbol} ${address}`, () => {
      const { frames, binaries } = this.profile;
      const kind = binaries[binary]!.kind;
      return frames.add({
        binary,
        symbol: symbol === null ? NONE : this.#symbol(binary, symbol),
        addressLo: Number(address & 0xffff_ffffn) | 0,
        addressHi: Number(address >> 32n) | 0,
        symbolOffset,
        mode: kind === 'kernel' || kind === 'module' ? MODE_KERNEL : MODE_USER,
      });
    });
  }

  #symbol(binary: number, name: string): number {
    return this.#once(`symbol ${binary} ${name}`, () => {
      this.profile.symbols.name.push(this.profile.strings.intern(name));
      return this.profile.symbols.binary.push(binary);
    });
  }

  /** Outermost frame first; the row of the innermost. */
  stack(frames: readonly number[]): number {
    let row = NONE;
    for (const frame of frames) {
      const prefix = row;
      row = this.#once(`stack ${prefix} ${frame}`, () => {
        this.profile.stacks.prefix.push(prefix);
        return this.profile.stacks.frame.push(frame);
      });
    }
    return row;
  }

  sample(facts: {
    timeNs: number;
    thread: number;
    stack: number;
    event?: number;
    weight?: number;
    comm?: string;
    cpu?: number;
  }): void {
    const { samples, threads, strings, events } = this.profile;
    const event = facts.event ?? 0;
    const weight = facts.weight ?? 1;
    const { timeNs, thread, stack, cpu = 0 } = facts;
    const comm = facts.comm === undefined ? threads.comm.at(thread) : strings.intern(facts.comm);
    samples.add(timeNs, thread, comm, cpu, event, stack, weight, 1);
    const known = events[event]!;
    known.samples++;
    known.sumPeriod += BigInt(weight);
  }

  #once(key: string, make: () => number): number {
    let row = this.#rows.get(key);
    if (row === undefined) this.#rows.set(key, (row = make()));
    return row;
  }
}

const PERIOD_NS = 250_000;
const KERNEL_TEXT = 0xffff_ffff_8100_0000n;

/**
 * A Node program with a worker: JavaScript in three tiers, native, inlined, kernel and
 * unknown code, two events, losses.
 */
export function smallProfile(): Profile {
  const builder = new ExampleBuilder();
  const { profile } = builder;
  const clock = builder.event({ name: 'cpu-clock', unit: 'nanoseconds' });
  const faults = builder.event({ name: 'page-faults' });

  const node = builder.binary('/usr/bin/node', 'user', 'd3e4c2a1b8f612349abcdef0123456780badcafe');
  const libc = builder.binary(
    '/usr/lib/x86_64-linux-gnu/libc.so.6',
    'user',
    '58254ca972028402bc40624f81388d85',
  );
  const kernel = builder.binary('[kernel.kallsyms]', 'kernel');
  const jit = builder.binary('/tmp/perf-4242.map', 'jit');

  const start = builder.frame(libc, '__libc_start_main', 0x29d90n, 0x80);
  const main = builder.frame(node, 'node::Start(int, char**)', 0xb1000n, 0x10);
  const mainLater = builder.frame(node, 'node::Start(int, char**)', 0xb1044n, 0x54);
  const run = builder.frame(jit, 'JS:~run /app/demo.js:40:14', 0x7f10_0000_1000n);
  const fib = builder.frame(jit, 'JS:*fib /app/demo.js:3:13', 0x7f10_0000_2000n, 0x20);
  const sort = builder.frame(jit, 'JS:^sort words /app/lib/sort text.js:10:5', 0x7f10_0000_3000n);
  const anonymous = builder.frame(jit, 'JS:+ node:internal/process/task_queues:67:35', 0x7f10_0000_4000n);
  const builtin = builder.frame(jit, 'Builtin:ArrayPrototypeSort', 0x7f10_0000_5000n);
  const inlined = builder.frame(node, 'v8::internal::Heap::Size() (inlined)', 0xc2000n);
  const collect = builder.frame(node, 'v8::internal::Heap::CollectGarbage', 0xc2010n, 0x10);
  const unknown = builder.frame(node, null, 0xdeadn);
  const read = builder.frame(libc, 'read', 0x10e1e0n);
  const syscall = builder.frame(kernel, 'entry_SYSCALL_64_after_hwframe', KERNEL_TEXT + 0xc0_0130n, 0x76);
  const vfsRead = builder.frame(kernel, 'vfs_read', KERNEL_TEXT + 0x3b_1000n);
  const copy = builder.frame(kernel, 'copy_user_enhanced_fast_string', KERNEL_TEXT + 0xa0_5010n, 0xe);

  const mainThread = builder.thread(4242, 4242, 'node');
  const worker = builder.thread(4242, 4250, 'DelayedTaskSche');

  const recursive = [start, main, run, fib, fib, fib];
  const stacks = [
    [recursive, 40],
    [recursive.slice(0, 5), 12],
    [[start, mainLater, run, sort, builtin], 25],
    [[start, main, anonymous, sort], 8],
    [[start, main, collect, inlined], 9],
    [[start, main, unknown], 3],
    [[start, main, run, read, syscall, vfsRead, copy], 11],
    [[start, main, run, read, syscall], 2],
  ] as const;
  let timeNs = 0;
  for (const [frames, count] of stacks) {
    const stack = builder.stack(frames);
    for (let at = 0; at < count; at++) {
      builder.sample({ timeNs, thread: mainThread, stack, event: clock, weight: PERIOD_NS });
      timeNs += PERIOD_NS + (at % 7) * 1000;
    }
  }
  const idle = builder.stack([read, syscall]);
  for (let at = 0; at < 10; at++) {
    builder.sample({
      timeNs: at * 2_000_000,
      thread: worker,
      stack: idle,
      event: clock,
      weight: PERIOD_NS,
      cpu: 1,
    });
  }
  // Before its exec the thread had another name, and a sample of no stack.
  builder.sample({
    timeNs: 0,
    thread: mainThread,
    stack: NONE,
    event: clock,
    weight: PERIOD_NS,
    comm: 'perf exec 1',
  });
  builder.sample({ timeNs: 5000, thread: mainThread, stack: builder.stack(recursive), event: faults });

  profile.baseTimeNs = 81_000_000_000_000n;
  profile.meta = {
    hostname: 'example',
    osRelease: '6.18.0',
    arch: 'x86_64',
    cpuCount: 2,
    cpuDescription: 'Example CPU @ 3.0 GHz',
    commandLine: ['/usr/bin/node', 'demo.js', '--size=5 <big> & "quoted"'],
    startTimeUnixMs: 1_764_000_000_123,
  };
  profile.loss = [
    {
      kind: 'ring-full',
      event: null,
      cpu: 1,
      tid: null,
      fromNs: '81000004000000',
      toNs: '81000006000000',
      count: '1204',
      unit: 'records',
      exact: true,
    },
    {
      kind: 'lost-samples',
      event: 'cpu-clock',
      cpu: null,
      tid: 4250,
      fromNs: null,
      toNs: '81000009000000',
      count: '17',
      unit: 'samples',
      exact: false,
    },
  ];
  return profile;
}

/** Names that break what does not escape them. */
export const HOSTILE_NAMES = [
  '</script><script>alert(1)</script>',
  ']]>',
  '<!--',
  '& &amp; "quotes" \'single\' `ticks` $\u007bx}',
  'semi;colon;name',
  'two\nlines\r\nand\ttabs\u0000\u0007\u001b[31m',
  'lone \ud800 and \udc00 surrogates',
  '\ufffe\uffff\u2028\u2029',
  'ends in a number 12',
  ' 7',
  '',
  '日本語の関数',
  '👩‍👩‍👧‍👦 family',
  '__proto__',
  'constructor',
  'x'.repeat(1_000_000),
] as const;

/** Every hostile name as a function, a command and a binary. */
export function hostileProfile(): Profile {
  const builder = new ExampleBuilder();
  builder.event({ name: 'cycles </script>', unit: 'cycles' });
  for (const [index, name] of HOSTILE_NAMES.entries()) {
    const binary = builder.binary(`/lib/${name}`, 'user', 'not hex');
    const stack = builder.stack([
      builder.frame(binary, name, BigInt(index)),
      builder.frame(binary, null, 0xffff_ffff_ffff_ffffn - BigInt(index)),
    ]);
    const thread = builder.thread(-1, index, name);
    builder.sample({ timeNs: Number.NaN, thread, stack, weight: 1000 + index });
  }
  builder.profile.meta.commandLine = [...HOSTILE_NAMES];
  builder.profile.damage = [{ code: 'BAD\nRECORD 7', count: 3, firstOffset: 4096 }];
  return builder.profile;
}

/**
 * A profile of `sampleCount` samples over about `stackCount` distinct stacks, up to 40 deep, four threads,
 * weights skewed as real ones are: a few stacks take most samples.
 */
export function bigProfile(sampleCount: number, stackCount: number): Profile {
  const numbers = new Random(42);
  const random = () => numbers.u32() / 0x1_0000_0000;
  const builder = new ExampleBuilder();
  const { profile } = builder;
  builder.event({ name: 'cpu-clock', unit: 'nanoseconds' });
  const binaries = [
    builder.binary('/usr/bin/node', 'user', 'd3e4c2a1b8f612349abcdef012345678'),
    builder.binary('/usr/lib/libstdc++.so.6', 'user', '0123456789abcdef0123456789abcdef'),
    builder.binary('[kernel.kallsyms]', 'kernel'),
    builder.binary('/tmp/perf-1.map', 'jit'),
  ];
  const frameCount = 20_000;
  const frames = Array.from({ length: frameCount }, (_, index) => {
    const binary = binaries[index % binaries.length]!;
    const place = Math.floor(index / 3);
    const name =
      index % 4 === 3
        ? `JS:*task${place} /app/src/part${place % 90}.js:${place % 900}:5`
        : `function_${place}`;
    const base = index % 4 === 2 ? KERNEL_TEXT : 0x1000n;
    return builder.frame(binary, name, base + BigInt(index * 16), index % 3);
  });
  const { prefix, frame } = profile.stacks;
  const leaves = new Int32Array(stackCount);
  const path = new Int32Array(41).fill(NONE);
  for (let leaf = 0; leaf < stackCount; leaf++) {
    // Each stack shares a part of the one before it.
    let depth = Math.floor(random() * 36);
    while (depth > 0 && path[depth - 1] === NONE) depth--;
    const end = Math.min(40, depth + 1 + Math.floor(random() * 6));
    for (; depth < end; depth++) {
      prefix.push(depth === 0 ? NONE : path[depth - 1]!);
      path[depth] = frame.push(frames[Math.floor(random() * random() * frameCount)]!);
    }
    path.fill(NONE, end);
    leaves[leaf] = path[end - 1]!;
  }
  const threads = [0, 1, 2, 3].map((index) =>
    builder.thread(1000, 1000 + index, index === 0 ? 'node' : 'worker'),
  );
  const { samples } = profile;
  for (let index = 0; index < sampleCount; index++) {
    const thread = threads[Math.floor(random() * threads.length)]!;
    samples.timeNs.push(index * 10_000 + Math.floor(random() * 5000));
    samples.thread.push(thread);
    samples.comm.push(profile.threads.comm.at(thread));
    samples.cpu.push(index % 2);
    samples.event.push(0);
    samples.stack.push(index < stackCount ? leaves[index]! : leaves[Math.floor(random() ** 3 * stackCount)]!);
    samples.weight.push(PERIOD_NS);
    samples.count.push(1);
  }
  profile.events[0]!.samples = sampleCount;
  profile.events[0]!.sumPeriod = BigInt(sampleCount) * BigInt(PERIOD_NS);
  profile.meta.commandLine = ['/usr/bin/node', 'big.js'];
  return profile;
}
