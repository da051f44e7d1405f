import {
  PERF_COUNT_SW_DUMMY,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_TID,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { encodeAttrShortest, makeAttr, type PerfEventAttr } from '@counterpoint/core/records';
import { type Fd, type Sys, SysError } from '../sys/index.ts';

/**
 * Each task has its events in a context. Where two tasks of one family change places on a CPU the kernel
 * exchanges their contexts instead of the events in them (perf_event_context_sched_out). For a probe that is
 * wrong: its event remembers the task that it was made for, and when this task ends while another has the
 * event, the kernel finds nobody who wants the probe and takes the breakpoint out of the other's code
 * (UPROBE_HANDLER_REMOVE). From then on it is not hit: measured on Linux 6.18, `perf stat` loses up to a
 * quarter of the calls of forked children.
 *
 * The kernel leaves a context in its place when one of its events is inherited and wants to be read into
 * samples (Linux 6.13). So each task gets one event more, which counts nothing and never samples.
 */
export const KEEPER: PerfEventAttr = makeAttr({
  type: PERF_TYPE_SOFTWARE,
  config: BigInt(PERF_COUNT_SW_DUMMY),
  sampleType: BigInt(PERF_SAMPLE_READ | PERF_SAMPLE_TID),
  flags: { inherit: 1, disabled: 1, excludeKernel: 1, excludeHv: 1 },
});

interface Keeper {
  readonly fd: Fd;
  users: number;
}

const keepers = new WeakMap<Sys, Map<number, Keeper>>();

/**
 * Let `task` and its children keep their contexts until `release` is called. Null where the kernel is too
 * old: then calls of children may be missed. Throws as perf_event_open does.
 */
export function keepContext(sys: Sys, task: number): { release(): void } | null {
  let ofTasks = keepers.get(sys);
  if (ofTasks === undefined) {
    ofTasks = new Map();
    keepers.set(sys, ofTasks);
  }
  const tasks = ofTasks;
  let keeper = tasks.get(task);
  if (keeper === undefined) {
    try {
      keeper = { fd: sys.perfEventOpen(encodeAttrShortest(KEEPER), task, -1, null), users: 0 };
    } catch (error) {
      if (error instanceof SysError && error.code === 'EINVAL') return null;
      throw error;
    }
    tasks.set(task, keeper);
  }
  const { fd } = keeper;
  const kept = keeper;
  kept.users++;
  return {
    release() {
      if (--kept.users > 0) return;
      tasks.delete(task);
      fd.close();
    },
  };
}
