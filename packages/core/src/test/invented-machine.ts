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
      isCore?: boolean;
      defaultConfig?: string;
    }
  >;
  tracepoints: Record<string, number>;
}

export const eventFixture = (name: string) =>
  readFileSync(new URL(`../../../../fixtures/events/${name}`, import.meta.url), 'utf8');

/** The machine of `fixtures/events` or of a folder there, which nobody owns. */
export function inventedMachine(folder = ''): EventLookup {
  const { pmus, tracepoints }: Machine = JSON.parse(eventFixture(`${folder}machine.json`));
  const described = new Map(
    Object.entries(pmus).map(
      ([name, { type, formats, events, cpus, isCore, defaultConfig }]): [string, PmuDescription] => [
        name,
        {
          name,
          type,
          formats: new Map(Object.entries(formats)),
          events: new Map(Object.entries(events)),
          ...(cpus === undefined ? {} : { cpus }),
          ...(isCore === undefined ? {} : { isCore }),
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
