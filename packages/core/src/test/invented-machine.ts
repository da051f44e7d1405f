import { readFileSync } from 'node:fs';
import type { EventLookup, PmuDescription, PmuEvent } from '../events/names/index.ts';

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
  /** name, type, isText, isSigned */
  tracepointFields?: Record<string, [string, string, boolean, boolean][]>;
  kernelFunctions?: string[];
  probeFiles?: Record<
    string,
    {
      functions: Record<string, number>;
      indirect: string[];
      segment: { address: number; offset: number; sizeBytes: number };
    }
  >;
}

export const eventFixture = (name: string) =>
  readFileSync(new URL(`../../../../fixtures/events/${name}`, import.meta.url), 'utf8');

/** The machine of `fixtures/events` or of a folder there, which nobody owns. */
export function inventedMachine(folder = ''): EventLookup {
  const machine: Machine = JSON.parse(eventFixture(`${folder}machine.json`));
  const { pmus, tracepoints, tracepointFields = {}, probeFiles = {} } = machine;
  const kernelFunctions = new Set(machine.kernelFunctions);
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
    pmuNames: () => [...described.keys()].sort(),
    tracepoint: (system, name) => tracepoints[`${system}:${name}`] ?? null,
    tracepointNames: () => Object.keys(tracepoints),
    tracepointFields: (system, name) =>
      tracepointFields[`${system}:${name}`]?.map(([name, type, isText, isSigned]) => ({
        name,
        type,
        isText,
        isSigned,
      })) ?? null,
    kernelFunctions: () => kernelFunctions,
    probeFile(path) {
      const file = probeFiles[path];
      if (file === undefined) return { unavailable: `there is no file ${path}`, remedy: '' };
      const { functions, indirect, segment } = file;
      return {
        path,
        functions: new Map(Object.entries(functions)),
        sizes: new Map(Object.keys(functions).map((name) => [name, 32])),
        indirect: new Set(indirect),
        offsetOf(address) {
          const inside = address - segment.address;
          return inside >= 0 && inside < segment.sizeBytes ? inside + segment.offset : null;
        },
      };
    },
  };
}
