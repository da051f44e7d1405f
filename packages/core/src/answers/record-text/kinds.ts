import {
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_CGROUP,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_FORK,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_LOST,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_TEXT_POKE,
} from '../../format/abi/index.ts';

/** Records beside samples, as `perf script --show-*-events` names them. */
export type RecordKind =
  | 'task'
  | 'mmap'
  | 'switch'
  | 'namespace'
  | 'cgroup'
  | 'lost'
  | 'bpf'
  | 'text-poke'
  | 'round';

/** Types of record by kind. */
export const RECORD_KINDS: Readonly<Record<RecordKind, readonly number[]>> = {
  task: [PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_EXIT],
  mmap: [PERF_RECORD_MMAP, PERF_RECORD_MMAP2],
  switch: [PERF_RECORD_SWITCH, PERF_RECORD_SWITCH_CPU_WIDE],
  namespace: [PERF_RECORD_NAMESPACES],
  cgroup: [PERF_RECORD_CGROUP],
  lost: [PERF_RECORD_LOST],
  bpf: [PERF_RECORD_BPF_EVENT, PERF_RECORD_KSYMBOL],
  'text-poke': [PERF_RECORD_TEXT_POKE],
  round: [PERF_RECORD_FINISHED_ROUND],
};

/** The types of all of these kinds. */
export function typesOfKinds(kinds: Iterable<RecordKind>): Set<number> {
  return new Set([...kinds].flatMap((kind) => RECORD_KINDS[kind]));
}
