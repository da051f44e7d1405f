/** What a format would load, without loading it: for `record --plan`. */
import type { BpfMapDefinition, BpfProgramType } from '../bpf/index.ts';
import type { PlannedEvent } from '../perf-events/index.ts';
import { type AssembledProgram, assembleFormat, NOTIFY_RING } from './assemble-programs.ts';
import type { FormatTarget, SamplingFormat } from './format.ts';
import { planOf } from './format-errors.ts';
import { TargetFilter } from './target-filter.ts';

export interface PlannedProgram {
  readonly name: string;
  readonly type: BpfProgramType;
  /** The event whose overflows it handles, or the tracepoint it is on. */
  readonly on: string;
  /** Slots of 8 bytes. */
  readonly instructions: number;
}

export interface PlannedMap {
  readonly name: string;
  readonly type: string;
  readonly keySizeBytes: number;
  readonly valueSizeBytes: number;
  readonly maxEntries: number;
}

export interface PlannedFormat {
  readonly name: string;
  readonly programs: readonly PlannedProgram[];
  readonly maps: readonly PlannedMap[];
}

export function planFormat(
  { format, options }: { format: SamplingFormat; options: Readonly<Record<string, unknown>> },
  events: readonly PlannedEvent[],
  target: Omit<FormatTarget, 'events'>,
): PlannedFormat {
  const plan = planOf(format, options, { ...target, events });
  const assembled = assembleFormat(format, options, plan, events, new TargetFilter(target));
  const { handlers, programs, losses, hasNotifications } = assembled;
  const all = [...handlers, ...programs.map(({ program }) => program)];
  const own = all.length === 0 ? [] : [losses, ...(hasNotifications ? [NOTIFY_RING] : [])];
  const maps = new Map<string, BpfMapDefinition>();
  for (const map of [...(plan.maps ?? []), ...all.flatMap((program) => program.maps), ...own])
    maps.set(map.name, map);
  const places = [...handlers.map((_, index) => events[index]!.name), ...programs.map(placeOf)];
  return {
    name: format.name,
    programs: all.map(({ name, type, instructions }, index) => ({
      name,
      type,
      on: places[index]!,
      instructions: instructions.length / 8,
    })),
    maps: [...maps.values()].map(({ name, type, keySizeBytes, valueSizeBytes, maxEntries }) => ({
      name,
      type,
      keySizeBytes,
      valueSizeBytes,
      maxEntries,
    })),
  };
}

function placeOf({ attach }: AssembledProgram): string {
  return attach.kind === 'raw-tracepoint' ? attach.name : `${attach.system}:${attach.name}`;
}
