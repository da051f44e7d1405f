import { readFileSync } from 'node:fs';
import type { EventLookup, PmuDescription, PmuEvent } from '../events/index.ts';

interface Machine {
  pmus: Record<
    string,
    {
      type: number;
      formats: Record<string, string>;
      events: Record<string, PmuEvent>;
      cpus?: string;
      defaultConfig?: string;
    }
  >;
  tracepoints: Record<string, number>;
}

export const eventFixture = (name: string) =>
  readFileSync(new URL(`../../../../fixtures/events/${name}`, import.meta.url), 'utf8');

/** The machine of `fixtures/events`, which nobody owns. */
export function inventedMachine(): EventLookup {
  const { pmus, tracepoints }: Machine = JSON.parse(eventFixture('machine.json'));
  const described = new Map(
    Object.entries(pmus).map(
      ([name, { type, formats, events, cpus, defaultConfig }]): [string, PmuDescription] => [
        name,
        {
          name,
          type,
          formats: new Map(Object.entries(formats)),
          events: new Map(Object.entries(events)),
          ...(cpus === undefined ? {} : { cpus }),
          ...(defaultConfig === undefined ? {} : { defaultConfig: BigInt(defaultConfig) }),
        },
      ],
    ),
  );
  return {
    pmu: (name) => described.get(name) ?? null,
    pmuNames: () => [...described.keys()],
    tracepoint: (system, name) => tracepoints[`${system}:${name}`] ?? null,
    tracepointNames: () => Object.keys(tracepoints),
  };
}
