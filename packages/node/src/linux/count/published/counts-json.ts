import { CounterpointError, checkArgument } from '@counterpoint/core/base';
import { isPlainObject, shownValue } from '../../../host/options/index.ts';
import type { Counts, EventCount, PlaceCount, SetCounts } from '../requests/types.ts';

/** Counts as JSON has them: 64-bit numbers are decimal strings. */
export type JsonOf<T> = T extends bigint
  ? string
  : T extends readonly (infer Item)[]
    ? JsonOf<Item>[]
    : T extends object
      ? { [Key in keyof T]: JsonOf<T[Key]> }
      : T;

/** `Counts` as JSON: each bigint is a decimal string. */
export type CountsJson = JsonOf<Counts>;

/** A value ready for `JSON.stringify`. */
export function countsToJson(counts: Counts): CountsJson {
  const isCounts = isPlainObject(counts) && Array.isArray(counts.sets);
  checkArgument(
    isCounts,
    'countsToJson()',
    'the counts',
    counts,
    'counts',
    'Give what session.read() gives.',
  );
  return JSON.parse(
    JSON.stringify(counts, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
  );
}

/** Makes `Counts` from their JSON. Throws ERR_COUNTS for anything else. */
export function countsFromJson(json: CountsJson): Counts {
  if (!isPlainObject(json) || json.type !== 'counts' || !Array.isArray(json.sets))
    throw new CounterpointError(
      'ERR_COUNTS',
      `countsFromJson(): these are not counts, but ${shownValue(json)}`,
      'Give what countsToJson() made, or JSON.parse() of its text.',
    );
  return {
    type: 'counts',
    version: 1,
    timeNs: BigInt(json.timeNs),
    elapsedNs: BigInt(json.elapsedNs),
    sets: json.sets.map(
      (set): SetCounts => ({ ...set, loadedNs: BigInt(set.loadedNs), events: set.events.map(eventFromJson) }),
    ),
  };
}

function eventFromJson(event: JsonOf<EventCount>): EventCount {
  return {
    ...event,
    ...timesFromJson(event),
    value: event.value === null ? null : BigInt(event.value),
    scaled: event.scaled === null ? null : BigInt(event.scaled),
    places: event.places.map(
      (place): PlaceCount => ({ ...place, ...timesFromJson(place), value: BigInt(place.value) }),
    ),
  };
}

function timesFromJson({ enabledNs, runningNs }: { enabledNs: string; runningNs: string }) {
  return { enabledNs: BigInt(enabledNs), runningNs: BigInt(runningNs) };
}
