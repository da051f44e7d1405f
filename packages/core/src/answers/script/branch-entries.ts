import { bigIntAt, hiOf, loOf, toHex } from '../../base/index.ts';
import {
  type BranchFlags,
  branchFlagsOf,
  branchPrivilegeName,
  branchSpeculationName,
  branchTypeName,
} from '../../format/branches/index.ts';
import { branchFlagsFrom } from '../../format/records/index.ts';
import type { WalkedSample } from '../../profile/ingest/index.ts';

const ENTRY_BYTES = 24;

/** An entry of a branch stack: newest first, as recorded, empty ones too. */
export interface StackEntry {
  from: bigint;
  to: bigint;
  flags: BranchFlags;
  /** Events that the CPU counted since the branch before; null where it did not. */
  counters: bigint | null;
}

export function stackEntries({ view, fields, event }: WalkedSample, littleEndian: boolean): StackEntry[] {
  return Array.from({ length: fields.branchCount }, (_, place) => {
    const at = fields.branchOffset + place * ENTRY_BYTES;
    return {
      from: bigIntAt(view, at, littleEndian),
      to: bigIntAt(view, at + 8, littleEndian),
      flags: branchFlagsOf(branchFlagsFrom(bigIntAt(view, at + 16, littleEndian), littleEndian)),
      counters: event.layout.branchHasCounters
        ? bigIntAt(view, fields.branchCountersOffset + place * 8, littleEndian)
        : null,
    };
  });
}

/** `/P/-/-/CYCLES/TYPE `: predicted, in transaction, aborted; as perf has it. */
export function flagsTail({
  prediction,
  isInTransaction,
  isAbort,
  cycles,
  type,
  newType,
}: BranchFlags): string {
  const letter = prediction === null ? '-' : prediction === 'predicted' ? 'P' : 'M';
  const transaction = `${isInTransaction ? 'X' : '-'}/${isAbort ? 'A' : '-'}`;
  return `/${letter}/${transaction}/${cycles}/${branchTypeName(type, newType)} `;
}

export const hexText = (value: bigint): string => toHex(loOf(value), hiOf(value));

export function jsonBranch({ from, to, flags, counters }: StackEntry): unknown {
  const { prediction, type, newType, speculation, privilege } = flags;
  return {
    from: `0x${hexText(from)}`,
    to: `0x${hexText(to)}`,
    mispredicted: prediction === null ? null : prediction === 'mispredicted',
    inTransaction: flags.isInTransaction,
    abort: flags.isAbort,
    cycles: flags.cycles,
    type: branchTypeName(type, newType) || null,
    speculation: branchSpeculationName(speculation) || null,
    privilege: branchPrivilegeName(privilege) || null,
    ...(counters === null ? {} : { counters: `0x${hexText(counters)}` }),
  };
}
