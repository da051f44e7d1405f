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
  const collector = new ProfileCollector();
  const { errors, overflows } = new TraceRun(bytes, image, options, collector).run();
  return { profile: collector.finish(), errors: errors.list(), overflows };
}

/** Behind these it goes on somewhere else; other events are only told. */
const BREAKS_RUN: ReadonlySet<number> = new Set([
  EVENT_ENABLED,
  EVENT_DISABLED,
  EVENT_ASYNC_DISABLED,
  EVENT_ASYNC_BRANCH,
  EVENT_OVERFLOW,
]);

class ProfileCollector implements TraceListener {
  readonly #profile = new ExactProfile();
  readonly #graphs: NodeCounts[] = [];
  /** The exact decoder's last instruction, and whether it is in the middle of a run. */
  #last = -1;
  #isInRun = false;

  counts = (graph: NodeCounts['graph']): NodeCounts => {
    const counts = new NodeCounts(graph);
    this.#graphs.push(counts);
    return counts;
  };

  onInstruction(instruction: ExecutedInstruction): void {
    const { ipLo, ipHi, length, kind } = instruction;
    const row = this.#profile.add(ipLo, ipHi, length, kind, 1);
    this.#goTo(row);
    this.#last = row;
    this.#isInRun = kind < KIND_CALL;
  }

  onGraph(ipLo: number, ipHi: number): void {
    this.#goTo(this.#profile.rowOf(ipLo, ipHi));
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

  finish(): ExactProfile {
    this.#cut();
    for (const counts of this.#graphs) this.#profile.addGraph(counts);
    return this.#profile;
  }

  #cut(): void {
    if (this.#isInRun) this.#profile.cuts++;
    this.#isInRun = false;
    this.#last = -1;
  }

  /** The last branch may have been gone, though nothing was executed where it went. */
  #endAt(ipLo: number, ipHi: number): void {
    const last = this.#last;
    const profile = this.#profile;
    if (last >= 0 && (profile.loOf(last) !== ipLo || profile.hiOf(last) !== ipHi))
      this.#goTo(profile.rowOf(ipLo, ipHi));
  }

  /** The instruction after a branch is where it went. */
  #goTo(row: number): void {
    const last = this.#last;
    if (last < 0) return;
    const profile = this.#profile;
    const kind = profile.kind.at(last);
    if (kind < KIND_CALL || kind === KIND_RETURN) return;
    if (kind === KIND_CONDITIONAL && !profile.isJump(last, row)) return;
    profile.branches.add(last, row, 1);
  }
}
