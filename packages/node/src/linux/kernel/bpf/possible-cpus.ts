import { type KernelFiles, realFiles } from '../probe/index.ts';

const POSSIBLE = '/sys/devices/system/cpu/possible';

/**
 * CPUs that a per-CPU map has values for: those that could ever be there, not those that run (`0-1`,
 * `0,2-5`). A reading that believes in fewer is overwritten by the kernel beyond its end, so what cannot be
 * read is an error, never a guess.
 */
export function possibleCpus(files: Pick<KernelFiles, 'read'> = realFiles): number[] {
  const text = files.read(POSSIBLE);
  const ranges = /^\d+(-\d+)?(,\d+(-\d+)?)*$/.exec(text ?? '')?.[0].split(',');
  if (ranges === undefined) throw new Error(`${POSSIBLE} says ${JSON.stringify(text)}: not a list of CPUs`);
  return ranges.flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
