/**
 * The compiled graph at work: takes over where tracing is on and nothing but outcomes and targets are to come, and gives back
 * before the first packet that means anything else, or that does not fit the code. The exact decoder (../flow) does those.
 */
import { type Errata, NO_ERRATA } from '../errata.ts';
import {
  EVENT_ASYNC_BRANCH,
  EVENT_ASYNC_DISABLED,
  EVENT_DISABLED,
  EVENT_ENABLED,
  EVENT_PAGING,
  FlowEvent,
} from '../flow/event.ts';
import type { ReturnStack } from '../flow/return-stack.ts';
import { LastIp } from '../last-ip.ts';
import { PT_IP_SUPPRESSED } from '../opcodes.ts';
import { FLAG_NON_ROOT, Packet } from '../packet.ts';
import {
  PACKET_FUP,
  PACKET_MODE_EXEC,
  PACKET_PAD,
  PACKET_PIP,
  PACKET_PSB,
  PACKET_TIP,
  PACKET_TIP_PGD,
  PACKET_TIP_PGE,
  PACKET_TNT8,
  PACKET_TNT64,
} from '../packet-kinds.ts';
import { readPacket } from '../read-packet.ts';
import { type CodeGraph, END_FAR, END_RETURN } from './code-graph.ts';
import { IndirectEdges } from './indirect-edges.ts';
import { NodeParts } from './node-parts.ts';
import { type NodeListener, NodeTrail, type PathListener } from './node-trail.ts';
import { AsyncBranch, isBranchNext, isEnableNext, isTiming, readAsyncBranch } from './plain-events.ts';
import { type HeaderState, isSameMode, readPlainHeader } from './plain-header.ts';
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
  /** Left for a target that the trace gave; 0: tracing went off, and where it went is not told. */
  onTarget(node: number, target: number, count: number): void;
  /** Only the first `instructions` of its way were executed; `isCut`: by an event that leads elsewhere, else it went on behind them. */
  onPart(node: number, instructions: number, isCut: boolean, count: number): void;
}

/** For who wants the engine to go on over interrupts and where tracing was off; else those are the exact decoder's. */
export interface EngineEventListener {
  /** With nodes in order: the first `instructions` of a node's way were executed. */
  onPart?(graph: CodeGraph, node: number, instructions: number): void;
  /** As of FlowDecoder, but without the time. Borrowed. `ip` is where the path had come to. */
  onEvent?(event: FlowEvent, ipLo: number, ipHi: number): void;
}

export interface GraphEngineOptions {
  readonly counts?: CountListener;
  /** Every node in the order of execution, instead of counts. */
  readonly nodes?: NodeListener;
  /** The same, a step at a time. */
  readonly paths?: PathListener;
  /**
   * Called for TSC, TMA, MTC, CYC and CBR packets (borrowed) and all of a PSB+ or an interrupt; without it they are passed over.
   * True: the code may be another one from the next branch or event on, so stop there.
   */
  readonly time?: (packet: Readonly<Packet>) => boolean;
  /** Called behind an event (also a PSB+): what `time` was told is the time of it. */
  readonly eventTime?: () => void;
  readonly events?: EngineEventListener;
  /** With `events`: writes of CR3 are gone over, for they do not change where code is looked for. */
  readonly ignoresCr3?: boolean;
  readonly errata?: Errata;
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
  /** Tracing is on; else it may be expected to go on at `resume`, and `node` means nothing. */
  isEnabled = true;
  resumeLo = 0;
  resumeHi = 0;
  /** `time` has said to stop. */
  #isLate = false;
  /** The node there, where it is known. */
  #resumeNode = 0;
  readonly #steps: StepTable;
  readonly #edges = new IndirectEdges();
  readonly #registers = new StepRegisters();
  readonly #calls = new RowStack();
  readonly #packet = new Packet();
  readonly #headerIp = new LastIp();
  readonly #parts: NodeParts;
  readonly #ipBefore = new LastIp();
  readonly #branch = new AsyncBranch();
  readonly #event = new FlowEvent();
  readonly #events: EngineEventListener | undefined;
  readonly #ignoresCr3: boolean;
  /** CR3 was written since `begin`: with this. */
  hasNewCr3 = false;
  cr3Lo = 0;
  cr3Hi = 0;
  readonly #errata: Errata;
  readonly #counts: CountListener | undefined;
  readonly #trail: NodeTrail | null;
  readonly #time: ((packet: Readonly<Packet>) => boolean) | undefined;
  readonly #eventTime: (() => void) | undefined;
  readonly #cyc: number;
  #uncountedBytes = 0;

  constructor(graph: CodeGraph, lastIp: LastIp, options: GraphEngineOptions) {
    this.graph = graph;
    this.lastIp = lastIp;
    this.#counts = options.counts;
    this.#events = options.events;
    this.#errata = options.errata ?? NO_ERRATA;
    this.#ignoresCr3 = options.ignoresCr3 ?? false;
    this.#parts = new NodeParts(graph);
    this.#time = options.time;
    this.#eventTime = options.eventTime;
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

  /** The packet that is next, with the outcomes of the one before that are not used yet. */
  begin(position: number, restCount: number, restLo: number, restHi: number): void {
    this.position = position;
    this.isEnabled = true;
    this.#isLate = false;
    this.hasNewCr3 = false;
    this.restCount = restCount;
    this.restLo = restLo;
    this.restHi = restHi;
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
   * `position`, `node`, `isEnabled`, `calls`, `lastIp` and the rest of the outcomes are exact. `header` is what a PSB+ must say to be passed
   * over; it is kept true.
   */
  run(bytes: Uint8Array, end: number, header: HeaderState): void {
    const from = this.position;
    const isReady = this.isEnabled
      ? this.#executeOutcomes(this.restLo, this.restHi, this.restCount)
      : this.#untilEnabled(bytes, end, header);
    if (isReady) {
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
    this.#parts.drain((node, instructions, isCut, count) => counts?.onPart(node, instructions, isCut, count));
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

  /** The image may have code by now where it had none. */
  lookAgain(): void {
    this.flush();
    this.#parts.clear();
    this.graph.lookAgain();
    this.#emptySteps();
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
  #packetAt(bytes: Uint8Array, end: number, header: HeaderState): boolean {
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
      case PACKET_PAD:
        this.position += size;
        return true;
      case PACKET_TIP_PGD:
        return this.#disable(packet, size) && this.#untilEnabled(bytes, end, header);
      case PACKET_FUP:
        return (
          this.#interrupt(bytes, end, packet, size) &&
          (this.#isOnTime() || !this.isEnabled) &&
          (this.isEnabled || this.#untilEnabled(bytes, end, header))
        );
      case PACKET_PSB:
        return this.#header(bytes, end, header);
      case PACKET_PIP:
        return this.#writeCr3(bytes, end, packet, size, header);
      default:
        if (!isTiming(packet.kind)) return false;
        this.position += size;
        this.#tellTime(packet);
        return !this.#isLate;
    }
  }

  /** Behind an event: may it go on? */
  #isOnTime(): boolean {
    this.#eventTime?.();
    return !this.#isLate;
  }

  /**
   * A PSB+ in the middle of everything: the processor forgets the last IP and its calls, and nothing else changes. With calls
   * on the way before its address, some are to be forgotten and some not: too rare to be done here.
   */
  #header(bytes: Uint8Array, end: number, state: Readonly<HeaderState>): boolean {
    const ip = this.#headerIp;
    const after = readPlainHeader(bytes, this.position, end, state, ip, this.#errata.bdm70);
    if (after <= 0 || !this.graph.isBeforeCalls(this.node, ip.lo, ip.hi)) return false;
    this.#tellTimes(bytes, after);
    this.position = after;
    this.lastIp.set(ip.lo, ip.hi);
    this.#calls.clear();
    return this.#isOnTime();
  }

  /** All from `position` to `after`. */
  #tellTimes(bytes: Uint8Array, after: number): void {
    if (this.#time === undefined) return;
    for (let at = this.position; at < after; ) {
      at += readPacket(bytes, at, after, this.#packet);
      this.#tellTime(this.#packet);
    }
  }

  #tellTime(packet: Readonly<Packet>): void {
    if (this.#time === undefined) return;
    this.#trail?.flush();
    if (this.#time(packet)) this.#isLate = true;
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
    this.#pushCalls(node, graph.pushCount.at(node));
    this.#trail?.addNode(node);
    this.node = next;
    return true;
  }

  /** The first calls of a node's way. */
  #pushCalls(node: number, count: number): void {
    const { pushes, firstPush } = this.graph;
    const first = firstPush.at(node);
    for (let push = first; push < first + count; push++) this.#calls.push(this.#steps.rowOf(pushes.at(push)));
  }

  /** Tracing goes off with the branch at the end of the node. With one that the trace tells an outcome of: too rare. */
  #disable(packet: Readonly<Packet>, size: number): boolean {
    if (this.#events === undefined) return false;
    const { graph, node, lastIp } = this;
    const end = graph.endOf(node);
    if (end < END_RETURN || end > END_FAR) return false;
    const isTold = packet.type !== PT_IP_SUPPRESSED;
    // Without an address it would belong to a write of CR3 on the way, with one to where the way comes there.
    if (!isTold && graph.behindCr3.at(node) !== 0) return false;
    this.#ipBefore.copyFrom(lastIp);
    lastIp.update(packet);
    if (isTold && this.#parts.instructions.at(this.#partAt(node, lastIp.lo, lastIp.hi)) >= 0) {
      lastIp.copyFrom(this.#ipBefore);
      return false;
    }
    this.position += size;
    if (!isTold) this.#edges.countUntold(node);
    else if (this.#edges.count(node, lastIp.lo, lastIp.hi) === 0)
      this.#edges.setTarget(graph.nodeAt(lastIp.lo, lastIp.hi));
    this.#pushCalls(node, graph.pushCount.at(node));
    this.#trail?.addNode(node);
    const behind = graph.behindCall.at(node);
    this.isEnabled = false;
    this.resumeLo = behind === 0 ? 0 : graph.loOf(behind);
    this.resumeHi = behind === 0 ? 0 : graph.hiOf(behind);
    this.#resumeNode = behind;
    if (this.#events.onEvent === undefined) return true;
    const event = this.#event.clear(EVENT_DISABLED);
    event.isIpSuppressed = !isTold;
    event.ipLo = isTold ? lastIp.lo : 0;
    event.ipHi = isTold ? lastIp.hi : 0;
    this.#tell(this.resumeLo, this.resumeHi);
    return true;
  }

  /** Tracing is off: to where it goes on. False: something else is next. */
  #untilEnabled(bytes: Uint8Array, end: number, header: Readonly<HeaderState>): boolean {
    const packet = this.#packet;
    for (;;) {
      const size = readPacket(bytes, this.position, end, packet);
      if (size <= 0) return false;
      const { kind } = packet;
      if (kind === PACKET_TIP_PGE) return this.#enable(packet, size) && this.#isOnTime();
      if (kind === PACKET_MODE_EXEC) {
        if (!isSameMode(packet, header) || !isEnableNext(bytes, this.position + size, end)) return false;
      } else if (isTiming(kind)) this.#tellTime(packet);
      else if (kind !== PACKET_PAD) return false;
      this.position += size;
    }
  }

  #enable(packet: Readonly<Packet>, size: number): boolean {
    const { lastIp } = this;
    if (packet.type === PT_IP_SUPPRESSED) return false;
    lastIp.update(packet);
    this.position += size;
    this.isEnabled = true;
    const isResumed = lastIp.lo === this.resumeLo && lastIp.hi === this.resumeHi;
    this.node =
      isResumed && this.#resumeNode !== 0 ? this.#resumeNode : this.graph.nodeAt(lastIp.lo, lastIp.hi);
    if (this.#events?.onEvent === undefined) return true;
    const event = this.#event.clear(EVENT_ENABLED);
    event.ipLo = lastIp.lo;
    event.ipHi = lastIp.hi;
    event.isResumed = isResumed;
    this.#tell(this.resumeLo, this.resumeHi);
    return true;
  }

  /** An asynchronous branch, traced or not, before an instruction on the node's way. */
  #interrupt(bytes: Uint8Array, end: number, packet: Readonly<Packet>, size: number): boolean {
    if (this.#events === undefined) return false;
    const { graph, node, lastIp } = this;
    const branch = this.#branch;
    this.#ipBefore.copyFrom(lastIp);
    const after = readAsyncBranch(bytes, this.position + size, end, packet, lastIp, branch);
    const part = after === 0 ? -1 : this.#partAt(node, branch.ipLo, branch.ipHi);
    const executed = part < 0 ? -1 : this.#parts.instructions.at(part);
    // SKD022: the FUP of a VM entry that ends tracing means something else.
    const isAtFar = executed === graph.instructions.at(node) - 1 && graph.end.at(node) === END_FAR;
    if (executed < 0 || (this.#errata.skd022 && branch.isDisabled && isAtFar)) {
      lastIp.copyFrom(this.#ipBefore);
      return false;
    }
    this.#tellTimes(bytes, after);
    this.position = after;
    this.#parts.countCut(part);
    this.#executePart(part, node);
    this.isEnabled = !branch.isDisabled;
    this.resumeLo = branch.ipLo;
    this.resumeHi = branch.ipHi;
    this.#resumeNode = 0;
    if (this.isEnabled) this.node = graph.nodeAt(branch.toLo, branch.toHi);
    if (this.#events.onEvent === undefined) return true;
    const event = this.#event.clear(branch.isDisabled ? EVENT_ASYNC_DISABLED : EVENT_ASYNC_BRANCH);
    event.isIpSuppressed = !branch.hasTarget;
    event.ipLo = branch.ipLo;
    event.ipHi = branch.ipHi;
    event.toLo = branch.toLo;
    event.toHi = branch.toHi;
    this.#tell(branch.ipLo, branch.ipHi);
    return true;
  }

  /** CR3 is written on the node's way, which then goes on behind that. */
  #writeCr3(
    bytes: Uint8Array,
    end: number,
    packet: Readonly<Packet>,
    size: number,
    header: HeaderState,
  ): boolean {
    const { graph, node } = this;
    if (this.#events === undefined || !this.#ignoresCr3) return false;
    graph.endOf(node);
    const behind = graph.behindCr3.at(node);
    if (behind === 0 || !isBranchNext(bytes, this.position + size, end)) return false;
    const part = this.#partAt(node, graph.loOf(behind), graph.hiOf(behind));
    if (this.#parts.instructions.at(part) < 0) return false;
    this.position += size;
    this.hasNewCr3 = true;
    header.cr3Lo = this.cr3Lo = packet.lo;
    header.cr3Hi = this.cr3Hi = packet.hi;
    this.#parts.countPass(part);
    this.#executePart(part, node);
    this.node = behind;
    if (this.#events.onEvent === undefined) return true;
    const event = this.#event.clear(EVENT_PAGING);
    event.isIpSuppressed = true;
    event.lo = packet.lo;
    event.hi = packet.hi;
    event.flags = packet.flags & FLAG_NON_ROOT;
    this.#tell(this.#parts.lastLo.at(part), this.#parts.lastHi.at(part));
    return true;
  }

  /** The part of a node before an address. */
  #partAt(node: number, lo: number, hi: number): number {
    if (this.#parts.isFull) {
      this.flush();
      this.#parts.clear();
    }
    return this.#parts.find(node, lo, hi);
  }

  #executePart(part: number, node: number): void {
    const instructions = this.#parts.instructions.at(part);
    this.#pushCalls(node, this.#parts.pushes.at(part));
    if (this.#trail === null || instructions === 0) return;
    this.#trail.flush();
    this.#events?.onPart?.(this.graph, node, instructions);
  }

  #tell(ipLo: number, ipHi: number): void {
    this.#trail?.flush();
    this.#events?.onEvent?.(this.#event, ipLo, ipHi);
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
