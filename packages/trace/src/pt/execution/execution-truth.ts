import type { ExecutionBlock } from './execution-code.ts';

const FNV_PRIME = 0x0100_0193;
const FNV_BASIS = 0x811c_9dc5;

/** What really ran: what a decoder must find again. */
export class ExecutionTruth {
  /** Executed instructions. */
  instructions = 0;
  /** Runs of blocks: stretches of instructions that end with a branch. */
  blocks = 0;
  /** Conditional branches, taken or not. */
  conditionals = 0;
  /** Conditional branches that jumped. */
  taken = 0;
  /** Near calls. */
  calls = 0;
  /** Near returns. */
  returns = 0;
  /** Returns that became one bit of a TNT packet. */
  compressedReturns = 0;
  /** Indirect jumps and calls. */
  indirects = 0;
  /** System calls and the like. */
  farTransfers = 0;
  /** Asynchronous events. */
  interrupts = 0;
  /** Synchronisation points in the trace. */
  psbs = 0;
  #hash = FNV_BASIS;
  readonly #hasHash: boolean;
  /**
   * By block, how often which other followed it along a branch or straight on (not by an
   * event); null where not asked for.
   */
  readonly edges: Map<ExecutionBlock, Map<ExecutionBlock, number>> | null;

  constructor(hasHash: boolean, hasEdges: boolean) {
    this.#hasHash = hasHash;
    this.edges = hasEdges ? new Map() : null;
  }

  /**
   * FNV-1a over the address of every instruction in order, first its low then its high half as 32-bit words.
   * Unsigned; null where it was not asked for.
   */
  get addressHash(): number | null {
    return this.#hasHash ? this.#hash >>> 0 : null;
  }

  /** @internal */
  run(block: ExecutionBlock): void {
    block.runs++;
    const { addresses } = block;
    if (addresses.length === 0) return;
    this.blocks++;
    this.instructions += addresses.length >>> 1;
    if (!this.#hasHash) return;
    let hash = this.#hash;
    for (let index = 0; index < addresses.length; index++)
      hash = Math.imul(hash ^ addresses[index]!, FNV_PRIME);
    this.#hash = hash;
  }

  /** @internal */
  edge(from: ExecutionBlock, to: ExecutionBlock): void {
    if (this.edges === null) return;
    let targets = this.edges.get(from);
    if (targets === undefined) {
      targets = new Map();
      this.edges.set(from, targets);
    }
    targets.set(to, (targets.get(to) ?? 0) + 1);
  }

  /** @internal */
  conditional(block: ExecutionBlock, isTaken: boolean): void {
    this.conditionals++;
    if (!isTaken) return;
    this.taken++;
    block.taken++;
  }
}
