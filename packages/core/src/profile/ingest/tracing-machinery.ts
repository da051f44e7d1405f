/**
 * Where a tracepoint was hit. Its samples are taken inside of the kernel's tracing, so the innermost
 * functions are always the same:
 *
 *     __traceiter_sched_switch     the tracing
 *     __schedule, schedule         what every hit of this tracepoint goes through
 *     futex_do_wait                where it was hit
 *     do_syscall_64 ...
 */

import type { RecordedEvent } from '../../file-formats/perfdata/index.ts';
import { PERF_TYPE_TRACEPOINT } from '../../format/abi/index.ts';
import { isOffCpuEvent, MODE_KERNEL, NONE, type Profile } from '../tables/index.ts';

/** Names may end in `.isra.0` and the like. */
const TRACING =
  /^(?:__traceiter_|trace_event_raw_event_|trace_event_buffer_|perf_trace_|__bpf_trace_|bpf_trace_run\d|bpf_prog_[0-9a-f]{16}|bpf_get_stack|bpf_trampoline_|trace_call_bpf|perf_tp_event|perf_swevent_|__perf_event_overflow|perf_event_output)/;

/**
 * From user space to the tracing of a system call and back: `read` of a program is the
 * place, not the way into the kernel.
 */
const SYSTEM_CALL_ENTRY =
  /^(?:perf_syscall_|ftrace_syscall_|trace_sys_|trace_syscall_|syscall_trace_|syscall_enter|syscall_exit|__syscall_|do_syscall_64|x64_sys_call|do_int80|__do_fast_syscall|do_fast_syscall|entry_SYS|entry_INT80|invoke_syscall|el0_svc|do_el0_svc|el0t_64_sync)/;

/** The scheduler itself, and the ends of interrupts and system calls in which it takes the CPU away. */
const SCHEDULING =
  /^(?:__schedule|schedule|io_schedule|preempt_schedule|__cond_resched|irqentry_exit|exit_to_user_mode|asm_sysvec_|sysvec_|asm_exc_|asm_common_interrupt|asm_fred|ret_from_fork)/;

const OF_SYSTEM_CALLS = /^(?:raw_)?syscalls:/;
const OF_SCHEDULER = /^sched:sched_(?:switch|stat_)/;

/**
 * Whether a function of the kernel is on the way to the scheduler, or from it: not what a thread waits for.
 */
export function isScheduling(name: string): boolean {
  return SCHEDULING.test(name) || SYSTEM_CALL_ENTRY.test(name) || TRACING.test(name);
}

/** Whether an event's samples are taken by the kernel's tracing. */
export function isTraced(event: RecordedEvent): boolean {
  return event.attr.type === PERF_TYPE_TRACEPOINT || isOffCpuEvent(event.name);
}

/**
 * Makes the samples of tracepoints end where they were hit. A stack of tracing alone,
 * without a caller, stays as it is.
 */
export function trimTracing(profile: Profile, events: readonly RecordedEvent[]): void {
  const trimmers = events.map((event) => (isTraced(event) ? new Trimmer(profile, event.name) : null));
  if (trimmers.every((trimmer) => trimmer === null)) return;
  const { samples } = profile;
  for (let row = 0; row < samples.length; row++) {
    const trimmer = trimmers[samples.event.at(row)];
    const stack = samples.stack.at(row);
    if (trimmer != null && stack !== NONE) samples.stack.data[row] = trimmer.placeOf(stack);
  }
}

class Trimmer {
  readonly #profile: Profile;
  readonly #patterns: RegExp[];
  readonly #bySymbol = new Map<number, boolean>();
  readonly #byStack = new Map<number, number>();

  constructor(profile: Profile, event: string) {
    this.#profile = profile;
    // Of time off the CPU whole stacks are asked for, and rows are users' functions:
    // see answers/query/waiting-place.ts.
    const isOfScheduler = OF_SCHEDULER.test(event);
    this.#patterns = [
      TRACING,
      ...(isOfScheduler || OF_SYSTEM_CALLS.test(event) ? [SYSTEM_CALL_ENTRY] : []),
      ...(isOfScheduler ? [SCHEDULING] : []),
    ];
  }

  placeOf(stack: number): number {
    let place = this.#byStack.get(stack);
    if (place === undefined) {
      const { prefix, frame } = this.#profile.stacks;
      place = stack;
      while (place !== NONE && this.#isMachinery(frame.at(place))) place = prefix.at(place);
      if (place === NONE) place = stack;
      this.#byStack.set(stack, place);
    }
    return place;
  }

  #isMachinery(frame: number): boolean {
    const { frames, symbols, strings } = this.#profile;
    const symbol = frames.symbol.at(frame);
    if (symbol === NONE || frames.mode.at(frame) !== MODE_KERNEL) return false;
    let known = this.#bySymbol.get(symbol);
    if (known === undefined) {
      const name = strings.get(symbols.name.at(symbol));
      known = this.#patterns.some((pattern) => pattern.test(name));
      this.#bySymbol.set(symbol, known);
    }
    return known;
  }
}
