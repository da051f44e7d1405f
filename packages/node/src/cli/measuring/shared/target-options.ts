import type { OptionRow } from '../../common/option-row.ts';

export type TargetName = 'pid' | 'tid' | 'all-cpus' | 'cpu' | 'no-inherit' | 'inherit' | 'delay';

/** Rows of every verb that watches something: its target, and the time to begin. */
export function targetOptions(group: string): OptionRow<TargetName>[] {
  return [
    { long: 'pid', short: 'p', value: 'PID,...', help: 'running processes, with all their threads', group },
    { long: 'tid', short: 't', value: 'TID,...', help: 'running threads', group },
    { long: 'all-cpus', short: 'a', help: 'everything that runs, on all CPUs', group },
    {
      long: 'cpu',
      short: 'C',
      value: 'CPUS',
      help: 'everything that runs on these CPUs, such as 0-3,8',
      group,
    },
    { long: 'no-inherit', short: 'i', help: 'do not follow children and new threads', group },
    { long: 'inherit', help: 'follow children and new threads (the default)', group },
    { long: 'delay', short: 'D', value: 'MS', help: 'begin MS milliseconds after the start', group },
  ];
}
