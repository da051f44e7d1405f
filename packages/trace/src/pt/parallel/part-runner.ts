/**
 * Parts of a trace, one after the other, over the same compiled graph. A part begins as after damage, with
 * nothing known, at the PSB of a cut; that this is what a decoder of the whole trace would do is the
 * question of the part before it:
 *
 *   part k      ... | PSB+ of the cut | state behind it      does it equal
 *   part k + 1        PSB+ of the cut | state behind it      this one? Then the two join, else part k must go on.
 *
 * What a part counted is kept apart until somebody knows whether it joins (`keep`) or not (`drop`).
 */
import { type CancelSignal, optional } from '@counterpoint/core/base';
import type { CodeImage } from '../../code/image/index.ts';
import { ExactProfile } from '../answers/exact-profile.ts';
import { NodeCounts } from '../answers/node-counts.ts';
import { ProfileCollector } from '../answers/profile-trace.ts';
import { type GraphEngines, type RunTraceOptions, TraceRun } from '../answers/run-trace.ts';
import type { CodeGraph } from '../graph/index.ts';
import { joinState } from './join-state.ts';

/** What decoding depends on, as far as parts can be decoded on their own: nothing that follows the time. */
export type PartOptions = Omit<
  RunTraceOptions,
  'from' | 'to' | 'stopAt' | 'ticks' | 'codeTime' | 'signal' | 'onProgress'
>;

/** A stretch of a trace, to be decoded on its own. */
export interface Part {
  /** Number of the part: the outcome has it, too. */
  readonly id: number;
  /** The stretch, and what its decoder needs behind it. */
  readonly bytes: Uint8Array;
  /** The offset of `bytes` in the trace; the other offsets are in `bytes`. */
  readonly baseOffset: number;
  /** The PSB it begins with, as an offset in `bytes`. */
  readonly from: number;
  /** The PSB that the next part begins with; -1: to the end. */
  readonly stopAt: number;
}

/** What the parts before and after must know. */
export interface PartOutcome {
  /** Number of the part. */
  readonly id: number;
  /** The part behind begins in the state that this one has ended in; true at the end of the trace. */
  readonly isJoined: boolean;
  /** In the middle of a run of instructions. */
  readonly endsInRun: boolean;
  /** An event cuts off what was executed in the part before. */
  readonly startsWithCut: boolean;
  /** As `FlowErrorCounts.addAll` takes them; offsets are in the part's bytes. */
  readonly errors: readonly [code: number, count: number, firstOffset: number][];
  /** Times that the processor lost packets. */
  readonly overflows: number;
}

class HeldPart {
  readonly profile: ExactProfile;
  readonly counts: NodeCounts[];

  constructor(profile: ExactProfile, counts: NodeCounts[]) {
    this.profile = profile;
    this.counts = counts;
  }

  /** Have no need of a graph. */
  endGraph(graph: CodeGraph): void {
    const at = this.counts.findIndex((counts) => counts.graph === graph);
    if (at < 0) return;
    this.profile.addGraph(this.counts[at]!);
    this.counts.splice(at, 1);
  }
}

export class PartRunner {
  readonly #image: CodeImage;
  readonly #options: PartOptions;
  readonly #engines: GraphEngines = new Map();
  /** By graph: of the part that runs, and of all parts that were kept. */
  readonly #running = new Map<CodeGraph, NodeCounts>();
  readonly #kept = new Map<CodeGraph, NodeCounts>();
  #profile = new ExactProfile();
  readonly #held = new Map<number, HeldPart>();
  /** Of the part that runs: the counts of a graph are asked for once, and go on from part to part. */
  #collector = newCollector();

  constructor(image: CodeImage, options: PartOptions) {
    this.#image = image;
    this.#options = options;
  }

  run(part: Part, onProgress: (doneBytes: number) => void, signal?: CancelSignal): PartOutcome {
    const { bytes, from, stopAt, baseOffset } = part;
    const collector = new ProfileCollector((graph) => {
      const counts = new NodeCounts(graph, () => this.#collector.profile.addGraph(counts.take()));
      const kept = new NodeCounts(graph, () => this.#profile.addGraph(kept.take()));
      this.#running.set(graph, counts);
      this.#kept.set(graph, kept);
      return counts;
    });
    this.#collector = collector;
    // What it counted is worked out while its code is still at hand, and nothing holds it any more.
    collector.onGraphEnd = (graph) => {
      collector.profile.addGraph(this.#running.get(graph)!);
      this.#profile.addGraph(this.#kept.get(graph)!);
      for (const held of this.#held.values()) held.endGraph(graph);
      this.#running.delete(graph);
      this.#kept.delete(graph);
    };
    const options: RunTraceOptions = {
      ...this.#options,
      from,
      onProgress: (offset) => onProgress(offset - from),
      ...optional({ signal }),
      ...(stopAt < 0 ? {} : { stopAt }),
    };
    const run = new TraceRun(bytes, this.#image, options, collector, this.#engines);
    const { errors, overflows } = run.run();
    const isJoined = stopAt < 0 || (run.isStopped && this.#isAtStart(run, part));
    const { state } = run.decoder;
    const endsInRun = stopAt >= 0 && isJoined && collector.handOver(state.ipLo, state.ipHi);
    const profile = stopAt < 0 ? collector.finish() : collector.profile;
    this.#held.set(
      part.id,
      new HeldPart(
        profile,
        [...this.#running.values()].map((counts) => counts.take()),
      ),
    );
    return {
      id: part.id,
      isJoined,
      endsInRun,
      startsWithCut: collector.startsWithCut,
      errors: errors.toRows().map(([code, count, offset]) => [code, count, baseOffset + offset]),
      overflows,
    };
  }

  /** Is the state at the cut the one that the next part begins with? */
  #isAtStart(run: TraceRun, { bytes, stopAt }: Part): boolean {
    const { state } = run.decoder;
    const listener = newCollector();
    const next = new TraceRun(bytes, this.#image, { ...this.#options, from: stopAt, stopAt }, listener);
    const { errors, overflows } = next.run();
    if (!next.isStopped || errors.total > 0 || overflows > 0 || !listener.isAtStart) return false;
    const here = joinState(state, this.#options);
    const there = joinState(next.decoder.state, this.#options);
    return here !== null && there !== null && here.every((value, at) => value === there[at]);
  }

  keep(id: number): void {
    const held = this.#take(id);
    this.#profile.addProfile(held.profile);
    for (const counts of held.counts) {
      const kept = this.#kept.get(counts.graph);
      if (kept === undefined) this.#profile.addGraph(counts);
      else kept.add(counts);
    }
  }

  drop(id: number): void {
    this.#take(id);
  }

  /** All that was kept; nothing comes after. */
  finish(): ExactProfile {
    for (const counts of this.#kept.values()) this.#profile.addGraph(counts.take());
    // What the graphs hold need not be there beside the answer.
    this.#kept.clear();
    this.#running.clear();
    this.#engines.clear();
    const profile = this.#profile;
    this.#profile = new ExactProfile();
    return profile;
  }

  #take(id: number): HeldPart {
    const held = this.#held.get(id);
    if (held === undefined) throw new Error(`part ${id} was not decoded here`);
    this.#held.delete(id);
    return held;
  }
}

/** One that nobody asks what was counted. */
function newCollector(): ProfileCollector {
  return new ProfileCollector((graph) => new NodeCounts(graph, null));
}
