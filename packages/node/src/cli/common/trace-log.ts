/** The log of decoding a hardware trace (`--itrace=d`): perf's file, or the output. */
import { closeSync, writeSync } from 'node:fs';
import { printableText } from '@counterpoint/core/base';
import type { ItraceOptions } from '@counterpoint/trace/perf';
import { openOutputFileSync } from '../../host/files/index.ts';
import { formatBytes } from './human.ts';
import type { Output } from './output.ts';

/** perf's name: in the working directory, and written anew each time. */
const LOG_NAME = 'intel_pt.log';

export class TraceLog implements Disposable {
  readonly #out: Output;
  readonly #err: Output;
  readonly #isWanted: boolean;
  readonly #descriptor: number;
  #bytes = 0;

  constructor(itrace: ItraceOptions | null, out: Output, err: Output) {
    const log = itrace?.log ?? null;
    this.#out = out;
    this.#err = err;
    this.#isWanted = log !== null;
    this.#descriptor = log === null || log.toOutput ? -1 : openOutputFileSync(LOG_NAME);
  }

  /** What the questions to a recording take. */
  get options(): { writeTraceLog?: (text: string) => void } {
    return this.#isWanted ? { writeTraceLog: (text) => this.#write(text) } : {};
  }

  /** Say where it is. */
  [Symbol.dispose](): void {
    if (this.#descriptor < 0) return;
    closeSync(this.#descriptor);
    const what = this.#bytes === 0 ? 'it is empty' : formatBytes(this.#bytes);
    this.#err.line(`Log of decoding: ${LOG_NAME} (${what}).`);
  }

  #write(text: string): void {
    if (this.#descriptor < 0) {
      this.#out.write(text);
      return;
    }
    const bytes = Buffer.from(printableText(text));
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#descriptor, bytes, at);
    this.#bytes += bytes.length;
  }
}
