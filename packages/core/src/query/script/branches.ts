import type { WalkedSample } from '../../ingest/index.ts';

/** perf's names of PERF_BR_*; 0 is a branch of unknown type. */
const BRANCH_TYPES = [
  '',
  'COND',
  'UNCOND',
  'IND',
  'CALL',
  'IND_CALL',
  'RET',
  'SYSCALL',
  'SYSRET',
  'COND_CALL',
  'COND_RET',
  'ERET',
  'IRQ',
  'SERROR',
  'NO_TX',
] as const;

/** A taken branch, newest first in its stack. */
export interface Branch {
  fromLo: number;
  fromHi: number;
  toLo: number;
  toHi: number;
  /** Mispredicted, predicted, or not known. */
  prediction: 'M' | 'P' | '-';
  inTransaction: boolean;
  isAbort: boolean;
  cycles: number;
  /** Empty where the hardware does not say. */
  type: string;
}

/**
 * The branches of a sample. An entry is three words, the last one of bit fields (struct perf_branch_entry):
 *
 *     from | to | mispred:1 predicted:1 in_tx:1 abort:1 cycles:16 type:4 ...
 */
export function branchesOf({ view, fields }: WalkedSample, le: boolean): Branch[] {
  const lo = le ? 0 : 4;
  const hi = 4 - lo;
  return Array.from({ length: fields.branchCount }, (_, i) => {
    const at = fields.branchOffset + i * 24;
    const flags = view.getUint32(at + 16 + lo, le);
    return {
      fromLo: view.getUint32(at + lo, le),
      fromHi: view.getUint32(at + hi, le),
      toLo: view.getUint32(at + 8 + lo, le),
      toHi: view.getUint32(at + 8 + hi, le),
      prediction: (flags & 1) !== 0 ? 'M' : (flags & 2) !== 0 ? 'P' : '-',
      inTransaction: (flags & 4) !== 0,
      isAbort: (flags & 8) !== 0,
      cycles: (flags >>> 4) & 0xffff,
      type: BRANCH_TYPES[(flags >>> 20) & 15] ?? '',
    };
  });
}
