import { CounterpointError } from '@counterpoint/core/base';

/** Throws for a ring of a size that the kernel does not take. */
export function requireRingSize(format: string, sizeBytes: number): void {
  if (Number.isInteger(Math.log2(sizeBytes))) return;
  throw new CounterpointError(
    'ERR_FORMAT_OPTION',
    `the option ring of the format ${format} must be a power of two, not ${sizeBytes}`,
    'Give 4096 times a power of two, such as ring=65536.',
  );
}
