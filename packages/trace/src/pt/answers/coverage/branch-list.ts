import { compareU64, printable, printableJson, toHex } from '@counterpoint/core/base';
import { KIND_CALL, KIND_CONDITIONAL, KIND_NAMES, KIND_RETURN } from '../../../code/instructions/index.ts';
import type { ExactProfile } from '../exact-profile.ts';

/** A place that a branch went to. */
export interface BranchTarget {
  /** Low half of its address, as int32. */
  readonly lo: number;
  /** High half. */
  readonly hi: number;
  /** Times that the branch went there. */
  readonly count: number;
}

/** A branch instruction, of whatever kind. */
export interface CountedBranch {
  /** Low half of its address, as int32. */
  readonly lo: number;
  /** High half. */
  readonly hi: number;
  /** KIND_*. */
  readonly kind: number;
  /** Times executed, taken or not. */
  readonly executed: number;
  /** Of conditional ones: how often they jumped. All others always do. */
  readonly taken: number;
  /**
   * Where it went, the most often gone to first. Not known for returns: the trace says of most only that
   * they went behind their call.
   */
  readonly targets: readonly BranchTarget[];
}

/** Every branch that was executed, the most often executed first. */
export function branchList(profile: ExactProfile): CountedBranch[] {
  const targets = new Map<number, BranchTarget[]>();
  profile.branches.forEach((from, to, count) => {
    const target = { lo: profile.loOf(to), hi: profile.hiOf(to), count };
    const known = targets.get(from);
    if (known === undefined) targets.set(from, [target]);
    else known.push(target);
  });
  const branches: CountedBranch[] = [];
  for (const row of profile.sortedRows()) {
    const executed = profile.executed.at(row);
    const kind = profile.kind.at(row);
    if (executed === 0 || kind < KIND_CALL) continue;
    const found = kind === KIND_RETURN ? [] : (targets.get(row) ?? []);
    const taken = found.reduce((sum, { count }) => sum + count, 0);
    branches.push({
      lo: profile.loOf(row),
      hi: profile.hiOf(row),
      kind,
      executed,
      taken: kind === KIND_CONDITIONAL ? Math.min(taken, executed) : executed,
      targets: found.sort(
        (a, b) => b.count - a.count || compareU64(a.lo >>> 0, a.hi >>> 0, b.lo >>> 0, b.hi >>> 0),
      ),
    });
  }
  // Sorting keeps the order of addresses where counts are equal.
  return branches.sort((a, b) => b.executed - a.executed);
}

/** Gives an address its function's name, with the place in it; null where it has none. */
export type AddressName = (lo: number, hi: number) => string | null;

const noName: AddressName = () => null;
const COLUMNS = '     executed         taken     not taken  kind              from';
const SHOWN_TARGETS = 4;

/** What `branchList` found, as a table for people. */
export function* writeBranchText(
  branches: readonly CountedBranch[],
  nameOf: AddressName = noName,
): Generator<string> {
  yield `${COLUMNS}\n`;
  for (const { lo, hi, kind, executed, taken, targets } of branches) {
    const shown = targets
      .slice(0, SHOWN_TARGETS)
      .map((to) => `${place(to.lo, to.hi, nameOf)}${targets.length > 1 ? ` (${to.count})` : ''}`);
    const more = targets.length - shown.length;
    if (more > 0) shown.push(`${more} more`);
    const counts = [executed, taken, kind === KIND_CONDITIONAL ? executed - taken : ''];
    const cells = counts.map((count) => String(count).padStart(13)).join(' ');
    const goes = shown.length === 0 ? '' : ` -> ${shown.join(', ')}`;
    yield `${cells}  ${(KIND_NAMES[kind] ?? '').padEnd(16)}  ${place(lo, hi, nameOf)}${goes}\n`;
  }
}

/** What `branchList` found, for programs: one object, counts as decimal strings. */
export function* writeBranchJson(
  branches: readonly CountedBranch[],
  nameOf: AddressName = noName,
): Generator<string> {
  yield '{"type":"pt-branches","version":1,"branches":[';
  for (const [index, { lo, hi, kind, executed, taken, targets }] of branches.entries()) {
    const row = {
      ...addressFields(lo, hi, nameOf),
      kind: KIND_NAMES[kind],
      executed: String(executed),
      taken: String(taken),
      notTaken: String(executed - taken),
      targets: targets.map((to) => ({ ...addressFields(to.lo, to.hi, nameOf), count: String(to.count) })),
    };
    yield `${index === 0 ? '' : ','}\n${printableJson(row)}`;
  }
  yield '\n]}\n';
}

function addressFields(lo: number, hi: number, nameOf: AddressName): { address: string; name?: string } {
  const address = `0x${toHex(lo >>> 0, hi >>> 0)}`;
  const name = nameOf(lo, hi);
  return name === null ? { address } : { address, name };
}

function place(lo: number, hi: number, nameOf: AddressName): string {
  const address = `0x${toHex(lo >>> 0, hi >>> 0)}`;
  const name = nameOf(lo, hi);
  return name === null ? address : `${address} ${printable(name)}`;
}
