import { systemEventLookup } from '../linux/kernel/local-pmus/index.ts';
import { canCount } from './own-faults.ts';

/**
 * Why tests are skipped for an ordinary user; false where this user may. At
 * kernel.perf_event_paranoid 2 that is all three.
 */
export const noKernelPart = canCount('self', 'faults:k')
  ? false
  : 'this user may not count the kernel’s part of events here';
export const noWholeCpus = canCount('cpus', 'cs') ? false : 'this user may not count whole CPUs here';
export const noTracepoints =
  systemEventLookup().tracepointNames().length === 0 ? 'tracefs is not for us' : false;

const WHOLE_CPUS = /^(?:-a|-C|-G|--for-each-cgroup)$/;
const TRACEPOINT = /\bsys_(?:enter|exit)/;
const USER_ONLY = /^[^,{}]+:u(?:,[^,{}]+:u)*$/;

/**
 * What a command line of `record` or `stat` needs and this user lacks. perf, asked for it without
 * that right, does something else.
 */
export function lackingFor(words: readonly string[]): string | false {
  const events = words[words.indexOf('-e') + 1];
  const isUserOnly = words.includes('-e') && USER_ONLY.test(events ?? '');
  return (
    (words.some((word) => WHOLE_CPUS.test(word)) && noWholeCpus) ||
    (words.some((word) => TRACEPOINT.test(word)) && noTracepoints) ||
    (!isUserOnly && noKernelPart)
  );
}
