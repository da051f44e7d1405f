import { CounterpointError } from '@counterpoint/core/base';
import { type CatalogEvent, corePmus, type EventLookup, parseEvents } from '@counterpoint/core/events';
import { encodeAttrShortest } from '@counterpoint/core/records';
import { type Sys, SysError } from '../sys/index.ts';

/** Whether an event can be counted here, tried by opening it. */
export interface Availability {
  readonly state: 'available' | 'absent' | 'forbidden' | 'unknown';
  /** Empty where it is available. */
  readonly why: string;
}

const AVAILABLE: Availability = { state: 'available', why: '' };
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENODEV', 'ENXIO', 'EOPNOTSUPP', 'EINVAL', 'ENOSYS']);
const FORBIDDEN: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);

/**
 * Opens a generic event on this process, stopped and for user space only, and closes it again. Events of
 * other kinds are not tried: that a tracepoint or an uncore PMU is there is known from where it is listed.
 */
export function eventAvailability(event: CatalogEvent, lookup: EventLookup, sys: Sys): Availability {
  if (event.kind === 'tool') return AVAILABLE;
  if (event.foreign !== null)
    return { state: 'absent', why: `of ${event.foreign}, which this machine does not have` };
  if (event.kind !== 'hardware' && event.kind !== 'software' && event.kind !== 'cache') {
    return { state: 'unknown', why: 'it was not tried' };
  }
  const [parsed] = parseEvents(event.name, lookup);
  const attr = parsed!.attr;
  Object.assign(attr.flags, { disabled: 1, excludeKernel: 1, excludeHv: 1 });
  try {
    sys.perfEventOpen(encodeAttrShortest(attr), 0, -1, null).close();
    return AVAILABLE;
  } catch (error) {
    if (error instanceof CounterpointError && error.code === 'ERR_FFI')
      return { state: 'unknown', why: error.message };
    if (!(error instanceof SysError)) throw error;
    if (FORBIDDEN.has(error.code)) {
      return { state: 'forbidden', why: 'this user may not open it (counterpoint doctor says why)' };
    }
    if (!ABSENT.has(error.code)) return { state: 'unknown', why: error.message };
    return {
      state: 'absent',
      why:
        event.kind === 'software'
          ? 'this kernel does not have it'
          : corePmus(lookup).length > 0
            ? 'the kernel has no such event for this CPU'
            : 'this machine shows no hardware counters (most virtual machines do not)',
    };
  }
}
