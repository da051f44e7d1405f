import { CounterpointError } from '@counterpoint/core/base';
import { formatSourceLine, type SourceLine } from './program.ts';

/** A program that cannot be: found while it is assembled, before any kernel has seen it. */
export class AssemblerError extends CounterpointError {
  /** The line that asked for it, where the stack tells. */
  readonly line: SourceLine | null;
  readonly #said: string;

  /** `line` is put in front of the message where it is known. */
  constructor(code: string, line: SourceLine | null, message: string, remedy: string) {
    super(
      code,
      typeof line !== 'object' || line === null ? message : `${formatSourceLine(line)}: ${message}`,
      remedy,
    );
    this.name = 'AssemblerError';
    this.line = line;
    this.#said = message;
  }

  /** For readers who did not write that line. */
  withoutLine(): AssemblerError {
    const without = new AssemblerError(this.code, null, this.#said, this.remedy);
    without.cause = this;
    return without;
  }
}
