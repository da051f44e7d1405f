import { CounterpointError, checkOptionNames, type OptionNames, printable } from '../../base/index.ts';
import { checkProfile, type Profile, type ProfileBranches } from '../../profile/tables/index.ts';
import { busiestCommand, programName } from './program.ts';

/** Options of `branchesOfBinary()`. */
export interface BranchProfileOptions {
  /** Index of the event; default 0. */
  event?: number | undefined;
  /**
   * The path or name of the program or library; default: the recorded program, else
   * the one with most branches.
   */
  binary?: string | undefined;
}

const OPTIONS: OptionNames<BranchProfileOptions> = { event: true, binary: true };
const CHUNK_LINES = 4096;
/** The kernel keeps so much of a name (TASK_COMM_LEN of linux/sched.h, without its end). */
const COMM_CHARS = 15;

/** What is counted between two places of a file, in the order of both. */
export interface BranchCount {
  /** Offset in the file: of the branch, or of the first instruction. */
  readonly from: number;
  /** Offset in the file: of where it went, or of the last instruction. */
  readonly to: number;
  /** How often. */
  count: number;
}

/** The branches of one file, at their offsets in it. */
export interface BinaryBranches {
  /** Path of the file, as the recording has it. */
  readonly path: string;
  /** Lower-case hex, or empty. */
  readonly buildId: string;
  /** Code that ran straight on, from its first to its last instruction. */
  readonly ranges: readonly BranchCount[];
  /** Branches that were taken. */
  readonly edges: readonly BranchCount[];
  /** Branches from or to other files, which no profile for one file has. */
  readonly others: number;
}

/**
 * The branches of one file out of a profile that was made with `branches: true`, of branch
 * stacks (LBR and its like) or of branches one by one (BTS, soft_bts, traces). Throws
 * `ERR_NOT_RECORDED` where there are none.
 */
export function branchesOfBinary(profile: Profile, options: BranchProfileOptions = {}): BinaryBranches {
  checkProfile('branchesOfBinary()', profile);
  checkOptionNames('branchesOfBinary()', options, OPTIONS);
  const { branches, frames, binaries } = profile;
  const event = options.event ?? 0;
  if (branches === null)
    throw new CounterpointError(
      'ERR_ARGUMENT',
      'the profile has no branches',
      'Make it with branches: true: await recording.profile({ branches: true }).',
    );
  const binary = chosenBinary(profile, branches, event, options.binary);
  const { edges, ranges } = branches;
  const offsetOf = (frame: number): number =>
    (frames.addressHi.at(frame) >>> 0) * 0x1_0000_0000 + (frames.addressLo.at(frame) >>> 0);
  const isInside = (frame: number): boolean => frames.binary.at(frame) === binary;
  const foundEdges = new PairCounts();
  const foundRanges = new PairCounts();
  let others = 0;
  for (let row = 0; row < edges.length; row++) {
    if (edges.event.at(row) !== event) continue;
    const [from, to] = [edges.from.at(row), edges.to.at(row)];
    if (isInside(from) && isInside(to)) foundEdges.add(offsetOf(from), offsetOf(to), edges.count.at(row));
    else if (isInside(from) || isInside(to)) others += edges.count.at(row);
  }
  for (let row = 0; row < ranges.length; row++) {
    const [first, last] = [ranges.first.at(row), ranges.last.at(row)];
    if (ranges.event.at(row) === event && isInside(first) && isInside(last))
      foundRanges.add(offsetOf(first), offsetOf(last), ranges.count.at(row));
  }
  const { path, buildId } = binaries[binary]!;
  return { path, buildId, ranges: foundRanges.sorted(), edges: foundEdges.sorted(), others };
}

/**
 * The text profile of AutoFDO, piece by piece, for `create_llvm_prof --profiler=text` and `create_gcov
 * --profiler=text`, as these make it of perf's recordings of branch stacks by themselves. Three lists, each
 * with its number of entries before it; addresses are hexadecimal offsets in the file. The second, of single
 * samples, is empty: branches say how often each instruction ran.
 *
 *     from-to:count      code that ran straight on from the first instruction to the last
 *     address:count
 *     from->to:count     branches that were taken
 */
export function* writeAutofdo(branches: BinaryBranches): Generator<string> {
  yield* list(branches.ranges.map(({ from, to, count }) => `${hex(from)}-${hex(to)}:${count}`));
  yield '0\n';
  yield* list(branches.edges.map(({ from, to, count }) => `${hex(from)}->${hex(to)}:${count}`));
}

class PairCounts {
  readonly #byKey = new Map<string, BranchCount>();

  add(from: number, to: number, count: number): void {
    const key = `${from} ${to}`;
    const known = this.#byKey.get(key);
    if (known === undefined) this.#byKey.set(key, { from, to, count });
    else known.count += count;
  }

  sorted(): BranchCount[] {
    return [...this.#byKey.values()].sort((a, b) => a.from - b.from || a.to - b.to);
  }
}

function chosenBinary(
  profile: Profile,
  { edges }: ProfileBranches,
  event: number,
  name: string | undefined,
): number {
  const { binaries, frames } = profile;
  const counts = new Map<number, number>();
  for (let row = 0; row < edges.length; row++) {
    if (edges.event.at(row) !== event) continue;
    for (const frame of [edges.from.at(row), edges.to.at(row)]) {
      const binary = frames.binary.at(frame);
      if (binaries[binary]?.kind === 'user')
        counts.set(binary, (counts.get(binary) ?? 0) + edges.count.at(row));
    }
  }
  const known = [...counts].sort(([, a], [, b]) => b - a).map(([binary]) => binary);
  const nameOf = (binary: number): string => binaries[binary]!.name;
  const withName = (wanted: string): number | undefined => known.find((binary) => nameOf(binary) === wanted);
  const command = busiestCommand(profile, event);
  const found =
    name === undefined
      ? (withName(programName(profile, event)) ??
        known.find((binary) => command !== '' && nameOf(binary).slice(0, COMM_CHARS) === command) ??
        known[0])
      : (known.find((binary) => binaries[binary]!.path === name) ?? withName(name));
  if (found !== undefined) return found;
  throw new CounterpointError(
    known.length === 0 ? 'ERR_NOT_RECORDED' : 'ERR_ARGUMENT',
    name === undefined ? 'no branch is in a program or library' : `no branch is in ${printable(name)}`,
    known.length === 0
      ? 'Record branches of user code: -b on a CPU with branch records, -e soft_bts//u on any x86-64 machine.'
      : `Branches are in: ${known.map((binary) => printable(binaries[binary]!.path)).join(', ')}`,
  );
}

function* list(lines: readonly string[]): Generator<string> {
  yield `${lines.length}\n`;
  for (let at = 0; at < lines.length; at += CHUNK_LINES)
    yield `${lines.slice(at, at + CHUNK_LINES).join('\n')}\n`;
}

function hex(offset: number): string {
  return offset.toString(16);
}
