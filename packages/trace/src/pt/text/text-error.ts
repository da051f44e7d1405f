import { CounterpointError } from '@counterpoint/core/base';

const GRAMMAR = 'Mend that line. The comment of parseTraceProgram has the grammar.';

/** A trace program that cannot be read: which line, and what is wrong there. */
export class TraceTextError extends CounterpointError {
  /** What `instanceof` tells it by, also across two copies of this package. */
  static override readonly brand: string = '@counterpoint/trace:TraceTextError';

  /** From 1. */
  readonly line: number;

  constructor(name: string, line: number, message: string, remedy = GRAMMAR) {
    super('ERR_TRACE_TEXT', `${name}:${line}: ${message}`, remedy);
    this.name = 'TraceTextError';
    this.line = line;
  }
}
