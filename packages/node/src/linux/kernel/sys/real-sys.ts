import { bpfCalls } from './bpf-calls.ts';
import { epollCalls } from './epoll-calls.ts';
import { lockCalls } from './lock-calls.ts';
import { memoryCalls } from './memory-calls.ts';
import { perfEventCalls } from './perf-event-calls.ts';
import type { Sys } from './sys.ts';
import { systemCalls } from './system-calls.ts';
import { threadCalls } from './thread-calls.ts';
import { tracefsCalls } from './tracefs-calls.ts';

/** The kernel of this machine. */
export const realSys: Sys = {
  ...perfEventCalls,
  ...tracefsCalls,
  ...bpfCalls,
  ...memoryCalls,
  ...epollCalls,
  ...lockCalls,
  ...threadCalls,
  ...systemCalls,
};
