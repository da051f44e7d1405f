import { readProc } from './proc.ts';

const LOOK_EVERY_MS = 0.1;
/** A shell that cannot take its name is known by its sleeping alone, and only then. */
const NAMELESS_MS = 500;
const MOST_MS = 2000;

const nobodyWakes = new Int32Array(new SharedArrayBuffer(4));

/**
 * Wait, blocking this thread, until a holder sleeps in the read that is its gate: it takes its name just
 * before. A Node that starts sleeps elsewhere, too, so that without its name nothing is known of it. Without
 * /proc, or where the process has ended, there is nothing to wait for.
 */
export function waitForGate(pid: number, heldName: string, canLackName: boolean): void {
  const begin = performance.now();
  for (;;) {
    const stat = readProc(`${pid}/stat`);
    if (stat === null) return;
    const end = stat.lastIndexOf(')');
    const name = stat.slice(stat.indexOf('(') + 1, end);
    const state = stat[end + 2];
    const waitedMs = performance.now() - begin;
    if (state === 'S' && (name === heldName || (canLackName && waitedMs > NAMELESS_MS))) return;
    if (state === 'Z' || state === 'X' || waitedMs > MOST_MS) return;
    Atomics.wait(nobodyWakes, 0, 0, LOOK_EVERY_MS);
  }
}
