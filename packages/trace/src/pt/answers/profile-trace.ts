import type { CodeImage } from '../../code/image/index.ts';
import { KIND_CALL, KIND_CONDITIONAL, KIND_RETURN } from '../../code/instructions/index.ts';
import {
  EVENT_ASYNC_BRANCH,
  EVENT_ASYNC_DISABLED,
  EVENT_DISABLED,
  EVENT_ENABLED,
  EVENT_OVERFLOW,
  type ExecutedInstruction,
  type FlowErrorCount,
  type FlowEvent,
} from '../flow/index.ts';
import type { CodeGraph } from '../graph/index.ts';
import { ExactProfile, type ExactTotals, isJump, type LeftOut } from './exact-profile.ts';
import { NodeCounts } from './node-counts.ts';
import { type RunTraceOptions, type TraceListener, TraceRun } from './run-trace.ts';

/** What `profileTrace` and `profileInParts` found. */
export interface TraceProfile {
  /**
   * Row by row. From `profileInParts` in the order of addresses, which it is brought into
   * when it is first asked for.
   */
  readonly profile: ExactProfile;
  /** Of all rows, and of what has none. */
  readonly totals: ExactTotals;
  /** What the profile had no room for. */
  readonly leftOut: LeftOut;
  /** In the order of their first place; what ran there is not counted. Empty: all was followed. */
  readonly errors: FlowErrorCount[];
  /** Times that the processor lost packets. */
  readonly overflows: number;
}

/**
 * How often every instruction and every branch was executed, exactly, in this thread. Damage and
 * missing code are counted in `errors`. All code must be at hand: `image.isWaiting` afterwards says
 * that `load` would bring more.
 */
export function profileTrace(
  bytes: Uint8Array,
  image: CodeImage,
  options: RunTraceOptions = {},
): TraceProfile {
  const graphs = new Map<CodeGraph, NodeCounts>();
  const collector = new ProfileCollector((graph) => {
    const counts = new NodeCounts(graph, () => collector.profile.addGraph(counts.take()));
    graphs.set(graph, counts);
    return counts;
  });
  collector.onGraphEnd = (graph) => {
    collector.profile.addGraph(graphs.get(graph)!);
    graphs.delete(graph);
  };
  const { errors, overflows } = new TraceRun(bytes, image, options, collector).run();
  const profile = collector.finish();
  for (const counts of graphs.values()) profile.addGraph(counts);
  return {
    profile,
    totals: profile.totals(),
    leftOut: profile.leftOut,
    errors: errors.list(),
    overflows,
  };
}

/** Instead of a row: no instruction. */
const NONE = -1;

/** Behind these it goes on somewhere else; other events are only told. */
const BREAKS_RUN: ReadonlySet<number> = new Set([
  EVENT_ENABLED,
  EVENT_DISABLED,
  EVENT_ASYNC_DISABLED,
  EVENT_ASYNC_BRANCH,
  EVENT_OVERFLOW,
]);

/** Counts what the exact decoder executes; what the graph does is counted by `counts`. */
export class ProfileCollector implements TraceListener {
  readonly counts: (graph: CodeGraph) => NodeCounts;
  onGraphEnd?: (graph: CodeGraph) => void;
  readonly profile = new ExactProfile();
  /** An event cut off what was executed before this trace began, if that was in the middle of a run. */
  startsWithCut = false;
  #isAtStart = true;
  /** Row of the exact decoder's last instruction, and whether it is in the middle of a run. */
  #last = NONE;
  #lastLo = 0;
  #lastHi = 0;
  #lastKind = 0;
  #lastSize = 0;
  /** Whether it was a conditional branch that was taken. Null: the trace has not told, its target must. */
  #lastTaken: boolean | null = null;
  #isInRun = false;

  constructor(counts: (graph: CodeGraph) => NodeCounts) {
    this.counts = counts;
  }

  /** Nothing was executed and nothing has happened yet. */
  get isAtStart(): boolean {
    return this.#isAtStart;
  }

  onInstruction(instruction: ExecutedInstruction): void {
    const { ipLo, ipHi, length, kind } = instruction;
    this.#goTo(ipLo, ipHi);
    this.#isAtStart = false;
    this.#last = this.profile.add(ipLo, ipHi, length, kind, 1);
    this.#lastLo = ipLo;
    this.#lastHi = ipHi;
    this.#lastKind = kind;
    this.#lastSize = length;
    this.#lastTaken = instruction.isPassed ? instruction.isTaken : null;
    this.#isInRun = kind < KIND_CALL;
  }

  onGraph(ipLo: number, ipHi: number): void {
    this.#goTo(ipLo, ipHi);
    this.#isAtStart = false;
    this.#last = NONE;
    this.#isInRun = false;
  }

  onEvent(event: FlowEvent, ipLo: number, ipHi: number): void {
    if (event.isStatus || !BREAKS_RUN.has(event.kind)) return;
    // Only a branch may still be on its way when tracing goes off, and then that tells where it goes.
    if (event.kind !== EVENT_DISABLED) this.#goTo(ipLo, ipHi);
    else if (!event.isIpSuppressed) this.#goTo(event.ipLo, event.ipHi);
    this.#cut();
  }

  onBreak(_code: number, ipLo: number, ipHi: number, isPassed: boolean): void {
    if (isPassed) this.#goTo(ipLo, ipHi);
    this.#cut();
  }

  /** What was counted here; `counts` must be added. */
  finish(): ExactProfile {
    this.#cut();
    return this.profile;
  }

  /**
   * The trace goes on with the instruction at an address, and others count that: nothing is cut off. Returns
   * whether it is in the middle of a run.
   */
  handOver(ipLo: number, ipHi: number): boolean {
    this.#goTo(ipLo, ipHi);
    this.#last = NONE;
    return this.#isInRun;
  }

  #cut(): void {
    if (this.#isInRun) this.profile.cuts++;
    else if (this.#isAtStart) this.startsWithCut = true;
    this.#isAtStart = false;
    this.#isInRun = false;
    this.#last = NONE;
  }

  /**
   * The instruction after a branch is where it went. Also where nothing is
   * executed there: that may be itself.
   */
  #goTo(lo: number, hi: number): void {
    const last = this.#last;
    if (last === NONE) return;
    const kind = this.#lastKind;
    if (kind < KIND_CALL || kind === KIND_RETURN) return;
    if (
      kind === KIND_CONDITIONAL &&
      !(this.#lastTaken ?? isJump(this.#lastLo, this.#lastHi, this.#lastSize, lo, hi))
    )
      return;
    this.profile.addBranch(last, lo, hi, 1);
  }
}
