import type { ParsedEvent } from '@counterpoint/core/events';
import { onlineCpus, parseCpuList } from '../../kernel/target/index.ts';
import type { ControlRequest } from '../counting/index.ts';
import { cpuPlace } from './topology.ts';

/**
 * What sysfs says of an event beside its bits: `NAME.per-pkg` and `NAME.snapshot`
 * (Documentation/ABI, event_source).
 */

/**
 * An event that each CPU of a package would count for the whole package is opened on one of them: the first
 * of those that are counted. Changes the events; elsewhere than on whole CPUs there is nothing to choose.
 */
export function countOncePerPackage(
  events: readonly ParsedEvent[],
  counted: readonly number[] = onlineCpus(),
  placeOf = cpuPlace,
): void {
  for (const event of events) {
    if (event.perPackage !== true) continue;
    const own = event.cpus === undefined ? null : parseCpuList(event.cpus);
    const firsts = new Map<string, number>();
    for (const cpu of counted) {
      const { socket, die } = placeOf(cpu);
      const isOwn = own === null || own.includes(cpu);
      if (isOwn && !firsts.has(`${socket} ${die}`)) firsts.set(`${socket} ${die}`, cpu);
    }
    event.cpus = [...firsts.values()].join(',');
  }
}

/** Names of events whose value is that of now: what lies between two readings is no difference of them. */
export function snapshotNames({ events = [] }: ControlRequest): ReadonlySet<string> {
  const list = typeof events === 'string' ? [] : events;
  return new Set(
    list.flatMap((event) => (typeof event !== 'string' && event.snapshot === true ? [event.name] : [])),
  );
}
