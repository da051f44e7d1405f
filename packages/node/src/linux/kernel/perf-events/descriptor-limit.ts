import type { Sys } from '../sys/index.ts';
import type { Note } from './notes.ts';

/** For everything that is not an event. */
const OTHER_DESCRIPTORS = 256;

/** As many descriptors as `needed` events take. False where that is not allowed. */
export function raiseDescriptorLimit(sys: Sys, needed: number, notes: Note[]): boolean {
  const wanted = needed + OTHER_DESCRIPTORS;
  const { soft, hard } = sys.resourceLimit('descriptors');
  if (soft >= wanted) return false;
  try {
    sys.setResourceLimit('descriptors', { soft: Math.max(wanted, hard), hard: Math.max(wanted, hard) });
  } catch {
    if (soft >= hard) return false;
    sys.setResourceLimit('descriptors', { soft: hard, hard });
  }
  const after = sys.resourceLimit('descriptors').soft;
  notes.push({ kind: 'limit-raised', text: `raised the limit of open files from ${soft} to ${after}` });
  return after > soft;
}
