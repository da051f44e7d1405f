import type { CodeImage } from '../../image/index.ts';
import { KIND_CALL, KIND_CONDITIONAL, KIND_RETURN } from '../../insn/index.ts';
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
import { ExactProfile } from './exact-profile.ts';
import { NodeCounts } from './node-counts.ts';
import { type RunTraceOptions, type TraceListener, TraceRun } from './run-trace.ts';

export interface TraceProfile {
  readonly profile: ExactProfile;
  readonly errors: FlowErrorCount[];
  readonly overflows: number;
}

/** How often everything was executed. */
export function profileTrace(
  bytes: Uint8Array,
  image: CodeImage,
  options: RunTraceOptions = {},
): TraceProfile {
  const graphs = new Map<CodeGraph, NodeCounts>();
  const collector = new ProfileCollector((graph) => {
    const counts = new NodeCounts(graph);
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
  return { profile, errors: errors.list(), overflows };
}

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
  /** The exact decoder's last instruction, and whether it is in the middle of a run. */
  #last = -1;
  #lastKind = 0;
  #lastSize = 0;
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
    const row = this.profile.add(ipLo, ipHi, length, kind, 1);
    this.#goTo(row);
    this.#isAtStart = false;
    this.#last = row;
    this.#lastKind = kind;
    this.#lastSize = length;
    this.#isInRun = kind < KIND_CALL;
  }

  onGraph(ipLo: number, ipHi: number): void {
    this.#goTo(this.profile.rowOf(ipLo, ipHi));
    this.#isAtStart = false;
    this.#last = -1;
    this.#isInRun = false;
  }

  onEvent(event: FlowEvent, ipLo: number, ipHi: number): void {
    if (event.isStatus || !BREAKS_RUN.has(event.kind)) return;
    if (event.kind !== EVENT_DISABLED) this.#endAt(ipLo, ipHi);
    else if (!event.isIpSuppressed) this.#endAt(event.ipLo, event.ipHi);
    this.#cut();
  }

  onBreak(_code: number, ipLo: number, ipHi: number): void {
    this.#endAt(ipLo, ipHi);
    this.#cut();
  }

  /** What was counted here; `counts` must be added. */
  finish(): ExactProfile {
    this.#cut();
    return this.profile;
  }

  /**
   * The trace goes on with the instruction at an address, and others count that: nothing is cut off. Returns whether it is in the
   * middle of a run.
   */
  handOver(ipLo: number, ipHi: number): boolean {
    this.#goTo(this.profile.rowOf(ipLo, ipHi));
    this.#last = -1;
    return this.#isInRun;
  }

  /** Was the instruction at an address the last one? */
  wasLast(ipLo: number, ipHi: number): boolean {
    const { profile } = this;
    return this.#last >= 0 && profile.loOf(this.#last) === ipLo && profile.hiOf(this.#last) === ipHi;
  }

  #cut(): void {
    if (this.#isInRun) this.profile.cuts++;
    else if (this.#isAtStart) this.startsWithCut = true;
    this.#isAtStart = false;
    this.#isInRun = false;
    this.#last = -1;
  }

  /** The last branch may have been gone, though nothing was executed where it went. */
  #endAt(ipLo: number, ipHi: number): void {
    if (this.#last >= 0 && !this.wasLast(ipLo, ipHi)) this.#goTo(this.profile.rowOf(ipLo, ipHi));
  }

  /** The instruction after a branch is where it went. */
  #goTo(row: number): void {
    const last = this.#last;
    if (last < 0) return;
    const kind = this.#lastKind;
    if (kind < KIND_CALL || kind === KIND_RETURN) return;
    if (kind === KIND_CONDITIONAL && !this.profile.isJump(last, row, this.#lastSize)) return;
    this.profile.branches.add(last, row, 1);
  }
}
