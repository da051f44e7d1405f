import { CounterpointError } from '@counterpoint/core/base';
import { formatSourceLine, type SourceLine } from './program.ts';

/** A program that cannot be: found while it is assembled, before any kernel has seen it. */
export class AssemblerError extends CounterpointError {
  /** The line that asked for it, where the stack tells. */
  readonly line: SourceLine | null;

  constructor(code: string, line: SourceLine | null, message: string, remedy = '') {
    super(code, line === null ? message : `${formatSourceLine(line)}: ${message}`, remedy);
    this.name = 'AssemblerError';
    this.line = line;
  }
}
