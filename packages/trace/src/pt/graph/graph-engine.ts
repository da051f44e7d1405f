/**
 * The compiled graph at work: takes over where tracing is on and nothing but outcomes and targets are to
 * come, and gives back before the first packet that means anything else, or that does not fit the code. The
 * exact decoder (../flow) does those.
 */

import {
  EVENT_ASYNC_BRANCH,
  EVENT_ASYNC_DISABLED,
  EVENT_DISABLED,
  EVENT_ENABLED,
  EVENT_PAGING,
  FlowEvent,
} from '../flow/event.ts';
import { type Errata, NO_ERRATA } from '../packets/errata.ts';
import { LastIp } from '../packets/last-ip.ts';
import { PT_IP_SUPPRESSED } from '../packets/opcodes.ts';
import { FLAG_NON_ROOT, Packet } from '../packets/packet.ts';
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
} from '../packets/packet-kinds.ts';
import { readPacket } from '../packets/read-packet.ts';
import { type CodeGraph, END_FAR, END_RETURN } from './code-graph.ts';
import { IndirectEdges } from './indirect-edges.ts';
import { NodeParts } from './node-parts.ts';
import type { NodeListener, PathListener } from './node-trail.ts';
import { AsyncBranch, isBranchNext, isEnableNext, isTiming, readAsyncBranch } from './plain-events.ts';
import { type HeaderState, isSameMode, readPlainHeader } from './plain-header.ts';
import { CYC_LOG, CYC_SKIP, CYC_STOP } from './run-steps.ts';
import { StepRunner } from './step-runner.ts';
import type { OutcomeCounts } from './step-table.ts';

/** Counts have 32 bits, and a byte may count one step six times. */
const MOST_BYTES_UNCOUNTED = 1 << 28;

/** How often nodes were executed, told by `flush`. */
export interface CountListener {
  /** Where nodes below a number count that were left by an outcome. */
  outcomes(nodes: number): OutcomeCounts;
  /** Left for a target that the trace gave; 0: tracing went off, and where it went is not told. */
  onTarget(node: number, target: number, count: number): void;
  /**
   * Only the first `instructions` of its way were executed; `isCut`: by an event that leads elsewhere,
   * else it went on behind them.
   */
  onPart(node: number, instructions: number, isCut: boolean, count: number): void;
}

/**
 * For callers that want the engine to go on over interrupts and where tracing was off; else
 * those are the exact decoder's.
 */
export interface EngineEventListener {
  /** With nodes in order: the first `instructions` of a node's way were executed. */
  onPart?(graph: CodeGraph, node: number, instructions: number): void;
  /** As of FlowDecoder, but without the time. Borrowed. `ip` is where the path had come to. */
  onEvent?(event: FlowEvent, ipLo: number, ipHi: number): void;
  /**
   * Tracing would go on at an address. False: that is for the exact decoder, and so is everything behind it.
   */
  mayEnable?(ipLo: number, ipHi: number): boolean;
}

export interface GraphEngineOptions {
  readonly counts?: CountListener;
  /** Every node in the order of execution, instead of counts. */
  readonly nodes?: NodeListener;
  /** The same, a step at a time. */
  readonly paths?: PathListener;
  /**
   * Called for TSC, TMA, MTC, CYC and CBR packets (borrowed) and all of a PSB+ or an interrupt; without it
   * they are passed over. True: the code may be another one from the next branch or event on, so stop there.
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
  /** Where it stands. */
  readonly runner: StepRunner;
  /** Tracing is on; else it may be expected to go on at `resume`, and `node` means nothing. */
  isEnabled = true;
  resumeLo = 0;
  resumeHi = 0;
  /** `time` has said to stop. */
  #isLate = false;
  /** The node there, where it is known. */
  #resumeNode = 0;
  readonly #edges = new IndirectEdges();
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
  readonly #time: ((packet: Readonly<Packet>) => boolean) | undefined;
  readonly #eventTime: (() => void) | undefined;
  #uncountedBytes = 0;

  constructor(graph: CodeGraph, lastIp: LastIp, options: GraphEngineOptions) {
    this.graph = graph;
    this.#counts = options.counts;
    this.#events = options.events;
    this.#errata = options.errata ?? NO_ERRATA;
    this.#ignoresCr3 = options.ignoresCr3 ?? false;
    this.#parts = new NodeParts(graph);
    this.#time = options.time;
    this.#eventTime = options.eventTime;
    const cyc = options.logsCycles === true ? CYC_LOG : options.time === undefined ? CYC_SKIP : CYC_STOP;
    this.runner = new StepRunner(graph, lastIp, cyc, options.nodes, options.paths);
  }

  /** Shared with whoever hands over. */
  get lastIp(): LastIp {
    return this.runner.lastIp;
  }

  set lastIp(lastIp: LastIp) {
    this.runner.lastIp = lastIp;
  }

  /** The next packet, bytes. */
  get position(): number {
    return this.runner.position;
  }

  set position(position: number) {
    this.runner.position = position;
  }

  /** The node that is next. */
  get node(): number {
    return this.runner.node;
  }

  set node(node: number) {
    this.runner.node = node;
  }

  /** The packet that is next, with the outcomes of the one before that are not used yet. */
  begin(position: number, restCount: number, restLo: number, restHi: number): void {
    this.position = position;
    this.isEnabled = true;
    this.#isLate = false;
    this.hasNewCr3 = false;
    this.runner.restCount = restCount;
    this.runner.restLo = restLo;
    this.runner.restHi = restHi;
  }

  /**
   * Execute from `node` at `position` until a packet is not for the graph, or `end`. The caller finds there
   * what is next: `runner`, `isEnabled` and `lastIp` are exact. `header` is what a PSB+ must say to be passed
   * over; it is kept true. Where the graph is full it ends, too: begin a new one.
   */
  run(bytes: Uint8Array, end: number, header: HeaderState): void {
    const { runner } = this;
    const from = runner.position;
    if (runner.isFull) this.#emptySteps();
    const isReady = this.isEnabled
      ? runner.executeRest() || this.#goOn()
      : this.#untilEnabled(bytes, end, header);
    if (isReady)
      do {
        if (runner.isFull) this.#emptySteps();
      } while (
        (runner.run(bytes, end) || this.#goOnWith(bytes, end)) &&
        runner.position < end &&
        this.#packetAt(bytes, end, header)
      );
    runner.finish();
    this.#uncountedBytes += this.position - from;
    if (this.#uncountedBytes > MOST_BYTES_UNCOUNTED) this.flush();
  }

  /** Tell the listener all counts since the last time. */
  flush(): void {
    this.#uncountedBytes = 0;
    const counts = this.#counts;
    if (counts === undefined) return;
    this.runner.drain(counts.outcomes(this.graph.size));
    this.#drainEdges();
    this.#parts.drain((node, instructions, isCut, count) => counts.onPart(node, instructions, isCut, count));
  }

  /** The image may have code by now where it had none. */
  lookAgain(): void {
    this.flush();
    this.#parts.clear();
    this.graph.lookAgain();
    this.#emptySteps();
  }

  /**
   * Outcomes were left: with those, if it was only for lack of room. The graph's own room is not made here.
   */
  #goOn(): boolean {
    const { runner } = this;
    while (runner.isFull && !this.graph.isFull) {
      this.#emptySteps();
      if (runner.executeRest()) return true;
    }
    return false;
  }

  /** And with the packets behind them. */
  #goOnWith(bytes: Uint8Array, end: number): boolean {
    while (this.#goOn()) if (this.runner.run(bytes, end)) return true;
    return false;
  }

  #emptySteps(): void {
    this.flush();
    this.runner.empty();
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
        return this.runner.execute(packet.lo, packet.hi, packet.type) || this.#goOn();
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
          (this.isEnabled ? !this.graph.isFull : this.#untilEnabled(bytes, end, header))
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
   * A PSB+ in the middle of everything: the processor forgets the last IP and its calls, and
   * nothing else changes. With calls on the way before its address, some are to be forgotten and
   * some not: too rare to be done here.
   */
  #header(bytes: Uint8Array, end: number, state: Readonly<HeaderState>): boolean {
    const ip = this.#headerIp;
    const after = readPlainHeader(bytes, this.position, end, state, ip, this.#errata.bdm70);
    if (after <= 0 || !this.graph.isBeforeCalls(this.node, ip.lo, ip.hi)) return false;
    this.#tellTimes(bytes, after);
    this.position = after;
    this.lastIp.set(ip.lo, ip.hi);
    this.runner.clearCalls();
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
    this.runner.trail?.flush();
    if (this.#time(packet)) this.#isLate = true;
  }

  /** An indirect branch, or a return whose target the trace gives. */
  #target(packet: Readonly<Packet>, size: number): boolean {
    const { graph, node, lastIp } = this;
    const end = graph.endOf(node);
    if (end < END_RETURN || end > END_FAR || packet.type === PT_IP_SUPPRESSED) return false;
    lastIp.update(packet);
    this.position += size;
    let next = this.#edges.count(node, lastIp.lo, lastIp.hi);
    let hasRoom = true;
    if (next === 0) {
      next = this.#newEdge();
      hasRoom = !graph.isFull;
    }
    this.runner.pushCalls(node, graph.pushCount.at(node));
    this.runner.trail?.addNode(node);
    if (!this.runner.learnEdge(node, lastIp.lo, lastIp.hi, next)) {
      this.#drainEdges();
      this.runner.forgetEdges();
    }
    this.node = next;
    return hasRoom;
  }

  /** To the last IP, for the first time. Its node. */
  #newEdge(): number {
    const { graph, lastIp } = this;
    const target = graph.nodeAt(lastIp.lo, lastIp.hi);
    this.#edges.setTarget(target);
    if (this.#edges.isFull) {
      this.#drainEdges();
      this.#edges.clear();
    }
    return target;
  }

  #drainEdges(): void {
    const visit = (node: number, target: number, count: number) =>
      this.#counts?.onTarget(node, target, count);
    this.#edges.drain(visit);
    this.runner.drainEdges(visit);
  }

  /**
   * Tracing goes off with the branch at the end of the node. With one that the trace
   * tells an outcome of: too rare.
   */
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
    else if (this.#edges.count(node, lastIp.lo, lastIp.hi) === 0) this.#newEdge();
    this.runner.pushCalls(node, graph.pushCount.at(node));
    this.runner.trail?.addNode(node);
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
      if (kind === PACKET_TIP_PGE)
        return this.#enable(packet, size) && this.#isOnTime() && !this.graph.isFull;
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
    this.#ipBefore.copyFrom(lastIp);
    lastIp.update(packet);
    if (this.#events?.mayEnable?.(lastIp.lo, lastIp.hi) === false) {
      lastIp.copyFrom(this.#ipBefore);
      return false;
    }
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
    this.runner.pushCalls(node, this.#parts.pushes.at(part));
    const { trail } = this.runner;
    if (trail === null || instructions === 0) return;
    trail.flush();
    this.#events?.onPart?.(this.graph, node, instructions);
  }

  #tell(ipLo: number, ipHi: number): void {
    this.runner.trail?.flush();
    this.#events?.onEvent?.(this.#event, ipLo, ipHi);
  }
}
