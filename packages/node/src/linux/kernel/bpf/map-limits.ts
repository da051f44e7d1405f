/** Why the kernel finds a map too large: it says E2BIG for each of its limits. */
import { CounterpointError } from '@counterpoint/core/base';
import type { SysError } from '../sys/index.ts';
import type { BpfMapDefinition } from './program.ts';

/**
 * Buckets of a hash table, which are a power of two, have 16 bytes each and 32 bits of size
 * together (kernel/bpf/hashtab.c).
 */
const MOST_HASH_ENTRIES = 2 ** 27;
/** Of a value on each CPU: PCPU_MIN_UNIT_SIZE of linux/percpu.h. */
const MOST_PER_CPU_BYTES = 1 << 15;
/** KMALLOC_MAX_SIZE of linux/slab.h where pages have 4 KiB. */
const MOST_KMALLOC_PAGES = 1024;
/** Of an element, before its key (struct htab_elem). */
const MOST_HEAD_BYTES = 64;

export function explainTooLarge(
  definition: BpfMapDefinition,
  pageSizeBytes: number,
  error: SysError,
): CounterpointError {
  const { name, type, maxEntries } = definition;
  const { why, remedy } = exceeded(definition, pageSizeBytes);
  const explained = new CounterpointError(
    'ERR_BPF_TOO_LARGE',
    `map "${name}" (${type}, ${maxEntries} entries) is refused: ${why} (${error.code})`,
    remedy,
  );
  explained.cause = error;
  return explained;
}

const SPREAD = 'Spread the content of a value over several entries.';

function exceeded(
  { type, keySizeBytes, valueSizeBytes, maxEntries }: BpfMapDefinition,
  pageSizeBytes: number,
): { why: string; remedy: string } {
  const valueText = inDigits(valueSizeBytes);
  if (type.includes('per-cpu') && valueSizeBytes > MOST_PER_CPU_BYTES)
    return {
      why: `its values have ${valueText} bytes on each CPU, but the kernel accepts at most ${inDigits(MOST_PER_CPU_BYTES)}`,
      remedy: SPREAD,
    };
  if (type === 'array')
    return {
      why: `its values have ${valueText} bytes, but the kernel accepts less than 2 GiB`,
      remedy: SPREAD,
    };
  const elementBytes = keySizeBytes + valueSizeBytes;
  const tooManyBytes = MOST_KMALLOC_PAGES * pageSizeBytes - MOST_HEAD_BYTES;
  if (elementBytes >= tooManyBytes)
    return {
      why: `a key with its value has ${inDigits(elementBytes)} bytes, but the kernel accepts less than ${inDigits(tooManyBytes)}`,
      remedy: `${SPREAD} An array accepts larger ones.`,
    };
  if (type.includes('hash') && maxEntries > MOST_HASH_ENTRIES)
    return {
      why: `it has room for ${inDigits(maxEntries)} entries, but the kernel accepts at most ${inDigits(MOST_HASH_ENTRIES)}`,
      remedy: 'Request fewer entries, and count what finds no room with countLoss().',
    };
  return { why: 'it is larger than the kernel accepts', remedy: 'Request fewer entries, or smaller values.' };
}

function inDigits(count: number): string {
  return count.toLocaleString('en');
}
