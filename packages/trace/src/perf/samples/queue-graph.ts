/**
 * Most of a queue, by the compiled graph: whole nodes instead of instructions. What samples need is replayed
 * from nodes: each is a few segments that end with a branch.
 *
 *   node 7    push mov call f | test jmp g | cmp je        the direct ones are known; where `je` went, the next node says
 */

import { PERF_IP_FLAG_IN_TX, PERF_IP_FLAG_TRACE_END } from '@counterpoint/core/abi';
import { optional } from '@counterpoint/core/base';
import { Int32Column } from '@counterpoint/core/profile';
import { type CodeImage, offsetIn } from '../../code/image/index.ts';
import { Instruction, KIND_CALL } from '../../code/instructions/index.ts';
import {
  CodeGraph,
  END_CONDITIONAL,
  END_JUMP_INDIRECT,
  type EngineEventListener,
  GraphEngine,
  type HandOver,
  headerOf,
} from '../../pt/graph/index.ts';
import {
  EVENT_DISABLED,
  EVENT_ENABLED,
  type FlowEvent,
  type FlowOptions,
  type FlowState,
  PACKET_CBR,
  PACKET_CYC,
  PACKET_MTC,
  PACKET_TMA,
  PACKET_TSC,
  type Packet,
} from '../../pt/index.ts';
import { flagsOf } from './branch-flags.ts';
import type { TraceSampler } from './trace-sampler.ts';

const MOVES_TIME: ReadonlySet<number> = new Set([PACKET_TSC, PACKET_TMA, PACKET_MTC, PACKET_CYC]);

/** 64 MiB: nodes that share their ways may have many more. */
const MOST_INSTRUCTIONS = 1 << 22;

/** One node, instruction by instruction; each once. */
class NodeInstructions {
  /** By node: where its instructions begin, plus 1; 0 is not known yet. */
  #first = new Int32Array(1024);
  readonly lo = new Int32Column(4096);
  readonly hi = new Int32Column(4096);
  readonly size = new Int32Column(4096);
  /** Flags of a branch, 0 of any other instruction. */
  readonly flags = new Int32Column(4096);
  readonly #graph: CodeGraph;
  readonly #image: CodeImage;
  readonly #scratch = new Instruction();

  constructor(graph: CodeGraph, image: CodeImage) {
    this.#graph = graph;
    this.#image = image;
  }

  firstOf(node: number): number {
    const known = node < this.#first.length ? this.#first[node]! : 0;
    return (known !== 0 ? known : this.#add(node)) - 1;
  }

  #add(node: number): number {
    if (node >= this.#first.length) {
      const longer = new Int32Array(Math.max(this.#first.length * 2, node + 1));
      longer.set(this.#first);
      this.#first = longer;
    }
    const first = this.lo.length + 1;
    this.#first[node] = first;
    this.#graph.walk(node, (lo, hi, size, kind) => {
      this.lo.push(lo);
      this.hi.push(hi);
      this.size.push(size);
      this.flags.push(kind < KIND_CALL ? 0 : flagsOf(kind, this.#detailOf(lo, hi)));
    });
    return first;
  }

  #detailOf(lo: number, hi: number): number {
    const size = this.#image.decode(lo, hi, this.#graph.mode, this.#scratch);
    return size > 0 ? this.#scratch.detail : 0;
  }
}

/** The queue, which has the clock and knows what events are to its samples. */
export interface QueueGraphListener {
  readonly sampler: TraceSampler;
  readonly flow: FlowOptions;
  onTime(tscLo: number, tscHi: number): void;
  /** The branch before it has been told. */
  onEvent(event: Readonly<FlowEvent>): void;
}

export class QueueGraph {
  readonly #listener: QueueGraphListener;
  readonly #graph: CodeGraph;
  readonly #image: CodeImage;
  readonly #engine: GraphEngine;
  readonly #instructions: NodeInstructions;
  readonly #sampler: TraceSampler;
  #state: FlowState;
  /** The node whose way out is not known yet; 0: none. */
  #open = 0;
  /**
   * Its last instruction may make a sample, which tells whether tracing goes off
   * with it: still to be executed.
   */
  #isLastWaiting = false;
  /** The node that was executed last. */
  #last = 0;
  #untilNs = 0;
  #hasTimeMoved = false;
  #transactionFlag = 0;
  readonly #code = new Uint8Array(16);

  constructor(image: CodeImage, state: FlowState, listener: QueueGraphListener) {
    const { sampler, flow } = listener;
    this.#image = image;
    this.#state = state;
    this.#sampler = sampler;
    this.#listener = listener;
    this.#graph = new CodeGraph(image, { mode: state.mode });
    this.#instructions = new NodeInstructions(this.#graph, image);
    this.#engine = new GraphEngine(this.#graph, state.lastIp, {
      nodes: (_graph, nodes, count) => this.#nodes(nodes, count),
      time: (packet) => this.#time(packet),
      eventTime: () => this.#passEvent(),
      ...optional({ errata: flow.errata }),
      // Which branch leaves the filter is the exact decoder's to find.
      ...(flow.errata?.skl014 === true && flow.filter?.isConfigured === true
        ? {}
        : { events: this.#events() }),
    });
  }

  /**
   * From `state`, which another engine has given free, to `end` at most; `state` then says what is next.
   * Where tracing goes on at `untilNs` or later, it ends before that.
   */
  run(bytes: Uint8Array, end: number, state: FlowState, handOver: HandOver, untilNs: number): void {
    const engine = this.#engine;
    const graph = this.#graph;
    this.#state = state;
    this.#untilNs = untilNs;
    this.#transactionFlag = state.isSpeculative ? PERF_IP_FLAG_IN_TX : 0;
    handOver.take(engine, state);
    engine.run(bytes, end, headerOf(state));
    const lo = graph.loOf(engine.node);
    const hi = graph.hiOf(engine.node);
    if (this.#open !== 0) this.#leave(this.#open, lo, hi);
    this.#open = 0;
    this.#moveTime();
    handOver.give(engine, state);
  }

  get isOvergrown(): boolean {
    return this.#graph.isOvergrown || this.#instructions.lo.length > MOST_INSTRUCTIONS;
  }

  #events(): EngineEventListener {
    return {
      onPart: (_graph, node, instructions) => this.#part(node, instructions),
      onEvent: (event) => this.#event(event),
      mayEnable: (_lo, hi) => {
        this.#moveTime();
        this.#sampler.reachTime();
        if (hi >= 0) this.#sampler.estimateTime();
        return this.#sampler.timeNs < this.#untilNs;
      },
    };
  }

  /**
   * The first instructions of a node: the way goes on behind them, so the last is no
   * branch or leads right there.
   */
  #part(node: number, count: number): void {
    const graph = this.#graph;
    const instructions = this.#instructions;
    if (this.#open !== 0) this.#leave(this.#open, graph.loOf(node), graph.hiOf(node));
    this.#open = 0;
    this.#moveTime();
    const first = instructions.firstOf(node);
    this.#execute(this.#way(first, first + count), first + count);
  }

  /** Tracing went off with the branch at the end of a node, or something came before the next one. */
  #event(event: FlowEvent): void {
    const { isIpSuppressed, ipLo, ipHi } = event;
    if (event.kind === EVENT_DISABLED)
      this.#leave(this.#last, isIpSuppressed ? 0 : ipLo, isIpSuppressed ? 0 : ipHi, PERF_IP_FLAG_TRACE_END);
    else if (event.kind !== EVENT_ENABLED && this.#open !== 0) this.#leave(this.#open, ipLo, ipHi);
    this.#open = 0;
    this.#moveTime();
    this.#sampler.reachTime();
    this.#listener.onEvent(event);
  }

  /** Also a PSB+: perf's decoder comes back with it, and the time of its TSC is reached. */
  #passEvent(): void {
    if (!this.#hasTimeMoved) return;
    const graph = this.#graph;
    const { node } = this.#engine;
    if (this.#open !== 0) this.#leave(this.#open, graph.loOf(node), graph.hiOf(node));
    this.#open = 0;
    this.#moveTime();
    this.#sampler.reachTime();
  }

  #time(packet: Readonly<Packet>): boolean {
    this.#state.clock.update(packet);
    if (this.#isLastWaiting) this.#executeLast(this.#open);
    if (packet.kind === PACKET_CBR) this.#sampler.setRatio(packet.lo);
    // Packets of an interrupt or a PSB+ come here, too.
    else if (MOVES_TIME.has(packet.kind)) {
      this.#hasTimeMoved = true;
      return this.#isLate();
    }
    return false;
  }

  /** What the next packet tells of is behind a record that is to be taken first. */
  #isLate(): boolean {
    if (this.#untilNs === Number.POSITIVE_INFINITY) return false;
    const { tscLo, tscHi } = this.#state.clock;
    return this.#sampler.timeNsOf(tscLo, tscHi) >= this.#untilNs;
  }

  /** What is executed from here on is executed then; the branch before it was not. */
  #moveTime(): void {
    if (!this.#hasTimeMoved) return;
    this.#hasTimeMoved = false;
    this.#listener.onTime(this.#state.clock.tscLo, this.#state.clock.tscHi);
  }

  #nodes(nodes: Int32Array, count: number): void {
    const graph = this.#graph;
    const instructions = this.#instructions;
    const sampler = this.#sampler;
    // Nobody asks for branches but those that change the stack of calls: most nodes are only counted.
    const countsMost = !sampler.needsBranches;
    const counts = graph.instructions.data;
    const pushCounts = graph.pushCount.data;
    const ends = graph.end.data;
    for (let at = 0; at < count; at++) {
      const node = nodes[at]!;
      if (this.#open !== 0) this.#leave(this.#open, graph.loOf(node), graph.hiOf(node));
      if (this.#hasTimeMoved) this.#moveTime();
      if (countsMost && pushCounts[node] === 0) {
        const end = ends[node];
        const isPlain = end === END_CONDITIONAL || end === END_JUMP_INDIRECT;
        if (isPlain && sampler.skipInstructions(counts[node]!)) {
          this.#open = 0;
          sampler.reachTime();
          continue;
        }
      }
      this.#open = node;
      const first = instructions.firstOf(node);
      const last = first + graph.instructions.at(node) - 1;
      const from = this.#way(first, last);
      if (!sampler.skipInstructions(last + 1 - from)) {
        this.#execute(from, last);
        this.#isLastWaiting = true;
      }
      // The branch at its end is what the packet behind the last timing packet tells of.
      sampler.reachTime();
    }
    this.#last = nodes[count - 1]!;
  }

  /** Execute up to the last branch before `last`, and it. Returns what is next. */
  #way(first: number, last: number): number {
    const instructions = this.#instructions;
    const flags = instructions.flags.data;
    let from = first;
    for (let place = first; place < last; place++) {
      if (flags[place] === 0) continue;
      this.#execute(from, place + 1);
      // On the way only direct branches are gone over: to what is next.
      this.#branch(place, instructions.lo.at(place + 1), instructions.hi.at(place + 1));
      from = place + 1;
    }
    return from;
  }

  /** The way out of a node, to an address. */
  #leave(node: number, toLo: number, toHi: number, added = 0): void {
    const graph = this.#graph;
    const instructions = this.#instructions;
    if (this.#isLastWaiting) this.#executeLast(node, added);
    if (graph.end.at(node) === END_CONDITIONAL) {
      const other = graph.notTaken.at(node);
      if (graph.loOf(other) === toLo && graph.hiOf(other) === toHi) return;
    }
    this.#branch(instructions.firstOf(node) + graph.instructions.at(node) - 1, toLo, toHi, added);
  }

  /** The branch at the end of a node. */
  #executeLast(node: number, added = 0): void {
    this.#isLastWaiting = false;
    const last = this.#instructions.firstOf(node) + this.#graph.instructions.at(node) - 1;
    this.#execute(last, last + 1, added);
  }

  #execute(from: number, to: number, added = 0): void {
    const sampler = this.#sampler;
    const instructions = this.#instructions;
    if (sampler.skipInstructions(to - from)) return;
    for (let place = from; place < to; place++) {
      if (!sampler.isSampled()) continue;
      this.#takeInstruction(place);
      const flags = instructions.flags.at(place) | this.#transactionFlag | added;
      sampler.putInstruction(instructions.lo.at(place), instructions.hi.at(place), flags);
    }
  }

  #branch(place: number, toLo: number, toHi: number, added = 0): void {
    const sampler = this.#sampler;
    const instructions = this.#instructions;
    if (sampler.writesBranches) this.#takeInstruction(place);
    else sampler.sample.instructionBytes = instructions.size.at(place);
    const flags = instructions.flags.at(place) | this.#transactionFlag | added;
    sampler.branch(flags, instructions.lo.at(place), instructions.hi.at(place), toLo, toHi);
  }

  /** The instruction's bytes, to be printed. */
  #takeInstruction(place: number): void {
    const instructions = this.#instructions;
    const image = this.#image;
    const code = this.#code;
    const { sample } = this.#sampler;
    const lo = instructions.lo.at(place);
    const hi = instructions.hi.at(place);
    const size = instructions.size.at(place);
    sample.instructionBytes = size;
    const section = image.find(lo, hi);
    const at = section === null ? -1 : offsetIn(section, lo, hi);
    if (section !== null && at >= 0 && at + size <= section.sizeBytes)
      for (let byte = 0; byte < size; byte++) sample.instruction[byte] = section.bytes[at + byte]!;
    else {
      code.fill(0);
      image.read(lo, hi, code);
      sample.instruction.set(code);
    }
  }
}
