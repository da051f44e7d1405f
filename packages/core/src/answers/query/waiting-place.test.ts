/** Off-CPU time and tracepoints: rows are places in the program. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordedEvent } from '../../file-formats/perfdata/index.ts';
import { PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT } from '../../format/abi/index.ts';
import { trimTracing } from '../../profile/ingest/tracing-machinery.ts';
import { assertTableInvariants, frameName, type Profile } from '../../profile/tables/index.ts';
import { ExampleBuilder } from '../../test/example-profile.ts';
import { offCpu, topFunctions } from '../index.ts';

const KERNEL = 0xffff_ffff_8100_0000n;

/**
 * Stacks of one event, outermost first: `k:` in the kernel, `c:` in libc, `j:` JIT code, `u:` in no
 * file, else the program.
 */
function profileOf(
  event: string,
  stacks: readonly (readonly string[])[],
  type = PERF_TYPE_TRACEPOINT,
): Profile {
  const builder = new ExampleBuilder();
  const index = builder.event({ name: event, unit: event });
  const binaries = {
    k: builder.binary('[kernel.kallsyms]', 'kernel'),
    c: builder.binary('/usr/lib/libc.so.6', 'user'),
    j: builder.binary('/tmp/perf-10.map', 'jit'),
    p: builder.binary('/usr/bin/node', 'user'),
    u: builder.binary('[unknown]', 'user'),
  };
  const addresses = new Map<string, bigint>();
  const frame = (word: string) => {
    const at = addresses.get(word) ?? BigInt(addresses.size + 1) * 16n;
    addresses.set(word, at);
    const isMarked = /^[kcju]:/.test(word);
    const kind = (isMarked ? word[0] : 'p') as keyof typeof binaries;
    const name = isMarked ? word.slice(2) : word;
    return builder.frame(binaries[kind], name === '?' ? null : name, kind === 'k' ? KERNEL + at : at);
  };
  const threads = [builder.thread(10, 10, 'node'), builder.thread(10, 11, 'node')];
  stacks.forEach((words, at) => {
    const stack = builder.stack(words.map(frame));
    builder.sample({ timeNs: at, thread: threads[at % 2]!, stack, event: index, weight: 1e9 });
  });
  const events = [{ index: 0, name: event, attr: { type } }] as unknown as RecordedEvent[];
  trimTracing(builder.profile, events);
  assertTableInvariants(builder.profile);
  return builder.profile;
}

/** The innermost function of the only stack. */
function placeOf(event: string, stack: readonly string[], type?: number): string {
  const profile = profileOf(event, [stack], type);
  return frameName(profile, profile.stacks.frame.at(profile.samples.stack.at(0)));
}

test('a tracepoint is hit by who calls the tracing', () => {
  const tracing = ['k:__traceiter_kmalloc', 'k:perf_trace_kmalloc'];
  assert.equal(placeOf('kmem:kmalloc', ['main', 'k:vfs_read', 'k:__kmalloc', ...tracing]), '__kmalloc');
  // In another event a function of the kernel may be the place.
  assert.equal(placeOf('kmem:kmalloc', ['main', 'k:schedule', ...tracing]), 'schedule');
  // A function of the program may have such a name.
  assert.equal(placeOf('kmem:kmalloc', ['main', '__traceiter_mine']), '__traceiter_mine');
  assert.equal(
    placeOf('cpu-clock', ['main', 'k:__traceiter_kmalloc'], PERF_TYPE_SOFTWARE),
    '__traceiter_kmalloc',
  );
  // Without call chains there is nothing else.
  assert.equal(placeOf('kmem:kmalloc', ['k:__traceiter_kmalloc']), '__traceiter_kmalloc');
});

test('a system call is of the function that made it', () => {
  const entry = [
    'k:entry_SYSCALL_64_after_hwframe',
    'k:do_syscall_64',
    'k:syscall_trace_enter.isra.0',
    'k:__traceiter_sys_enter',
  ];
  assert.equal(placeOf('raw_syscalls:sys_enter', ['main', 'c:read', ...entry]), 'read');
  assert.equal(
    placeOf('syscalls:sys_enter_read', ['main', 'c:read', ...entry, 'k:perf_syscall_enter']),
    'read',
  );
});

test('a switch is where the thread waits, or where the CPU was taken from it', () => {
  const out = ['k:schedule', 'k:__schedule', 'k:__traceiter_sched_switch'];
  const call = ['k:entry_SYSCALL_64_after_hwframe', 'k:do_syscall_64'];
  assert.equal(
    placeOf('sched:sched_switch', ['main', 'c:poll', ...call, 'k:do_epoll_wait', ...out]),
    'do_epoll_wait',
  );
  assert.equal(
    placeOf('sched:sched_switch', [
      'main',
      'work',
      'k:asm_sysvec_apic_timer_interrupt',
      'k:irqentry_exit_to_user_mode',
      ...out,
    ]),
    'work',
  );
});

const WAIT = [
  'k:do_syscall_64',
  'k:futex_do_wait',
  'k:schedule',
  'k:__schedule',
  'k:__traceiter_sched_switch',
];

test('who was off the CPU: JavaScript, else the program, else a library; the main thread apart', () => {
  const profile = profileOf(
    'offcpu-time',
    [
      [
        'main',
        'j:JS:*serve /app/server.js:2:1',
        'j:JS:*nap /app/server.js:1:1',
        'Builtins_AtomicsWait',
        'c:pthread_cond_wait',
        ...WAIT,
      ],
      ['worker', 'uv_cond_wait', 'c:pthread_cond_wait', ...WAIT],
      ['c:pthread_cond_wait', ...WAIT],
      ['worker', 'uv_cond_wait', 'c:pthread_cond_wait', ...WAIT],
      ['main', 'uv__io_poll', 'c:epoll_pwait', ...WAIT],
    ],
    PERF_TYPE_SOFTWARE,
  );
  const answer = topFunctions(profile);
  assert.deepEqual(answer.sort, ['comm', 'role', 'dso', 'symbol']);
  assert.deepEqual(answer.rows.map(({ role, symbol, samples }) => `${role} ${symbol} ${samples}`).sort(), [
    'main JS:*nap /app/server.js:1:1 1',
    'main pthread_cond_wait 1',
    'main uv__io_poll 1',
    'other worker 2',
  ]);
});

test('addresses that are in no file are one row of nobody', () => {
  const { rows } = offCpu(
    profileOf(
      'offcpu-time',
      [
        ['u:?', ...WAIT],
        ['main', ...WAIT],
        ['u:other', ...WAIT],
      ],
      PERF_TYPE_SOFTWARE,
    ),
  );
  const waiting = rows.filter(({ wait }) => wait !== null);
  assert.deepEqual(waiting.map(({ symbol, dso }) => `${symbol} ${dso}`).sort(), [
    '[unknown] [unknown]',
    'main node',
    'other [unknown]',
  ]);
});
