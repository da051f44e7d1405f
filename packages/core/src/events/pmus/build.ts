import { encodeTerms, type TermLayout, type TermValue, termsText } from './term-layout.ts';
import type {
  CounterDescription,
  EventConstraint,
  EventDescription,
  EventRequirement,
  PmuModel,
} from './types.ts';

/** One row of a family's table of facts. */
export interface EventRow {
  readonly name: string;
  readonly vendorName?: string;
  readonly terms: readonly TermValue[];
  readonly unit: string;
  readonly description: string;
}

/** A model, with its rows made into events: encoded by its terms, constrained by its own rule. */
export function buildModel(model: Omit<PmuModel, 'events'>, rows: readonly EventRow[]): PmuModel {
  return { ...model, events: rows.map((row) => describeRow(model, row)) };
}

export function describeRow(model: Omit<PmuModel, 'events'>, row: EventRow): EventDescription {
  const words = encodeTerms(model.terms, row.terms);
  // A row is a fact of ours: one that does not fit its own PMU is a mistake in the table.
  if (words === null) throw new Error(`${model.family}: ${row.name} does not fit the terms of its PMU`);
  return {
    name: row.name,
    vendorName: row.vendorName ?? null,
    terms: termsText(row.terms),
    config: words.config,
    config1: words.config1,
    description: row.description,
    unit: row.unit,
    pmu: model.pmu,
    constraint: constraintOf(model.requirementOf(words), model.counters),
  };
}

export function constraintOf(
  requirement: EventRequirement,
  counters: readonly CounterDescription[],
): EventConstraint {
  const general = new Set<number>();
  const fixed = new Set<number>();
  for (const place of requirement.places) {
    const counter = counters[place[0]!]!;
    (counter.kind === 'general' || counter.kind === 'firmware' ? general : fixed).add(counter.number);
  }
  return {
    general: [...general].sort((a, b) => a - b),
    fixed: [...fixed].sort((a, b) => a - b),
    isPair: requirement.places.some((place) => place.length > 1),
    exclusive: requirement.shared?.resource ?? null,
  };
}

/** General counters `0 … count-1`. */
export function generalCounters(
  count: number,
  widthBits: number,
  pageIndexOf: (number: number) => number | null = (number) => number + 1,
): CounterDescription[] {
  return Array.from({ length: count }, (_, number) => ({
    name: `general ${number}`,
    kind: 'general',
    number,
    widthBits,
    pageIndex: pageIndexOf(number),
  }));
}

/** Each counter of a kind as a place of its own, in order. */
export function placesOf(
  counters: readonly CounterDescription[],
  accept: (counter: CounterDescription) => boolean,
): number[][] {
  return counters.flatMap((counter, position) => (accept(counter) ? [[position]] : []));
}

/** `term=value` of an event and a unit mask, as x86 PMUs name them. */
export function eventUmask(event: number, umask: number): TermValue[] {
  return [
    ['event', BigInt(event)],
    ['umask', BigInt(umask)],
  ];
}

export type { TermLayout, TermValue };
