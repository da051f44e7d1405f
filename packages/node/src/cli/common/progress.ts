import type { Progress, ProgressListener } from '@counterpoint/core/base';
import type { Output } from './output.ts';

const INTERVAL_MS = 100;

/**
 * One line on a terminal that is written over while something goes on, and taken away at the end. Where the
 * output is not a terminal, or one that cannot clear a line, it does nothing; after `close` neither.
 */
export class ProgressLine {
  readonly #output: Output;
  readonly #now: () => number;
  #isOpen: boolean;
  #shown = false;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(output: Output, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#isOpen = output.canOverwrite;
    if (this.#isOpen) output.setTransient(() => this.clear());
  }

  /** Show a text, at most ten times a second; a function is called only when it will be shown. */
  update(text: string | (() => string)): void {
    if (!this.#isOpen) return;
    const nowMs = this.#now();
    if (nowMs - this.#lastMs < INTERVAL_MS) return;
    this.#lastMs = nowMs;
    const line = typeof text === 'string' ? text : text();
    // A line as wide as the terminal would wrap, and only its last part could be cleared.
    const room = Math.max(0, (this.#output.columns || 80) - 1);
    this.#shown = true;
    this.#output.writeTransient(line.length > room ? line.slice(0, room) : line);
  }

  /** A listener for long operations in core: `reading: 45%`. */
  listener(): ProgressListener {
    return (progress) => this.update(() => progressText(progress));
  }

  clear(): void {
    if (!this.#shown) return;
    this.#shown = false;
    this.#output.writeTransient('');
  }

  close(): void {
    if (!this.#isOpen) return;
    this.clear();
    this.#isOpen = false;
    this.#output.setTransient(null);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function progressText({ phase, done, total }: Progress): string {
  return total > 0 ? `${phase}: ${Math.min(100, Math.floor((100 * done) / total))}%` : `${phase}: ${done}`;
}
