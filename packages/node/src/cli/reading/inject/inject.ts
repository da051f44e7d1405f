import { defineVerb } from '../../common/args.ts';

export type InjectName = 'input' | 'output' | 'build-ids' | 'buildid-all' | 'sched-stat' | 'force';

export default defineVerb<InjectName>({
  name: 'inject',
  summary: 'add to a recording what it lacks (build ids, times of waits), or decompress it',
  usage: '[-b|-s] [options]',
  options: [
    {
      long: 'input',
      short: 'i',
      value: 'FILE',
      help: 'the recording; `-` is standard input (default: standard input)',
      group: 'Files',
    },
    {
      long: 'output',
      short: 'o',
      value: 'FILE',
      help: 'where to write; `-` is standard output (default: standard output)',
      group: 'Files',
    },
    {
      long: 'build-ids',
      short: 'b',
      help: 'add the build ids of the binaries that samples and their callers are in, as these files have them now',
      group: 'What to add',
    },
    { long: 'buildid-all', help: 'add those of all binaries that were mapped', group: 'What to add' },
    {
      long: 'sched-stat',
      short: 's',
      help: 'put times of sched:sched_stat_* on the place where the task left the CPU: each becomes a sched:sched_switch with that period, and those without one are left out',
      group: 'What to add',
    },
    { long: 'force', short: 'f', help: 'accepted for perf', hidden: true },
  ],
  examples: [
    ['inject -b -i perf.data -o with-ids.data', 'before the programs are built anew'],
    ['record -B -o - -- make | counterpoint inject -b | perf report -i -', 'in a pipe'],
    ['inject -i perf.data -o plain.data', 'without options: decompressed, for programs that read no -z'],
    ['inject -s -i sched.data -o waits.data', 'where tasks waited, for report'],
  ],
  async run(context) {
    const { runInject } = await import('./run.ts');
    return runInject(context);
  },
});
