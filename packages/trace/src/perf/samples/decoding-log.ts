/**
 * What the decoder read and did, as text (`d`): packets where they begin, the instructions that they led to,
 * what went wrong, and where decoding went on.
 *
 *   queue 0, thread 4242
 *   4096 bytes from 0
 *     00000000:  02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82   psb
 *     00000010:  19 ab 89 67 45 23 01 00                           tsc 123456789ab
 *   time 595.714235902, tsc 123456789ab
 *             40029b8890:  75 2c                                         conditional jump
 *   error at 800: unknown packet
 *
 * Only around errors (`d+e`): the last lines before each, so much as is kept.
 */

/** Text that is handed on at once. */
const CHUNK_LENGTH = 1 << 16;
/** perf's, where it is not configured otherwise. */
const KEPT_BEFORE_ERRORS = 1 << 14;

export class DecodingLog {
  readonly onlyErrors: boolean;
  readonly #write: (text: string) => void;
  #lines: string[] = [];
  /** Where the lines begin that are kept; those before have been let go. */
  #first = 0;
  #length = 0;
  #heading = '';

  constructor(write: (text: string) => void, onlyErrors: boolean) {
    this.#write = write;
    this.onlyErrors = onlyErrors;
  }

  /** Lines that follow are of this queue. */
  setHeading(heading: string): void {
    if (heading === this.#heading) return;
    this.#heading = heading;
    this.line(heading);
  }

  line(text: string): void {
    this.#lines.push(text);
    this.#length += text.length + 1;
    if (!this.onlyErrors) {
      if (this.#length >= CHUNK_LENGTH) this.#flush();
      return;
    }
    while (this.#length > KEPT_BEFORE_ERRORS && this.#first < this.#lines.length - 1) {
      this.#length -= this.#lines[this.#first]!.length + 1;
      this.#lines[this.#first++] = '';
    }
    // Room of those that were let go, now and then.
    if (this.#first > this.#lines.length / 2) {
      this.#lines = this.#lines.slice(this.#first);
      this.#first = 0;
    }
  }

  error(text: string): void {
    this.line(text);
    if (this.onlyErrors) this.#flush();
  }

  /** The trace is over. */
  close(): void {
    if (!this.onlyErrors) this.#flush();
  }

  #flush(): void {
    const text = this.#lines.slice(this.#first).join('\n');
    this.#lines = [];
    this.#first = 0;
    this.#length = 0;
    if (text === '') return;
    this.#write(`${this.onlyErrors ? `--- before an error of ${this.#heading} ---\n` : ''}${text}\n`);
  }
}
