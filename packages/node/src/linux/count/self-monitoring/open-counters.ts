import { PERF_TYPE_BREAKPOINT, PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import { CounterpointError, optional } from '@counterpoint/core/base';
import {
  checkOptions,
  either,
  listOf,
  type OptionsOf,
  oneOf,
  required,
  TEXT,
} from '../../../host/options/index.ts';
import { type SystemEventLookup, systemEventLookup } from '../../kernel/local-pmus/index.ts';
import { readKernelFile } from '../../kernel/probe/index.ts';
import { type Mapping, realSys, requireLinux, type Sys, SysError } from '../../kernel/sys/index.ts';
import { Counters, type CountersEvent } from './counters.ts';
import type { SelfMonitoringNote } from './notes.ts';
import { type OpenEvents, openOwnEvents, parseOwnEvents } from './open-events.ts';
import { hasPageClock, hasUserCounter, PageReader } from './page-reader.ts';
import { MOST_STUB_EVENTS, type StubRequest } from './stub-request.ts';
import { userAccess } from './user-access.ts';

/** Options of `counters()`. */
export interface CountersOptions {
  /** `read`: always by system call. */
  access?: 'auto' | 'read';
}

/** What tests put in the place of the machine. */
export interface CountersMachine {
  /** @internal */
  sys?: Sys;
  lookup?: SystemEventLookup;
  /** kernel.perf_user_access. */
  userAccessSetting?: number | null;
  counterInstruction?: StubRequest['counterInstruction'];
}

/** Counted by the kernel's own code, so that there is no counter to read. */
const COUNTED_BY_KERNEL: ReadonlySet<number> = new Set([
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
  PERF_TYPE_BREAKPOINT,
]);

const OPTIONS: OptionsOf<CountersOptions> = { access: oneOf('auto', 'read') };
const EVENTS = {
  events: required({
    ...either(TEXT, listOf(TEXT, 'a list of texts')),
    expects: "text or a list of texts, such as ['instructions', 'cycles']",
    code: 'ERR_EVENTS',
  }),
};

let machineLookup: SystemEventLookup | null = null;

/**
 * Count events of the calling thread, from now on. Each text is an event or a list of events, in perf's
 * grammar. Braces (`{}`) put events into one group. Events outside braces share a group as far as the
 * hardware counters suffice. Throws CounterpointError: `ERR_EVENT_SYNTAX`, `ERR_EVENT_UNSUPPORTED` if this
 * machine does not have the event, `ERR_PERF_PERMISSION`, ...
 */
export function counters(events: string | readonly string[], options: CountersOptions = {}): Counters {
  return openCounters(events, options);
}

export function openCounters(
  events: string | readonly string[],
  options: CountersOptions = {},
  machine: CountersMachine = {},
): Counters {
  requireLinux('counters()');
  checkOptions('counters()', { events }, EVENTS);
  checkOptions('counters()', options, OPTIONS);
  machineLookup ??= systemEventLookup();
  const { sys = realSys, lookup = machineLookup, userAccessSetting, counterInstruction } = machine;
  const notes: SelfMonitoringNote[] = [];
  const access = userAccess(lookup, userAccessSetting);
  const texts = typeof events === 'string' ? [events] : events;
  const parsed = parseOwnEvents(texts, lookup);
  const opened = openOwnEvents(parsed, { sys, access, notes });
  const pages: Mapping[] = [];
  let reader: PageReader | null = null;
  try {
    const isMapped = options.access !== 'read' && mapPages(sys, opened, pages, notes);
    const readsEvents = isMapped && areReadable(opened, pages, access.obstacle, notes);
    const clockPage = isMapped && hasPageClock(pages[0]!) ? pages[0]! : null;
    reader = openReader(
      sys,
      {
        pages: readsEvents ? pages : [],
        clockPage,
        ...optional({ counterInstruction }),
      },
      notes,
    );
    const made = new Counters({
      sys,
      events: describe(opened),
      fds: opened.events.map(({ fd }) => fd),
      groups: opened.groups.map(({ members }) => members),
      pages,
      reader,
      readsEvents: readsEvents && reader !== null,
      clock: clockPage !== null && reader !== null ? 'perf' : 'monotonic',
      notes,
    });
    for (const { members } of opened.groups) sys.enable(opened.events[members[0]!]!.fd);
    return made;
  } catch (error) {
    reader?.close();
    for (const page of pages) page.close();
    for (const { fd } of opened.events) fd.close();
    throw error;
  }
}

function describe({ events, groups }: OpenEvents): CountersEvent[] {
  return events.map(({ parsed, name }, index) => ({
    requestedName: parsed.name,
    name,
    group: groups.findIndex(({ members }) => members.includes(index)),
    ...optional({ unit: parsed.unit, scale: parsed.scale }),
  }));
}

function mapPages(sys: Sys, { events }: OpenEvents, pages: Mapping[], notes: SelfMonitoringNote[]): boolean {
  try {
    for (const { fd } of events) pages.push(sys.mapEventPage(fd));
    return true;
  } catch (error) {
    if (!(error instanceof SysError)) throw error;
    for (const page of pages.splice(0)) page.close();
    const text = `the state of the counters cannot be mapped, so they are read by a system call: ${error.message}; kernel.perf_event_mlock_kb and ulimit -l limit it`;
    notes.push({ kind: 'no-user-access', text });
    return false;
  }
}

/** Whether all events may have counters that code can read; why not, where that is not in their nature. */
function areReadable(
  { events }: OpenEvents,
  pages: readonly Mapping[],
  obstacle: string | null,
  notes: SelfMonitoringNote[],
): boolean {
  const hardware = events.filter(({ parsed }) => !COUNTED_BY_KERNEL.has(parsed.attr.type));
  if (pages.every(hasUserCounter) && events.length <= MOST_STUB_EVENTS) return true;
  if (hardware.length === 0) return false;
  notes.push({ kind: 'no-user-access', text: obstacle ?? whyNotReadable(events, pages) });
  return false;
}

function whyNotReadable(events: OpenEvents['events'], pages: readonly Mapping[]): string {
  if (events.length > MOST_STUB_EVENTS)
    return `more than ${MOST_STUB_EVENTS} events are read by a system call`;
  const without = events.filter((_, i) => !hasUserCounter(pages[i]!));
  const ofKernel = without.find(({ parsed }) => COUNTED_BY_KERNEL.has(parsed.attr.type));
  if (ofKernel !== undefined)
    return `${ofKernel.name} is counted by the kernel itself, so all events are read by a system call; count it separately`;
  const setting = readKernelFile('/sys/bus/event_source/devices/cpu/rdpmc');
  const remedy = setting === '0' ? '; echo 1 > /sys/bus/event_source/devices/cpu/rdpmc allows it' : '';
  return `the kernel gives ${without[0]!.name} no counter that a program may read itself, so all events are read by a system call${remedy}`;
}

function openReader(
  sys: Sys,
  request: ConstructorParameters<typeof PageReader>[1],
  notes: SelfMonitoringNote[],
): PageReader | null {
  try {
    return new PageReader(sys, request);
  } catch (error) {
    if (!(error instanceof CounterpointError)) throw error;
    if (request.pages.length > 0) {
      const text = `counters are read by a system call, because this process may not run code that it made: ${error.message}`;
      notes.push({ kind: 'no-user-access', text });
    }
    return null;
  }
}
