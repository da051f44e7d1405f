/** What a format would load, without loading it: for `record --plan`. */
import type { BpfMapDefinition, BpfProgramType } from '../../kernel/bpf/index.ts';
import type { PlannedEvent } from '../../kernel/perf-events/index.ts';
import { type AssembledProgram, assembleFormat, NOTIFY_RING } from './assemble-programs.ts';
import type { FormatTarget, SamplingFormat } from './format.ts';
import { planOf } from './format-errors.ts';
import { TargetFilter } from './target-filter.ts';

/** A program as it will be loaded. */
export interface PlannedProgram {
  /** Its name. */
  readonly name: string;
  /** Its type, which decides what it may do. */
  readonly type: BpfProgramType;
  /** The event whose overflows it handles, or the tracepoint it is on. */
  readonly on: string;
  /** Slots of 8 bytes. */
  readonly instructions: number;
}

/** A map as it will be made. */
export interface PlannedMap {
  /** Its name. */
  readonly name: string;
  /** Its type, such as `hash`. */
  readonly type: string;
  /** Size of a key. */
  readonly keySizeBytes: number;
  /** Size of a value. */
  readonly valueSizeBytes: number;
  /** Most entries; of a ring buffer its bytes. */
  readonly maxEntries: number;
}

/** A format as it will be loaded: its programs and maps. */
export interface PlannedFormat {
  /** The name of the format. */
  readonly name: string;
  /** Its programs: the handlers of its events, and those of its plan. */
  readonly programs: readonly PlannedProgram[];
  /** Its maps. */
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
