import { listThreads, onlineCpus } from '../../kernel/target/index.ts';
import type { CountingTarget, PlaceCount } from '../counting/index.ts';
import type { EventSum } from './measurement.ts';

/**
 * Events that are not supported were opened nowhere; broken down by place, they are missing at each place.
 */
export function withEmptyPlaces(events: EventSum[], target: CountingTarget): EventSum[] {
  return atPlacesOfOthers(events, () => placesOf(target));
}

/** The same where only the other events say which places there are. */
export function atPlacesOfOthers(events: EventSum[], otherwise: () => PlaceCount[] = () => []): EventSum[] {
  if (events.every(({ count }) => count.status !== 'not-supported')) return events;
  const opened = events.flatMap(({ count }) => count.places);
  const places = opened.length > 0 ? distinct(opened) : otherwise();
  return events.map((sum) =>
    sum.count.status === 'not-supported' ? { ...sum, count: { ...sum.count, places } } : sum,
  );
}

const EMPTY = { value: 0n, enabledNs: 0n, runningNs: 0n };

function distinct(places: readonly PlaceCount[]): PlaceCount[] {
  const byKey = new Map(
    places.map(({ task, cpu }): [string, PlaceCount] => [`${task} ${cpu}`, { task, cpu, ...EMPTY }]),
  );
  return [...byKey.values()];
}

function placesOf(target: CountingTarget): PlaceCount[] {
  switch (target.kind) {
    case 'cpus':
    case 'cgroup':
      return (target.cpus ?? onlineCpus()).map((cpu) => ({ task: -1, cpu, ...EMPTY }));
    case 'threads':
      return target.tids.map((task) => ({ task, cpu: -1, ...EMPTY }));
    case 'processes':
      return target.pids.flatMap(listThreads).map((task) => ({ task, cpu: -1, ...EMPTY }));
    case 'self':
    case 'command':
      return [];
  }
}
