import {
  BRANCH_ABORT,
  BRANCH_CYCLES_MASK,
  BRANCH_CYCLES_SHIFT,
  BRANCH_IN_TRANSACTION,
  BRANCH_MISPREDICTED,
  BRANCH_NEW_TYPE_NAMES,
  BRANCH_NEW_TYPE_SHIFT,
  BRANCH_PREDICTED,
  BRANCH_PRIVILEGE_NAMES,
  BRANCH_PRIVILEGE_SHIFT,
  BRANCH_SPECULATION_NAMES,
  BRANCH_SPECULATION_SHIFT,
  BRANCH_TYPE_NAMES,
  BRANCH_TYPE_SHIFT,
  PERF_BR_EXTEND_ABI,
} from '../abi/index.ts';

/** A branch that was taken, whatever recorded it. */
export interface BranchRecord {
  /** Address of the branch instruction. */
  from: bigint;
  /** Address that it went to. */
  to: bigint;
  /** The kernel's word: `branchFlagsOf` takes it apart. */
  flags: bigint;
  /**
   * When, in nanoseconds of the recording's clock: of a branch stack, when the sample was taken. null where
   * nobody knows.
   */
  timeNs: bigint | null;
  /** Number of the CPU, or -1. */
  cpu: number;
  /** Thread, or -1. */
  tid: number;
}

/** What a branch's flags say. */
export interface BranchFlags {
  /** Whether the CPU had guessed the target; null where the hardware does not say. */
  prediction: 'predicted' | 'mispredicted' | null;
  /** Within a memory transaction. */
  isInTransaction: boolean;
  /** The branch is the abort of a transaction. */
  isAbort: boolean;
  /** Cycles since the branch before: 0 where the hardware does not say, 65535 for as many or more. */
  cycles: number;
  /** PERF_BR_*, 0 to 15. */
  type: number;
  /** PERF_BR_SPEC_*, 0 to 3. */
  speculation: number;
  /** PERF_BR_NEW_*, where the type is PERF_BR_EXTEND_ABI. */
  newType: number;
  /** PERF_BR_PRIV_*, 0 to 7. */
  privilege: number;
}

const LOW_BITS = 0xffff_ffffn;

/** The flags of a branch, taken apart. */
export function branchFlagsOf(flags: bigint): BranchFlags {
  const low = Number(flags & LOW_BITS);
  return {
    prediction:
      (low & BRANCH_MISPREDICTED) !== 0
        ? 'mispredicted'
        : (low & BRANCH_PREDICTED) !== 0
          ? 'predicted'
          : null,
    isInTransaction: (low & BRANCH_IN_TRANSACTION) !== 0,
    isAbort: (low & BRANCH_ABORT) !== 0,
    cycles: (low >>> BRANCH_CYCLES_SHIFT) & BRANCH_CYCLES_MASK,
    type: (low >>> BRANCH_TYPE_SHIFT) & 15,
    speculation: (low >>> BRANCH_SPECULATION_SHIFT) & 3,
    newType: (low >>> BRANCH_NEW_TYPE_SHIFT) & 15,
    privilege: Number(flags >> BigInt(BRANCH_PRIVILEGE_SHIFT)) & 7,
  };
}

/** Flags of a branch: what is left out is not known. */
export function branchFlagsWord(parts: Partial<BranchFlags>): bigint {
  const { prediction = null, isInTransaction = false, isAbort = false } = parts;
  const low =
    (prediction === 'mispredicted' ? BRANCH_MISPREDICTED : 0) |
    (prediction === 'predicted' ? BRANCH_PREDICTED : 0) |
    (isInTransaction ? BRANCH_IN_TRANSACTION : 0) |
    (isAbort ? BRANCH_ABORT : 0) |
    (Math.min(parts.cycles ?? 0, BRANCH_CYCLES_MASK) << BRANCH_CYCLES_SHIFT) |
    (((parts.type ?? 0) & 15) << BRANCH_TYPE_SHIFT) |
    (((parts.speculation ?? 0) & 3) << BRANCH_SPECULATION_SHIFT) |
    (((parts.newType ?? 0) & 15) << BRANCH_NEW_TYPE_SHIFT);
  return BigInt(low >>> 0) | (BigInt((parts.privilege ?? 0) & 7) << BigInt(BRANCH_PRIVILEGE_SHIFT));
}

/** perf's name of the kind of a branch; empty where the hardware does not say. */
export function branchTypeName(type: number, newType = 0): string {
  if (type === 0) return '';
  return type === PERF_BR_EXTEND_ABI
    ? (BRANCH_NEW_TYPE_NAMES[newType] ?? `NEW_${newType}`)
    : (BRANCH_TYPE_NAMES[type] ?? '');
}

/** @internal `SPEC_WRONG_PATH`; empty where the hardware does not say. */
export function branchSpeculationName(speculation: number): string {
  return speculation === 0 ? '' : (BRANCH_SPECULATION_NAMES[speculation] ?? '');
}

/** @internal `user`, `kernel`, `hypervisor`; empty where the hardware does not say. */
export function branchPrivilegeName(privilege: number): string {
  return privilege === 0 ? '' : (BRANCH_PRIVILEGE_NAMES[privilege] ?? `level ${privilege}`);
}
