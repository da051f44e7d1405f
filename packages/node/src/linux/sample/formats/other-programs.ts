/** BPF programs of others that have to do with a recording: seen, and said. */
import { CounterpointError } from '@counterpoint/core/base';
import { otherWatchers, programsOnTracepoint } from '../../kernel/bpf/index.ts';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import { type Sys, SysError } from '../../kernel/sys/index.ts';

/** How many are named; the rest is counted. */
const MOST_NAMED = 4;

/**
 * A line for each tracepoint of `events` that another's program is on: where that program returns 0, no perf
 * event counts or records the hit. Nothing where the kernel does not tell us.
 */
export function othersOnTracepoints(
  sys: Sys,
  events: readonly SampledEvent[],
  ownIds: ReadonlySet<number>,
): string[] {
  const lines = new Set<string>();
  for (const { tracepoint, instances } of events) {
    const [first] = instances;
    if (tracepoint === null || first === undefined) continue;
    const others = orNone(() => programsOnTracepoint(sys, first.fd)).filter(({ id }) => !ownIds.has(id));
    if (others.length === 0) continue;
    const names = others.map(({ id, name }) =>
      name === null || name === '' ? `program ${id}` : `${name} (${id})`,
    );
    lines.add(
      `other BPF programs are on ${tracepoint.system}:${tracepoint.name}: ${listed(names)}; no recording has hits for which they return 0`,
    );
  }
  return [...lines];
}

/**
 * A line about programs of others anywhere on this machine that run at events,
 * too; none if there are none.
 */
export function othersThatWatch(sys: Sys, ownIds: ReadonlySet<number>): string[] {
  const others = orNone(() => otherWatchers(sys, ownIds));
  if (others.length === 0) return [];
  const names = others.map(({ id, name, type }) => `${name === '' ? `program ${id}` : name} (${type})`);
  return [
    `other BPF programs also watch this machine and take time at events: ${listed([...new Set(names)])}`,
  ];
}

function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Who may not look sees nobody. */
function orNone<T>(look: () => T[]): T[] {
  try {
    return look();
  } catch (error) {
    if (error instanceof SysError || error instanceof CounterpointError) return [];
    throw error;
  }
}
