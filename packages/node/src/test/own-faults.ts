import { CounterpointError } from '@counterpoint/core/base';
import { openCounting } from '../linux/count/counting/index.ts';
import { realSys } from '../linux/kernel/sys/index.ts';

/** Page faults of the calling thread are ours to make: one per fresh page. */
const PAGE = 4096;

const CANNOT: ReadonlySet<string> = new Set(['ERR_PERF_PERMISSION', 'ERR_NO_PERF_EVENTS']);

/** Why the tests that count them are skipped. */
export const noOwnFaults = canCount('self', 'faults:u') ? false : 'software events cannot be counted here';

/** Whether this user may count the event, of all CPUs or of this thread; what else goes wrong is an error. */
export function canCount(kind: 'self' | 'cpus', events: string): boolean {
  try {
    using session = openCounting({ target: { kind }, events });
    const [event] = session.read().sets[0]!.events;
    // Where the kernel's part is wanted, counting without it will not do.
    return event!.status !== 'not-supported' && event!.name === event!.requestedName;
  } catch (error) {
    // Anything else is for the tests to fail on.
    if (error instanceof CounterpointError && CANNOT.has(error.code)) return false;
    throw error;
  }
}

/** In pieces that are too small for a huge page. */
const PIECE = 64;

export function touchPages(count: number): void {
  for (let left = count; left > 0; left -= PIECE) {
    const sizeBytes = Math.min(left, PIECE) * PAGE;
    using mapping = realSys.mapAnonymous(sizeBytes);
    const memory = new Uint8Array(mapping.buffer);
    for (let at = 0; at < sizeBytes; at += PAGE) memory[at] = 1;
  }
}
