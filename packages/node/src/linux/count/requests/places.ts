import { CounterpointError } from '@counterpoint/core/base';
import {
  listThreads,
  onlineCpus,
  requireOnline,
  requireProcess,
  requireThread,
} from '../../kernel/target/index.ts';
import type { CountingTarget } from './types.ts';

/** Tasks and CPUs of a target; every event is opened for each of the one on each of the other. */
export interface Places {
  tasks: readonly number[];
  cpus: readonly number[];
}

const ANYWHERE = [-1];
const EVERYBODY = -1;

export function placesOf(target: CountingTarget): Places {
  switch (target.kind) {
    case 'self':
      return { tasks: [0], cpus: ANYWHERE };
    case 'command':
      return { tasks: [target.pid], cpus: ANYWHERE };
    case 'processes':
      requireSome(target.pids);
      for (const pid of target.pids) requireProcess(pid);
      return { tasks: [...new Set(target.pids.flatMap(listThreads))], cpus: ANYWHERE };
    case 'threads':
      requireSome(target.tids);
      for (const tid of target.tids) requireThread(tid);
      return { tasks: [...new Set(target.tids)], cpus: ANYWHERE };
    case 'cpus':
    case 'cgroup':
      return { tasks: [EVERYBODY], cpus: requireOnline(target.cpus) };
  }
}

/** The CPUs that a target is counted on; none where it is counted wherever it runs. */
export function cpusOf(target: CountingTarget): readonly number[] {
  return target.kind === 'cpus' || target.kind === 'cgroup' ? (target.cpus ?? onlineCpus()) : [];
}

function requireSome(ids: readonly number[]): void {
  if (ids.length === 0)
    throw new CounterpointError(
      'ERR_NO_PROCESS',
      'the list of processes or threads is empty',
      'Name at least one: ps -e lists processes, ps -eL threads.',
    );
}
