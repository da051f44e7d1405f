import type { RecordStop } from '../../../linux/sample/record/index.ts';
import type { Output } from '../../common/output.ts';
import { waitText } from '../shared/stop-signals.ts';

/**
 * What `record` says after a signal, where what it waits for takes its time. A second signal ends it, so
 * nothing may stay in a buffer.
 */
export class WaitingText {
  readonly #say: (text: string) => void;
  readonly #err: Output;
  #unfinishedFormats: RecordStop['unfinishedFormats'] = () => [];
  #hasToldFormats = false;

  constructor(say: (text: string) => void, err: Output) {
    this.#say = say;
    this.#err = err;
  }

  onStop({ unfinishedFormats }: RecordStop): void {
    this.#unfinishedFormats = unfinishedFormats;
  }

  /** The recording may have ended before the signal: then only formats are left to wait for. */
  tellFormats(): void {
    const names = this.#unfinishedFormats();
    if (names.length === 0 || this.#hasToldFormats) return;
    this.#hasToldFormats = true;
    for (const name of names)
      this.#tell(
        `format ${name} has not finished its collect; send the same signal again to end counterpoint`,
      );
  }

  tell(hasSentTerm: boolean): void {
    this.tellFormats();
    if (!this.#hasToldFormats) this.#tell(waitText(hasSentTerm));
  }

  #tell(text: string): void {
    this.#say(`counterpoint record: ${text}`);
    this.#err.flush();
  }
}
