import type { Diagnostic } from '@counterpoint/core/base';
import type { LossFacts } from '@counterpoint/core/loss';
import type { AddedRecords } from '@counterpoint/core/perfdata';
import { ERROR_OVERFLOW } from './trace-errors.ts';

/** How often one thing went wrong in a trace. */
export interface TraceErrorCount {
  /**
   * As perf numbers them (intel-pt-decoder.h): 3 bad packet, 5 code is missing, 6 the code does
   * not fit the trace, 7 overflow.
   */
  code: number;
  /** perf's words for it: `Failed to get instruction`. */
  text: string;
  /** How many times, whether or not a record was asked for (`e`). */
  count: number;
}

/** What came of a trace besides samples. */
export interface TraceOutcome extends AddedRecords {
  /** By code, ascending. Empty: nothing went wrong. */
  readonly errors: readonly TraceErrorCount[];
  /** Bytes of the trace that were read, over all CPUs and threads. */
  readonly decodedBytes: number;
}

export function traceOutcome(
  errors: readonly TraceErrorCount[],
  diagnostics: readonly Diagnostic[],
  decodedBytes: number,
): TraceOutcome {
  return {
    errors,
    decodedBytes,
    hasTraces: true,
    diagnostics: [...diagnostics, ...errorNotes(errors)],
    losses: errors.map(lossOf),
  };
}

function lossOf({ code, count }: TraceErrorCount): LossFacts {
  return { kind: code === ERROR_OVERFLOW ? 'trace-overflow' : 'trace-error', count, exact: false };
}

/** What could not be decoded, by reason. */
function errorNotes(errors: readonly TraceErrorCount[]): Diagnostic[] {
  const total = errors.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return [];
  const kinds = errors.map(({ count, text }) => `${count} × ${text}`).join(', ');
  return [
    {
      code: 'trace-errors',
      path: 'AUX data',
      detail: `${total} ${total === 1 ? 'error' : 'errors'} while the trace was decoded (${kinds}): what ran there is missing`,
      remedy:
        'Where code is missing, give the files that ran (see above); overflows and lost data need a larger AUX buffer (-m ,64M) or fewer packets.',
    },
  ];
}
