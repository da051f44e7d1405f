/**
 * A queue without its code (`q`): addresses that packets tell, nothing in between. Outcomes are left out;
 * with `qq` all but the address of each synchronization point, from one to the next.
 *
 *   packets   PSB+ ip | TNT TNT TIP x | FUP y TIP z | TIP.PGD     samples   ip      x   y->z z
 */
import {
  PERF_IP_FLAG_ASYNC,
  PERF_IP_FLAG_BRANCH,
  PERF_IP_FLAG_CALL,
  PERF_IP_FLAG_IN_TX,
  PERF_IP_FLAG_INTERRUPT,
  PERF_IP_FLAG_TRACE_BEGIN,
  PERF_IP_FLAG_TRACE_END,
  PERF_IP_FLAG_TX_ABORT,
} from '@counterpoint/core/abi';
import type { CodeImage } from '../../code/image/index.ts';
import {
  EVENT_EXSTOP,
  EVENT_MWAIT,
  EVENT_PTWRITE,
  EVENT_PWRE,
  EVENT_PWRX,
  FLAG_BY_HARDWARE,
  FLAG_HW,
  FLAG_IP,
  FlowEvent,
  findPsb,
  LastIp,
  PACKET_BBP,
  PACKET_BEP,
  PACKET_BIP,
  PACKET_CBR,
  PACKET_EXSTOP,
  PACKET_FUP,
  PACKET_MODE_TSX,
  PACKET_MWAIT,
  PACKET_OVF,
  PACKET_PSB,
  PACKET_PSBEND,
  PACKET_PTW,
  PACKET_PWRE,
  PACKET_PWRX,
  PACKET_STOP,
  PACKET_TIP,
  PACKET_TIP_PGD,
  PACKET_TIP_PGE,
  type Packet,
  PacketCursor,
  PebsRecord,
  PT_MODE_TSX_ABRT,
  PT_MODE_TSX_INTX,
  TraceClock,
} from '../../pt/index.ts';
import type { AuxStretch } from '../auxtrace/index.ts';
import { MOST_RECORDS, type PtQueueOptions, RUN_FULL, RUN_NEEDS_BYTES, RUN_UNTIL } from './pt-queue.ts';
import { ERROR_BAD_PACKET, ERROR_OVERFLOW } from './trace-errors.ts';
import { putPsb, putTraceEvent } from './trace-events.ts';
import type { TraceSampler } from './trace-sampler.ts';
import type { TracedThread } from './traced-threads.ts';

const NO_BYTES = new Uint8Array();

export class QuickQueue {
  readonly sampler: TraceSampler;
  /** No code is looked at. */
  image: CodeImage;
  readonly #options: PtQueueOptions;
  readonly #onlyPsbs: boolean;
  readonly #clock: TraceClock;
  readonly #lastIp = new LastIp();
  readonly #pebs = new PebsRecord();
  /** Told of by packets that a FUP follows. */
  readonly #waiting: FlowEvent[] = [];
  #transaction = -1;
  #hasPebs = false;
  #bytes: Uint8Array = NO_BYTES;
  #doneBytes = 0;
  #cursor = new PacketCursor(NO_BYTES);
  #isSynchronized = false;
  #isEnabled = false;
  #isHeader = false;
  #isOverflow = false;
  #psbOffset = 0;
  #headerRatio = -1;
  #ipLo = 0;
  #ipHi = 0;
  #hasIp = false;
  /** A FUP whose TIP is to come. */
  #isAsync = false;

  constructor(sampler: TraceSampler, image: CodeImage, options: PtQueueOptions, onlyPsbs: boolean) {
    this.sampler = sampler;
    this.image = image;
    this.#options = options;
    this.#onlyPsbs = onlyPsbs;
    this.#clock = new TraceClock(options.flow.settings);
  }

  begin(stretch: AuxStretch): void {
    this.#doneBytes += this.#bytes.length;
    this.#bytes = stretch.bytes;
    this.#options.log?.begin(stretch.bytes, this.#doneBytes, stretch.isContinued);
    this.#seek(0);
    if (!stretch.isContinued) this.sampler.thread.calls.clear();
  }

  get timeNs(): number {
    return this.sampler.timeNs;
  }

  setImage(image: CodeImage): void {
    this.image = image;
  }

  setThread(thread: TracedThread): void {
    this.sampler.setThread(thread, this.#options.cpu);
  }

  /** As that of PtQueue. */
  run(untilNs: number): number {
    const { sampler } = this;
    const clock = this.#clock;
    const { log } = this.#options;
    for (;;) {
      if (sampler.buffer.length >= MOST_RECORDS) return RUN_FULL;
      if (sampler.timeNs >= untilNs) return RUN_UNTIL;
      if (!this.#isSynchronized && !this.#synchronize()) return RUN_NEEDS_BYTES;
      const cursor = this.#cursor;
      const size = cursor.next();
      if (size <= 0) {
        if (cursor.position >= this.#bytes.length || size === 0) return this.#leave();
        log?.error(size, cursor.offset, this.#ipLo, this.#ipHi);
        sampler.error(ERROR_BAD_PACKET, this.#ipLo, this.#ipHi);
        this.#seek(cursor.offset + 1);
        continue;
      }
      log?.packet(this.#bytes, cursor.offset, cursor.packet);
      if (clock.update(cursor.packet) && clock.estimate.hasTsc) {
        sampler.setTime(clock.tscLo, clock.tscHi);
        // Each packet is an event of its own.
        sampler.reachTime();
        log?.time(sampler.timeNs, clock.tscLo, clock.tscHi);
      }
      this.#take(cursor.packet, cursor.offset);
    }
  }

  #leave(): number {
    this.#doneBytes += this.#bytes.length;
    this.#bytes = NO_BYTES;
    this.#seek(0);
    return RUN_NEEDS_BYTES;
  }

  #seek(from: number): void {
    this.#cursor = new PacketCursor(this.#bytes, { from });
    this.#isSynchronized = false;
    this.#isEnabled = false;
    this.#isHeader = false;
    this.#forget();
  }

  #synchronize(): boolean {
    const psb = findPsb(this.#bytes, this.#cursor.position, this.#bytes.length);
    if (psb < 0) return this.#leave() !== RUN_NEEDS_BYTES;
    this.#options.log?.synchronized(this.#bytes, psb);
    this.#cursor = new PacketCursor(this.#bytes, { from: psb });
    this.#isSynchronized = true;
    return true;
  }

  #forget(): void {
    this.#waiting.length = 0;
    this.#transaction = -1;
    this.#hasPebs = false;
    this.#isAsync = false;
    this.#pebs.clear();
  }

  #take(packet: Readonly<Packet>, offset: number): void {
    const { sampler } = this;
    switch (packet.kind) {
      case PACKET_PSB:
        this.#isHeader = true;
        this.#psbOffset = offset;
        this.#hasIp = false;
        this.#lastIp.reset();
        return;
      case PACKET_PSBEND:
        this.#endHeader();
        return;
      case PACKET_CBR:
        // That of a PSB+ is told with it.
        if (this.#isHeader) this.#headerRatio = packet.lo;
        else sampler.setRatio(packet.lo);
        return;
      case PACKET_TIP:
      case PACKET_TIP_PGE:
      case PACKET_TIP_PGD:
        this.#takeTip(packet);
        return;
      case PACKET_FUP:
        this.#takeFup(packet);
        return;
      case PACKET_OVF:
        this.#options.log?.errorLine('packets were lost in the processor (overflow)');
        sampler.error(ERROR_OVERFLOW, this.#ipLo, this.#ipHi);
        this.#isEnabled = false;
        this.#isOverflow = true;
        this.#isHeader = false;
        this.#forget();
        return;
      case PACKET_STOP:
        this.#isEnabled = false;
        return;
      case PACKET_BBP:
        this.#pebs.begin(packet.type, packet.extra);
        return;
      case PACKET_BIP:
        this.#pebs.item(packet.type, packet.lo, packet.hi);
        return;
      case PACKET_BEP:
        if ((packet.flags & FLAG_IP) !== 0) this.#hasPebs = true;
        else this.#putPebs();
        return;
      case PACKET_MODE_TSX:
        if (!this.#isHeader && this.#isEnabled) this.#transaction = packet.flags;
        return;
      default:
        this.#takeEvent(packet);
    }
  }

  #endHeader(): void {
    const { sampler } = this;
    const bytes = this.#bytes;
    this.#isHeader = false;
    const [lo, hi] = this.#hasIp ? [this.#ipLo, this.#ipHi] : [0, 0];
    if (sampler.events.psb !== null) putPsb(sampler, this.#doneBytes + this.#psbOffset, lo, hi);
    if (this.#headerRatio >= 0) sampler.setRatio(this.#headerRatio);
    this.#headerRatio = -1;
    if (this.#hasIp) sampler.putInstruction(lo, hi);
    if (!this.#onlyPsbs) return;
    const next = findPsb(bytes, this.#cursor.position, bytes.length);
    this.#cursor = new PacketCursor(bytes, { from: next < 0 ? bytes.length : next });
  }

  /** The packet's address is where the trace is; false where it has none. */
  #move(packet: Readonly<Packet>): boolean {
    if (!this.#lastIp.update(packet)) return false;
    this.#ipLo = this.#lastIp.lo;
    this.#ipHi = this.#lastIp.hi;
    this.#hasIp = true;
    return true;
  }

  #takeTip(packet: Readonly<Packet>): void {
    const { sampler } = this;
    const isAsync = this.#isAsync;
    const fromLo = this.#ipLo;
    const fromHi = this.#ipHi;
    const isEnd = packet.kind === PACKET_TIP_PGD;
    this.#isEnabled = !isEnd;
    this.#isAsync = false;
    const isKnown = this.#move(packet);
    const ipLo = this.#ipLo;
    const ipHi = this.#ipHi;
    if (isAsync) {
      const isAbort = this.#transaction >= 0 && (this.#transaction & PT_MODE_TSX_ABRT) !== 0;
      const end = isEnd ? PERF_IP_FLAG_TRACE_END : 0;
      const kind = isAbort
        ? PERF_IP_FLAG_TX_ABORT
        : isKnown
          ? PERF_IP_FLAG_CALL | PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_INTERRUPT
          : PERF_IP_FLAG_ASYNC | PERF_IP_FLAG_TRACE_END;
      const flags = PERF_IP_FLAG_BRANCH | kind | end;
      sampler.putInstruction(fromLo, fromHi, flags);
      this.#putTransaction(fromLo, fromHi);
      sampler.branch(flags, fromLo, fromHi, isKnown ? ipLo : 0, isKnown ? ipHi : 0);
    }
    if (!isKnown) return;
    if (packet.kind === PACKET_TIP_PGE) {
      this.#isOverflow = false;
      sampler.branch(PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_BEGIN, 0, 0, ipLo, ipHi);
    } else if (isEnd && !isAsync) {
      sampler.branch(
        PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_BEGIN | PERF_IP_FLAG_TRACE_END,
        0,
        0,
        ipLo,
        ipHi,
      );
      return;
    }
    sampler.putInstruction(ipLo, ipHi);
  }

  #takeFup(packet: Readonly<Packet>): void {
    const { sampler } = this;
    const waiting = this.#waiting;
    if (!this.#move(packet)) return;
    const ipLo = this.#ipLo;
    const ipHi = this.#ipHi;
    if (this.#isHeader) {
      this.#isEnabled = true;
      return;
    }
    const isAbort = this.#transaction >= 0 && (this.#transaction & PT_MODE_TSX_ABRT) !== 0;
    const hasEvents = waiting.length > 0 || this.#hasPebs || (this.#transaction >= 0 && !isAbort);
    if (!hasEvents && this.#isOverflow && !this.#isEnabled) {
      this.#isOverflow = false;
      this.#isEnabled = true;
      sampler.branch(PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_TRACE_BEGIN, 0, 0, ipLo, ipHi);
      sampler.putInstruction(ipLo, ipHi);
      return;
    }
    this.#isOverflow = false;
    if (this.#hasPebs) this.#putPebs();
    this.#isAsync = !hasEvents && this.#isEnabled;
    for (const event of waiting) {
      event.ipLo = ipLo;
      event.ipHi = ipHi;
      if (event.kind !== EVENT_PTWRITE) putTraceEvent(sampler, event);
    }
    if (!this.#isAsync) sampler.putInstruction(ipLo, ipHi);
    if (!isAbort) this.#putTransaction(ipLo, ipHi);
    for (const event of waiting.splice(0)) if (event.kind === EVENT_PTWRITE) putTraceEvent(sampler, event);
  }

  /** One begins, ends, or was aborted here. */
  #putTransaction(ipLo: number, ipHi: number): void {
    const { sampler } = this;
    const transaction = this.#transaction;
    this.#transaction = -1;
    if (transaction < 0) return;
    const flags =
      ((transaction & PT_MODE_TSX_INTX) !== 0 ? PERF_IP_FLAG_IN_TX : 0) |
      ((transaction & PT_MODE_TSX_ABRT) !== 0 ? PERF_IP_FLAG_TX_ABORT : 0);
    sampler.putEvent(sampler.events.transactions, ipLo, ipHi, null, flags);
  }

  #putPebs(): void {
    this.#hasPebs = false;
    if (!this.#pebs.isEmpty) this.sampler.putPebs(this.#pebs, this.#ipLo, this.#ipHi);
    this.#pebs.clear();
  }

  /** PTWRITE and power: at once, or with the FUP that follows. */
  #takeEvent(packet: Readonly<Packet>): void {
    const event = new FlowEvent();
    let waits = (packet.flags & FLAG_IP) !== 0;
    switch (packet.kind) {
      case PACKET_PTW:
        event.clear(EVENT_PTWRITE);
        break;
      case PACKET_EXSTOP:
        event.clear(EVENT_EXSTOP);
        break;
      case PACKET_MWAIT:
        event.clear(EVENT_MWAIT);
        waits = true;
        break;
      case PACKET_PWRE:
        event.clear(EVENT_PWRE);
        event.detail = packet.type;
        event.count = packet.extra;
        event.flags = (packet.flags & FLAG_HW) !== 0 ? FLAG_BY_HARDWARE : 0;
        waits = this.#waiting.some(({ kind }) => kind === EVENT_MWAIT);
        break;
      case PACKET_PWRX:
        event.clear(EVENT_PWRX);
        event.detail = packet.extra;
        event.count = packet.type;
        event.flags = packet.flags;
        waits = false;
        break;
      default:
        return;
    }
    event.lo = packet.lo;
    event.hi = packet.hi;
    if (waits) {
      this.#waiting.push(event);
      return;
    }
    event.isIpSuppressed = true;
    putTraceEvent(this.sampler, event);
  }
}
