import { CounterpointError } from '@counterpoint/core/base';
import { formatCpus } from '@counterpoint/core/events';
import { onlineCpus } from './proc.ts';

/** Longer lists are cut: with ranges, that takes a list that jumps about. */
const LONGEST_LIST = 60;

/**
 * The CPUs that are wanted, each once; all that are online where nobody said.
 * Throws where one of them is not.
 */
export function requireOnline(wanted: readonly number[] | undefined): readonly number[] {
  const online = onlineCpus();
  const cpus = wanted ?? online;
  const missing = cpus.filter((cpu) => !online.includes(cpu));
  if (cpus.length > 0 && missing.length === 0) return [...new Set(cpus)];
  throw new CounterpointError(
    'ERR_NO_CPU',
    cpus.length === 0 ? 'the list of CPUs is empty' : `no such CPU is online: ${shortList(missing)}`,
    `Online are ${shortList(online)}.`,
  );
}

function shortList(cpus: readonly number[]): string {
  const text = formatCpus(cpus);
  if (text.length <= LONGEST_LIST) return text;
  return `${text.slice(0, text.lastIndexOf(',', LONGEST_LIST))} and more (${cpus.length} in all)`;
}
