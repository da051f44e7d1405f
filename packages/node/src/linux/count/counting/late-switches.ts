import type { Note } from '../../kernel/perf-events/index.ts';

/** One late overflow in this many switches goes without a note. */
const MOST_LATE_SHARE = 10;

/**
 * Overflows that should have ended a set that was unloaded already, or was stopped: a burst that is
 * over before the event loop turns.
 */
export class LateSwitches {
  readonly #notes: Note[];
  #late = 0;
  #note: Note | null = null;

  constructor(notes: Note[]) {
    this.#notes = notes;
  }

  add(): void {
    this.#late++;
  }

  /** Begin anew, with a note of its own. */
  reset(): void {
    this.#late = 0;
    this.#note = null;
  }

  /** Where there were many, say so; told again, the note is brought up to date. */
  tell(event: string, switches: number): void {
    const late = this.#late;
    if (late * MOST_LATE_SHARE <= switches) return;
    if (this.#note === null) {
      this.#note = { kind: 'switches-late', text: '' };
      this.#notes.push(this.#note);
    }
    this.#note.text = `sets were switched less often than requested: ${late} of ${late + switches} overflows of ${event} came before the previous switch was done (a switch takes a turn of the event loop; overflows that come faster switch no set)`;
  }
}
