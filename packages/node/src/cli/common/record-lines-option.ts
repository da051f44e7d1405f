import type { RecordKind } from '@counterpoint/core/query';
import type { OptionRow } from './option-row.ts';

/** perf's options of records that are printed among samples. */
const KINDS = {
  'show-task-events': ['task', 'which tasks began, ended, and were named'],
  'show-mmap-events': ['mmap', 'what was mapped'],
  'show-switch-events': ['switch', 'when tasks were switched'],
  'show-namespace-events': ['namespace', 'the namespaces of tasks'],
  'show-cgroup-events': ['cgroup', 'names of cgroups'],
  'show-lost-events': ['lost', 'what was lost, where it was lost'],
  'show-bpf-events': ['bpf', 'BPF programs and symbols that came and went'],
  'show-text-poke-events': ['text-poke', "changes of the kernel's own code"],
  'show-round-events': ['round', "the ends of the recorder's rounds"],
} as const satisfies Record<string, readonly [RecordKind, string]>;

export type RecordLinesName = keyof typeof KINDS;

const NAMES = Object.keys(KINDS) as RecordLinesName[];

export const RECORD_LINES_OPTIONS: readonly OptionRow<RecordLinesName>[] = NAMES.map((long) => ({
  long,
  help: `also print ${KINDS[long][1]}`,
  group: 'Records beside samples',
}));

/** Kinds that were asked for. */
export function recordKinds(args: { boolean(name: RecordLinesName): boolean }): RecordKind[] {
  return NAMES.filter((name) => args.boolean(name)).map((name) => KINDS[name][0]);
}
