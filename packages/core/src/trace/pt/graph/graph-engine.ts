/**
 * The compiled graph at work: takes over where tracing is on and nothing but outcomes and targets are to come, and gives back
 * before the first packet that means anything else, or that does not fit the code. The exact decoder (../flow) does those.
 */
import type { ReturnStack } from '../flow/return-stack.ts';
import { LastIp } from '../last-ip.ts';
import { PT_IP_SUPPRESSED } from '../opcodes.ts';
import { Packet } from '../packet.ts';
import {
  PACKET_CBR,
  PACKET_CYC,
  PACKET_MTC,
  PACKET_PAD,
  PACKET_PSB,
  PACKET_TIP,
  PACKET_TMA,
  PACKET_TNT8,
  PACKET_TNT64,
  PACKET_TSC,
} from '../packet-kinds.ts';
import { readPacket } from '../read-packet.ts';
import { type CodeGraph, END_FAR, END_RETURN } from './code-graph.ts';
import { IndirectEdges } from './indirect-edges.ts';
import { type NodeListener, NodeTrail, type PathListener } from './node-trail.ts';
import { type HeaderState, readPlainHeader } from './plain-header.ts';
import { RowStack } from './row-stack.ts';
import { CYC_LOG, CYC_SKIP, CYC_STOP, runSteps, StepRegisters } from './run-steps.ts';
import {
  EFFECT_KIND,
  EFFECT_PEAK,
  EFFECT_POP,
  EFFECT_PUSH_COUNT,
  EFFECT_PUSHES,
  EFFECT_REST,
  EFFECT_ROW,
  NO_OUTCOMES,
} from './step-facts.ts';
import { StepTable } from './step-table.ts';

/** A long TNT is done in bytes of this many outcomes. */
const OUTCOMES_A_BYTE = 6;
/** Counts have 32 bits, and a byte may count one step six times. */
const MOST_BYTES_UNCOUNTED = 1 << 28;
const NO_LOG = new Int32Array(0);
const NO_BYTES = new Uint8Array(0);

/** How often nodes were executed, told by `flush`. */
export interface CountListener {
  /** Left by an outcome: a branch taken or not; `taken` is true for a return, too. */
  onOutcome(node: number, taken: boolean, count: number): void;
  /** Left for a target that the trace gave. */
  onTarget(node: number, target: number, count: number): void;
}

export interface GraphEngineOptions {
  readonly counts?: CountListener;
  /** Every node in the order of execution, instead of counts. */
  readonly nodes?: NodeListener;
  /** The same, a step at a time. */
  readonly paths?: PathListener;
  /** Called for TSC, TMA, MTC, CYC and CBR packets (borrowed) and all of a PSB+; without it they are passed over. */
  readonly time?: (packet: Readonly<Packet>) => void;
  /** With `paths`: CYC packets are not for `time` but stand in the log, in their order. */
  readonly logsCycles?: boolean;
}

export class GraphEngine {
  readonly graph: CodeGraph;
  /** Shared with whoever hands over. */
  lastIp: LastIp;
  /** Outcomes of the packet before `position` that are not used yet: how many, and what, the oldest highest. */
  restCount = 0;
  restLo = 0;
  restHi = 0;
  readonly #steps: StepTable;
  readonly #edges = new IndirectEdges();
  readonly #registers = new StepRegisters();
  readonly #calls = new RowStack();
  readonly #packet = new Packet();
  readonly #headerIp = new LastIp();
  readonly #counts: CountListener | undefined;
  readonly #trail: NodeTrail | null;
  readonly #time: ((packet: Readonly<Packet>) => void) | undefined;
  readonly #cyc: number;
  #uncountedBytes = 0;

  constructor(graph: CodeGraph, lastIp: LastIp, options: GraphEngineOptions) {
    this.graph = graph;
    this.lastIp = lastIp;
    this.#counts = options.counts;
    this.#time = options.time;
    this.#cyc = options.logsCycles === true ? CYC_LOG : options.time === undefined ? CYC_SKIP : CYC_STOP;
    this.#steps = new StepTable(graph);
    const { nodes, paths } = options;
    this.#trail =
      nodes === undefined && paths === undefined ? null : new NodeTrail(graph, this.#steps, nodes, paths);
  }

  /** The next packet, bytes. */
  get position(): number {
    return this.#registers.position;
  }

  set position(position: number) {
    this.#registers.position = position;
  }

  /** The node that is next. */
  get node(): number {
    return this.#steps.nodeOf(this.#registers.row);
  }

  set node(node: number) {
    this.#registers.row = this.#steps.rowOf(node);
  }

  /** Take over where returns go to. */
  setCalls(returns: ReturnStack): void {
    this.#calls.clear();
    returns.forEach((lo, hi) => {
      this.#calls.push(this.#steps.rowOf(this.graph.nodeAt(lo, hi)));
    });
  }

  /** Give it back: on top of what is there. */
  copyCalls(returns: ReturnStack): void {
    this.#calls.forEach((row) => {
      const node = this.#steps.nodeOf(row);
      returns.push(this.graph.loOf(node), this.graph.hiOf(node));
    });
  }

  /**
   * Execute from `node` at `position` until a packet is not for the graph, or `end`. The caller finds there what is next:
   * `position`, `node`, `calls`, `lastIp` and the rest of the outcomes are exact. `header` is what a PSB+ must say to be passed
   * over.
   */
  run(bytes: Uint8Array, end: number, header: Readonly<HeaderState>): void {
    const from = this.position;
    if (this.#executeOutcomes(this.restLo, this.restHi, this.restCount)) {
      do {
        if (this.#steps.isFull) this.#emptySteps();
        if (!this.#runSteps(bytes, end)) {
          const { outcomes } = this.#registers;
          this.restCount = outcomesIn(outcomes);
          this.restLo = outcomes >>> 1;
          this.restHi = 0;
          break;
        }
      } while (this.position < end && this.#packetAt(bytes, end, header));
    }
    this.#registers.outcomes = NO_OUTCOMES;
    this.#trail?.flush();
    this.#uncountedBytes += this.position - from;
    if (this.#uncountedBytes > MOST_BYTES_UNCOUNTED) this.flush();
  }

  /** Tell the listener all counts since the last time. */
  flush(): void {
    this.#uncountedBytes = 0;
    const counts = this.#counts;
    this.#steps.drain((node, taken, count) => counts?.onOutcome(node, taken, count));
    this.#edges.drain((node, target, count) => counts?.onTarget(node, target, count));
  }

  /** Steps up to a packet of another kind. False: outcomes are left, for `node` needs something else before them. */
  #runSteps(bytes: Uint8Array, end: number): boolean {
    const steps = this.#steps;
    const registers = this.#registers;
    const trail = this.#trail;
    do {
      registers.logged = trail?.logged ?? 0;
      runSteps(
        bytes,
        end,
        steps.table,
        steps.effects,
        this.#calls,
        registers,
        trail?.log ?? NO_LOG,
        this.#cyc,
      );
      if (trail !== null) trail.logged = registers.logged;
      if (registers.outcomes === NO_OUTCOMES) return true;
    } while (this.#prepareStep());
    return false;
  }

  /** The step that is next could not be done. True: now it can. */
  #prepareStep(): boolean {
    const steps = this.#steps;
    const registers = this.#registers;
    const slot = registers.row + registers.outcomes;
    const next = steps.table[slot]!;
    if (next === 0) {
      steps.build(registers.row, registers.outcomes);
      return true;
    }
    if (this.#trail?.isFull === true) {
      this.#trail.flush();
      return true;
    }
    const { effects } = steps;
    if (effects[EFFECT_KIND - next] === EFFECT_POP) {
      this.#stopBeforeReturn(effects[EFFECT_REST - next]!);
      return false;
    }
    if (this.#trail !== null) this.#trail.addStep(slot);
    else steps.table[slot + 1]! += 1;
    this.#calls.makeRoom(effects[EFFECT_PEAK - next]!);
    const firstPush = EFFECT_PUSHES - next;
    const lastPush = firstPush + effects[EFFECT_PUSH_COUNT - next]!;
    for (let push = firstPush; push < lastPush; push++) this.#calls.push(effects[push]!);
    registers.row = effects[EFFECT_ROW - next]!;
    registers.outcomes = effects[EFFECT_REST - next]!;
    return false;
  }

  /** A return without its call, which needs explaining: execute what comes before it, and leave it and the rest. */
  #stopBeforeReturn(rest: number): void {
    const registers = this.#registers;
    const left = outcomesIn(rest) + 1;
    const before = (registers.outcomes >>> (left + 1)) << 1;
    if (before !== NO_OUTCOMES) {
      registers.outcomes = before;
      this.#runSteps(NO_BYTES, 0);
    }
    registers.outcomes = rest | (1 << (left + 1));
  }

  #emptySteps(): void {
    this.flush();
    this.#trail?.flush();
    this.#trail?.forget();
    const { node } = this;
    const calls: number[] = [];
    this.#calls.forEach((row) => {
      calls.push(this.#steps.nodeOf(row));
    });
    this.#steps.clear();
    this.node = node;
    this.#calls.clear();
    for (const call of calls) this.#calls.push(this.#steps.rowOf(call));
  }

  /** One packet of any kind. False: it is not for the graph, and was not touched. */
  #packetAt(bytes: Uint8Array, end: number, header: Readonly<HeaderState>): boolean {
    const packet = this.#packet;
    const size = readPacket(bytes, this.position, end, packet);
    if (size <= 0) return false;
    switch (packet.kind) {
      case PACKET_TNT8:
      case PACKET_TNT64:
        this.position += size;
        return this.#executeOutcomes(packet.lo, packet.hi, packet.type);
      case PACKET_TIP:
        return this.#target(packet, size);
      case PACKET_PSB:
        return this.#header(bytes, end, header);
      case PACKET_PAD:
        this.position += size;
        return true;
      case PACKET_CYC:
      case PACKET_MTC:
      case PACKET_TSC:
      case PACKET_TMA:
      case PACKET_CBR:
        this.position += size;
        this.#tellTime(packet);
        return true;
      default:
        return false;
    }
  }

  /**
   * A PSB+ in the middle of everything: the processor forgets the last IP and its calls, and nothing else changes. With calls
   * on the way before its address, some are to be forgotten and some not: too rare to be done here.
   */
  #header(bytes: Uint8Array, end: number, state: Readonly<HeaderState>): boolean {
    const ip = this.#headerIp;
    const after = readPlainHeader(bytes, this.position, end, state, ip);
    if (after <= 0 || !this.graph.isBeforeCalls(this.node, ip.lo, ip.hi)) return false;
    if (this.#time !== undefined)
      for (let at = this.position; at < after; ) {
        at += readPacket(bytes, at, end, this.#packet);
        this.#tellTime(this.#packet);
      }
    this.position = after;
    this.lastIp.set(ip.lo, ip.hi);
    this.#calls.clear();
    return true;
  }

  #tellTime(packet: Readonly<Packet>): void {
    if (this.#time === undefined) return;
    this.#trail?.flush();
    this.#time(packet);
  }

  /** Outcomes, the oldest highest. False: `node` needs something else before those that are left. */
  #executeOutcomes(lo: number, hi: number, count: number): boolean {
    let left = count;
    this.restCount = 0;
    while (left > 0) {
      const taken = Math.min(left, OUTCOMES_A_BYTE);
      left -= taken;
      this.#registers.outcomes = ((1 << taken) | bitsAt(lo, hi, left, taken)) << 1;
      if (this.#runSteps(NO_BYTES, 0)) continue;
      this.restCount = left + outcomesIn(this.#registers.outcomes);
      this.restLo = lo;
      this.restHi = hi;
      return false;
    }
    return true;
  }

  /** An indirect branch, or a return whose target the trace gives. */
  #target(packet: Readonly<Packet>, size: number): boolean {
    const { graph, node, lastIp } = this;
    const end = graph.endOf(node);
    if (end < END_RETURN || end > END_FAR || packet.type === PT_IP_SUPPRESSED) return false;
    lastIp.update(packet);
    this.position += size;
    let next = this.#edges.count(node, lastIp.lo, lastIp.hi);
    if (next === 0) {
      next = graph.nodeAt(lastIp.lo, lastIp.hi);
      this.#edges.setTarget(next);
    }
    const first = graph.firstPush.at(node);
    const after = first + graph.pushCount.at(node);
    for (let push = first; push < after; push++) this.#calls.push(this.#steps.rowOf(graph.pushes.at(push)));
    this.#trail?.addNode(node);
    this.node = next;
    return true;
  }
}

/** Outcomes in a TNT byte. */
function outcomesIn(byte: number): number {
  return 30 - Math.clz32(byte);
}

/** Bits `from` to `from + count` of a 64-bit value. */
function bitsAt(lo: number, hi: number, from: number, count: number): number {
  const mask = (1 << count) - 1;
  if (from >= 32) return (hi >>> (from - 32)) & mask;
  if (from === 0) return lo & mask;
  return ((lo >>> from) | (hi << (32 - from))) & mask;
}
