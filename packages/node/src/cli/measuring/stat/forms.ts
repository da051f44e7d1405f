import type { Aggregation } from '../../../linux/count/stat/index.ts';
import { UsageError } from '../../common/usage-error.ts';

/** How counts are written: a table, perf's fields (`-x`), perf's lines (`-j`), or one answer (`--json`). */
export type StatFormat = 'text' | 'fields' | 'lines' | 'json';

type FormatName = 'field-separator' | 'json-output' | 'json';

/** The part of a verb's arguments that is asked here. */
interface Given<Name extends string> {
  has(name: Name): boolean;
  boolean(name: Name): boolean;
  shown(name: Name): string;
}

const AGGREGATIONS = [
  ['no-aggr', 'cpu'],
  ['per-core', 'core'],
  ['per-die', 'die'],
  ['per-socket', 'socket'],
  ['per-node', 'node'],
  ['per-thread', 'thread'],
] as const;

type PlaceName = (typeof AGGREGATIONS)[number][0];

/** The option that says what counts are added up over, or null. */
export function givenAggregation(args: Given<PlaceName>): { name: PlaceName; by: Aggregation } | null {
  const given = AGGREGATIONS.filter(([name]) => args.boolean(name));
  if (given.length > 1)
    throw new UsageError(`${given.map(([name]) => args.shown(name)).join(' and ')} exclude each other`);
  return given[0] === undefined ? null : { name: given[0][0], by: given[0][1] };
}

export function formatOf(args: Given<FormatName>): StatFormat {
  const given = (['field-separator', 'json-output', 'json'] as const).filter((name) => args.has(name));
  if (given.length > 1)
    throw new UsageError(`${given.map((name) => args.shown(name)).join(' and ')} exclude each other`);
  if (given.length === 0) return 'text';
  return given[0] === 'json' ? 'json' : given[0] === 'json-output' ? 'lines' : 'fields';
}

/**
 * perf asks the C library; only the C and POSIX locales have no thousands separator,
 * and others are shown as commas.
 */
export function localeHasCommas(env: Record<string, string | undefined>): boolean {
  const locale = [env['LC_ALL'], env['LC_NUMERIC'], env['LANG']].find((name) => (name ?? '') !== '') ?? 'C';
  return !/^(?:C|POSIX)(?:$|\.)/.test(locale);
}
