import { flowErrorName, flowErrorText } from '@counterpoint/trace/intel-pt';

/** Codes of errors are 0 and below; how many are looked through. */
const MOST_CODES = 64;

/**
 * What an error in a trace is, for a person, and the kind that JSON has: `no memory
 * mapped at this address (no-map)`.
 */
export function errorWords(kind: string): string {
  for (let code = 0; code > -MOST_CODES; code--)
    if (flowErrorName(code) === kind) return `${flowErrorText(code)} (${kind})`;
  return kind;
}
