/**
 * A whole trace through both engines: the compiled graph wherever outcomes and targets are all there is, the
 * exact decoder for everything else.
 *
 * Where code changes with time (`codeTime`), a graph goes on until code changes that it has looked at.
 *
 *   psb+ | tnt tip tnt … | fup tip (interrupt) | tnt … | tip.pgd | tip.pge | tnt … | damage | psb+ …
 *   exact   graph          exact                 graph   exact     exact     graph   exact
 */
import { type CancelSignal, optional, toFloat } from '@counterpoint/core/base';
import { type CodeImage, EVERY_ADDRESS_SPACE } from '../../code/image/index.ts';
import {
  EVENT_OVERFLOW,
  ExecutedInstruction,
  FLOW_END,
  FLOW_NO_SYNC,
  FlowDecoder,
  FlowErrorCounts,
  type FlowEvent,
  type FlowOptions,
  type FlowState,
  STEP_EVENT,
  STEP_INSTRUCTION,
} from '../flow/index.ts';
import {
  CodeGraph,
  type CountListener,
  END_BLOCKED,
  type EngineEventListener,
  GraphEngine,
  type GraphEngineOptions,
  GraphLimit,
  HandOver,
  headerOf,
  type NodeListener,
  type PathListener,
} from '../graph/index.ts';
import { NO_ERRATA } from '../packets/errata.ts';
import type { Packet } from '../packets/packet.ts';
import { PACKET_CBR } from '../packets/packet-kinds.ts';
import { requireBytes, requireImage } from '../packets/require-bytes.ts';

/** What wants to know. Everything is told in order, but counts, which are told when the trace ends. */
export interface TraceListener {
  /**
   * Counts of nodes, for each graph (one for an execution mode and an address space). Excludes
   * `onNodes`. Interrupts, and where tracing was off, are then told only where the exact decoder meets
   * them: the counts have the others.
   */
  counts?(graph: CodeGraph): CountListener;
  onNodes?: NodeListener;
  /**
   * The same, a step at a time; with `onTime`, CYC packets stand among them and are for the
   * listener. Instead of `onNodes`.
   */
  onPaths?: PathListener;
  /** The clock of `decoder.state` has moved on. Asks the graph to read timing packets. */
  onTime?(): void;
  /** Before each step of the exact decoder: the clock stands at the packet that is next. */
  onStep?(): void;
  /** One instruction by the exact decoder. Borrowed. */
  onInstruction(instruction: ExecutedInstruction): void;
  /** An event, with the address that the path had come to. */
  onEvent?(event: FlowEvent, ipLo: number, ipHi: number): void;
  /** Nodes are executed from here on: what an instruction before them began goes on in them. */
  onGraph?(ipLo: number, ipHi: number): void;
  /**
   * Nothing more will be executed of a graph: its code is another one from here on, it is too large, or there
   * are too many. Its counts have been told.
   */
  onGraphEnd?(graph: CodeGraph): void;
  /**
   * The path breaks off before the instruction at an address: damage, code that is missing, or (FLOW_END) the
   * end of the trace. `isPassed`: the last instruction that was told has led there; else it is the one there,
   * and where it goes is not known.
   */
  onBreak(code: number, ipLo: number, ipHi: number, isPassed: boolean): void;
}

/** How a whole trace is decoded. */
export interface RunTraceOptions extends FlowOptions {
  /** Let the exact decoder do all of it: the same answers, many times slower. */
  readonly exactOnly?: boolean;
  /** After an error go on with the next event that has an address, not with the next PSB. */
  readonly resume?: boolean;
  /** Stops decoding with the signal's reason. */
  readonly signal?: CancelSignal;
  /** Called now and then: how far it is, in bytes of the trace. */
  readonly onProgress?: (doneBytes: number) => void;
  /**
   * The offset of a PSB to end at: once its PSB+ has been read and applied, and nothing is half done
   * (`isStopped`). Where decoding does not come to that state there, it ends behind it.
   *
   * @internal
   */
  readonly stopAt?: number;
}

/** The compiled graphs of an image, by execution mode and address space. */
export type GraphEngines = Map<string, KnownEngine>;

export interface KnownEngine {
  readonly engine: GraphEngine;
  /** What the image was when it was asked last. */
  readonly layers: number;
  loads: number;
  epoch: number;
}

/** How decoding went. */
export interface TraceSummary {
  /** Places where the path broke off. */
  readonly errors: FlowErrorCounts;
  /** Times that the processor lost packets. */
  overflows: number;
}

/** Bytes that the graph runs between two looks at progress and cancellation. */
const SLICE_BYTES = 1 << 22;
const STEPS_BETWEEN_LOOKS = 1 << 14;
const NO_GRANULES: ReadonlySet<number> = new Set();
/** Address spaces and modes whose graphs are kept; of more, the one that was not used for longest ends. */
export const MOST_GRAPHS = 64;

export class TraceRun {
  readonly decoder: FlowDecoder;
  readonly #bytes: Uint8Array;
  readonly #from: number;
  readonly #end: number;
  readonly #image: CodeImage;
  readonly #options: RunTraceOptions;
  readonly #listener: TraceListener;
  readonly #engines: GraphEngines;
  readonly #summary: TraceSummary = { errors: new FlowErrorCounts(), overflows: 0 };
  readonly #usesGraph: boolean;
  readonly #handOver = new HandOver();
  readonly #partInstruction = new ExecutedInstruction();
  #steps = 0;
  readonly #stopAt: number;
  readonly #graphEnd: number;
  readonly #graphLimit: GraphLimit;
  /** Times between which the code is what the decoder has it for. */
  #epochStart = 0;
  #epochEnd = 0;
  /** It ended at `stopAt`, in a state that another run may begin with. */
  isStopped = false;

  /** `engines` may be shared by runs one after the other over the same image, with the same listener. */
  constructor(
    bytes: Uint8Array,
    image: CodeImage,
    options: RunTraceOptions,
    listener: TraceListener,
    engines: GraphEngines = new Map(),
  ) {
    requireBytes(bytes);
    requireImage(image);
    this.#engines = engines;
    this.#bytes = bytes;
    this.#from = Math.max(options.from ?? 0, 0);
    this.#end = Math.min(options.to ?? bytes.length, bytes.length);
    this.#stopAt = options.stopAt ?? Number.POSITIVE_INFINITY;
    this.#graphEnd = Math.min(this.#end, this.#stopAt);
    this.#image = image;
    this.#options = options;
    this.#listener = listener;
    this.#graphLimit = new GraphLimit(bytes, this.#end, options.errata ?? NO_ERRATA);
    this.decoder = new FlowDecoder(bytes, image, options);
    this.#usesGraph = options.exactOnly !== true && options.ticks !== true;
  }

  /** To the end of the trace, however damaged it is. */
  run(): TraceSummary {
    const { decoder } = this;
    let hasSynchronized = false;
    for (;;) {
      const code = decoder.synchronize();
      if (code === FLOW_END) {
        // Bytes without any PSB are no trace.
        if (!hasSynchronized && this.#end > this.#from) this.#summary.errors.add(FLOW_NO_SYNC, this.#from);
        break;
      }
      hasSynchronized = true;
      if (code !== 0) {
        this.#error(code);
        if (this.#hasPassedStop()) break;
      } else if (!this.#runFromSync()) break;
    }
    for (const { engine } of this.#engines.values()) engine.flush();
    this.#options.onProgress?.(this.#end);
    return this.#summary;
  }

  /** Beyond `stopAt`: with its PSB+ read (`isAtHeader`), or having gone over it. */
  #hasPassedStop(): boolean {
    const { position, headerOffset } = this.decoder.state;
    return position > this.#stopAt && headerOffset !== this.#stopAt;
  }

  /** False at the end of the trace, or at `stopAt`; true where it must be synchronized anew. */
  #runFromSync(): boolean {
    const { decoder } = this;
    const { state } = decoder;
    const listener = this.#listener;
    for (;;) {
      if (state.position > this.#stopAt) {
        this.isStopped = state.headerOffset === this.#stopAt && decoder.canRelease;
        if (this.isStopped || state.headerOffset !== this.#stopAt) return false;
      } else if (this.#usesGraph && this.#handOver.isWorthwhile(state)) this.#runGraph();
      const { ipLo, ipHi } = state;
      listener.onStep?.();
      const code = decoder.step();
      if (++this.#steps % STEPS_BETWEEN_LOOKS === 0) this.#look();
      if (code === STEP_INSTRUCTION) listener.onInstruction(decoder.instruction);
      else if (code === STEP_EVENT) {
        if (decoder.event.kind === EVENT_OVERFLOW) this.#summary.overflows++;
        listener.onEvent?.(decoder.event, ipLo, ipHi);
      } else if (code === FLOW_END) {
        listener.onBreak(code, state.ipLo, state.ipHi, decoder.instruction.isPassed);
        return false;
      } else {
        this.#error(code);
        if (this.#options.resume !== true) return true;
        const { offset } = decoder;
        const failed = decoder.resume();
        if (failed === FLOW_END) return false;
        if (failed !== 0) {
          // The same packet again, which nothing gets past, has been counted.
          if (failed !== code || decoder.offset !== offset) this.#error(failed);
          return true;
        }
      }
    }
  }

  #runGraph(): void {
    const { decoder } = this;
    const { state } = decoder;
    const end = Math.min(this.#graphEnd, this.#graphLimit.after(state.position));
    if (end <= state.position || this.#isBetweenEpochs() || !this.#hasCode(state)) return;
    if (!decoder.release()) return;
    const engine = this.#engineFor(state);
    this.#handOver.take(engine, state);
    // Where no instruction is, nothing goes on.
    if (engine.graph.endOf(engine.node) !== END_BLOCKED) this.#listener.onGraph?.(state.ipLo, state.ipHi);
    const header = headerOf(state, this.#options.interruptFlags === true);
    for (;;) {
      const sliceEnd = Math.min(end, engine.position + SLICE_BYTES);
      engine.run(this.#bytes, sliceEnd, header);
      // A packet may be cut by the end of the slice, so getting on at all means to go on.
      if (engine.position < sliceEnd - SLICE_BYTES / 2 || sliceEnd === end) break;
      this.#look();
    }
    this.#handOver.give(engine, state);
    decoder.adopt();
    this.#handOver.noteStop(state);
  }

  /** What is at hand is of a time with other code than what is executed until it is used up. */
  #isBetweenEpochs(): boolean {
    if (this.#options.codeTime === undefined) return false;
    const changes = this.#image.changes();
    const epoch = changes.epochOf(this.decoder.codeTime);
    this.#epochStart = changes.startOf(epoch);
    this.#epochEnd = changes.endOf(epoch);
    return this.#hasEpochEnded();
  }

  #hasEpochEnded(): boolean {
    const { codeTime } = this.#options;
    const { estimate } = this.decoder.state.clock;
    if (codeTime === undefined || !estimate.hasTsc) return false;
    const time = codeTime(estimate.tscLo >>> 0, estimate.tscHi >>> 0);
    return time < this.#epochStart || time >= this.#epochEnd;
  }

  /** As the image has it. */
  #addressSpaceOf(state: FlowState): number {
    if (this.#options.useCr3 !== true || !state.isCr3Known) return EVERY_ADDRESS_SPACE;
    return toFloat(state.cr3Lo >>> 0, state.cr3Hi >>> 0);
  }

  /** Where damage leads to no code, nothing is to be executed, and the graph would only grow by a node. */
  #hasCode(state: FlowState): boolean {
    const space = this.#addressSpaceOf(state);
    return this.#image.find(state.ipLo, state.ipHi, this.decoder.codeTime, space) !== null;
  }

  #engineFor(state: FlowState): GraphEngine {
    const addressSpace = this.#addressSpaceOf(state);
    const key = `${state.mode} ${addressSpace}`;
    const image = this.#image;
    const epoch = this.#options.codeTime === undefined ? 0 : image.changes().epochOf(this.decoder.codeTime);
    const known = this.#engines.get(key);
    if (known !== undefined) {
      const { engine } = known;
      const { graph } = engine;
      const isOld =
        graph.isOvergrown ||
        known.layers !== image.layerCount ||
        (epoch !== known.epoch && image.changes().touch(graph.granules ?? NO_GRANULES, epoch, known.epoch));
      if (!isOld) {
        if (known.loads !== image.loads) engine.lookAgain();
        known.loads = image.loads;
        known.epoch = epoch;
        graph.time = this.decoder.codeTime;
        // Behind all others: the first of them is the one to go.
        if (this.#engines.size > 1) {
          this.#engines.delete(key);
          this.#engines.set(key, known);
        }
        return engine;
      }
      this.#endGraph(key, engine);
    }
    for (const [other, { engine }] of this.#engines) {
      if (this.#engines.size < MOST_GRAPHS) break;
      this.#endGraph(other, engine);
    }
    const engine = this.#newEngine(state, addressSpace);
    this.#engines.set(key, { engine, layers: image.layerCount, loads: image.loads, epoch });
    return engine;
  }

  #endGraph(key: string, engine: GraphEngine): void {
    engine.flush();
    this.#listener.onGraphEnd?.(engine.graph);
    this.#engines.delete(key);
  }

  #newEngine(state: FlowState, addressSpace: number): GraphEngine {
    const { errata, filter, codeTime, useCr3 } = this.#options;
    const graph = new CodeGraph(this.#image, {
      mode: state.mode,
      addressSpace,
      time: this.decoder.codeTime,
      isTracked: codeTime !== undefined,
    });
    const { onNodes, onPaths, onTime } = this.#listener;
    const counts = this.#listener.counts?.(graph);
    // Which branch leaves the filter is the exact decoder's to find.
    const leavesUnmarked = errata?.skl014 === true && filter?.isConfigured === true;
    return new GraphEngine(graph, state.lastIp, {
      ...optional({ errata }),
      ...(leavesUnmarked ? {} : { events: this.#engineEvents() }),
      ignoresCr3: useCr3 !== true,
      ...optional({ counts, nodes: onNodes, paths: onPaths }),
      ...(onTime === undefined && codeTime === undefined ? {} : this.#engineTime(state)),
    });
  }

  #engineTime(state: FlowState): GraphEngineOptions {
    const listener = this.#listener;
    const { codeTime } = this.#options;
    const { clock } = state;
    const time = (packet: Readonly<Packet>) => {
      clock.update(packet);
      if (packet.kind !== PACKET_CBR) listener.onTime?.();
      return codeTime !== undefined && this.#hasEpochEnded();
    };
    if (codeTime === undefined) return { time, logsCycles: listener.onPaths !== undefined };
    const eventTime = () => {
      if (clock.estimate.hasTsc) this.decoder.codeTime = codeTime(clock.tscLo >>> 0, clock.tscHi >>> 0);
    };
    return { time, eventTime };
  }

  /** What the graph goes over on its own, told as if by the exact decoder. */
  #engineEvents(): EngineEventListener {
    const listener = this.#listener;
    const { clock } = this.decoder.state;
    if (listener.counts !== undefined) return {};
    const onPart: EngineEventListener['onPart'] = (graph, node, instructions) =>
      this.#tellPart(graph, node, instructions);
    if (listener.onEvent === undefined) return { onPart };
    return {
      onPart,
      onEvent: (event, ipLo, ipHi) => {
        if (listener.onTime !== undefined) {
          event.hasTime = clock.estimate.hasTsc;
          event.timeLo = clock.tscLo | 0;
          event.timeHi = clock.tscHi | 0;
        }
        listener.onStep?.();
        listener.onEvent?.(event, ipLo, ipHi);
      },
    };
  }

  /** The first instructions of a node, one by one. */
  #tellPart(graph: CodeGraph, node: number, instructions: number): void {
    const instruction = this.#partInstruction;
    const image = this.#image;
    const { mode, addressSpace, time } = graph;
    instruction.mode = mode;
    instruction.isSpeculative = this.decoder.state.isSpeculative;
    let left = instructions;
    graph.walk(node, (lo, hi) => {
      if (left-- <= 0) return;
      image.decode(lo, hi, mode, instruction, time, addressSpace);
      instruction.ipLo = lo;
      instruction.ipHi = hi;
      instruction.section = image.find(lo, hi, time, addressSpace);
      this.#listener.onStep?.();
      this.#listener.onInstruction(instruction);
    });
  }

  #error(code: number): void {
    const { offset, state, instruction } = this.decoder;
    this.#summary.errors.add(code, offset);
    this.#listener.onBreak(code, state.ipLo, state.ipHi, instruction.isPassed);
  }

  #look(): void {
    this.#options.signal?.throwIfAborted();
    this.#options.onProgress?.(this.decoder.offset);
  }
}
