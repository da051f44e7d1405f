import { CounterpointError } from '@counterpoint/core/base';
import type { ParsedEvent } from '@counterpoint/core/events';
import { systemEventLookup } from '../../kernel/local-pmus/index.ts';
import type { RecordOptions } from './options.ts';
import { resolveEvents } from './request.ts';

/** The calls in which libuv and others wait; which of them there are depends on machine and kernel. */
const WAIT_CALLS = ['epoll_wait', 'epoll_pwait', 'epoll_pwait2'];
const CLOCK = 'cpu-clock/freq=999,name=cpu-clock/';
/** At the rate that was asked for. */
const CLOCK_AT_RATE = 'cpu-clock';
const SWITCHES = 'context-switches/period=1,name=context-switches/';

/** The events of a recording of event loops, with all that belongs to them. */
export async function withEventLoops(
  options: RecordOptions,
): Promise<RecordOptions & { events: ParsedEvent[] }> {
  if ((options.formats ?? []).length > 0)
    throw new CounterpointError(
      'ERR_FORMAT_EVENT',
      'event loops are recorded as the kernel has its records, so not with sampling formats',
      'Leave out the formats.',
    );
  const waits = await waitEvents();
  const { events, frequency, period } = options;
  const clock = frequency === undefined && period === undefined ? CLOCK : CLOCK_AT_RATE;
  const sampled = events === undefined || events.length === 0 ? clock : events;
  return {
    ...options,
    callGraph: true,
    events: [...(await resolveEvents(sampled)), ...(await resolveEvents(SWITCHES)), ...waits],
  };
}

async function waitEvents(): Promise<ParsedEvent[]> {
  const lookup = systemEventLookup();
  const names = WAIT_CALLS.flatMap((call) => [`sys_enter_${call}`, `sys_exit_${call}`]);
  const known = names.filter((name) => typeof lookup.tracepoint('syscalls', name) === 'number');
  if (known.length === 0) {
    const absent = lookup.tracepoint('syscalls', names[0]!);
    if (absent !== null && typeof absent !== 'number')
      throw new CounterpointError(
        'ERR_TRACEFS',
        `event loops are watched by tracepoints of system calls, but ${absent.unavailable}`,
        absent.remedy,
      );
    // Says why there are none, and what to do.
    return await resolveEvents(`syscalls:${names[0]}`);
  }
  // Places of waits say nothing, and there are very many.
  return await resolveEvents(known.map((name) => `syscalls:${name}/period=1,call-graph=no/`));
}
