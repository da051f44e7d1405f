/**
 * From nodes, instructions and events to calls: what a branch began is completed by where the path goes on.
 */
import { TWO_32 } from '@counterpoint/core/base';
import {
  KIND_CALL,
  KIND_CALL_INDIRECT,
  KIND_CONDITIONAL,
  KIND_FAR_CALL,
  KIND_FAR_JUMP,
  KIND_FAR_RETURN,
  KIND_JUMP,
  KIND_JUMP_INDIRECT,
  KIND_RETURN,
  MODE_64,
} from '../../../code/instructions/index.ts';
import {
  EVENT_ASYNC_BRANCH,
  EVENT_ASYNC_DISABLED,
  EVENT_DISABLED,
  EVENT_ENABLED,
  EVENT_OVERFLOW,
  EVENT_TSX,
  type ExecutedInstruction,
  FLOW_END,
  type FlowEvent,
  TSX_ABORTED,
  TSX_IN_TRANSACTION,
} from '../../flow/index.ts';
import { type CodeGraph, CYCLES_LOGGED, type StepPaths } from '../../graph/index.ts';
import type { TraceClock } from '../../time/trace-clock.ts';
import type { TraceListener } from '../run-trace.ts';
import type { AddressTable } from './address-table.ts';
import { CALL_FAR, CALL_NEAR, LEFT_END, LEFT_LOST } from './call-kinds.ts';
import { NO_ROW } from './call-record.ts';
import type { CallTracker } from './call-tracker.ts';
import type { FunctionRows } from './function-rows.ts';
import {
  NodeCalls,
  OP_AT,
  OP_BRANCHES,
  OP_INSTRUCTIONS,
  OP_LENGTH,
  OP_RETURN,
  OP_TARGET,
} from './node-calls.ts';
import { STEP_UNKNOWN, StepCalls } from './step-calls.ts';

export class CallCollector implements TraceListener {
  /** To be set before the run: the clock of its decoder. */
  clock: TraceClock | null = null;
  readonly #tracker: CallTracker;
  readonly #addresses: AddressTable;
  readonly #functions: FunctionRows;
  readonly #known = new Map<CodeGraph, StepCalls>();
  /** Kind of the branch that was executed last, while it is not known where it went; else 0. */
  #open = 0;
  #openAt: number = NO_ROW;
  /** Behind it. */
  #openNext: number = NO_ROW;
  #isAborting = false;

  constructor(tracker: CallTracker, functions: FunctionRows) {
    this.#tracker = tracker;
    this.#addresses = tracker.addresses;
    this.#functions = functions;
  }

  /** Asks for timing packets; the clock is read where something happens. */
  onTime(): void {}

  onStep(): void {
    this.#tracker.clock.read(this.clock!.estimate);
  }

  onPaths = (graph: CodeGraph, log: Int32Array, count: number, paths: StepPaths): void => {
    const tracker = this.#tracker;
    const clock = this.clock!;
    const known = this.#callsOf(graph, paths);
    const { facts } = known;
    let { instructions, branches } = tracker;
    let isOpen = this.#open !== 0 || tracker.stack.depth === 0;
    for (let at = 0; at < count; at++) {
      const slot = log[at]!;
      if (slot > 0) {
        let length = facts[slot]!;
        if (length === STEP_UNKNOWN) length = known.add(slot);
        if (length > 0 && !isOpen) {
          instructions += length;
          branches += facts[slot + 1]!;
          continue;
        }
      } else if (slot <= CYCLES_LOGGED) {
        clock.cycles(CYCLES_LOGGED - slot);
        continue;
      }
      tracker.instructions = instructions;
      tracker.branches = branches;
      tracker.clock.read(clock.estimate);
      if (slot < 0) this.#executeNode(known.calls, -slot);
      else {
        const place = paths.placeOf(slot);
        const last = place + paths.nodes[place]!;
        for (let node = place + 1; node <= last; node++) this.#executeNode(known.calls, paths.nodes[node]!);
      }
      ({ instructions, branches } = tracker);
      isOpen = this.#open !== 0;
    }
    tracker.instructions = instructions;
    tracker.branches = branches;
  };

  #callsOf(graph: CodeGraph, paths: StepPaths): StepCalls {
    let known = this.#known.get(graph);
    if (known === undefined) {
      known = new StepCalls(new NodeCalls(graph, this.#addresses, this.#functions), paths);
      this.#known.set(graph, known);
    }
    known.prepare();
    return known;
  }

  #executeNode(calls: NodeCalls, node: number): void {
    const tracker = this.#tracker;
    if (node >= calls.known || calls.instructions.at(node) === 0) calls.add(node);
    if (this.#open !== 0 || tracker.stack.depth === 0) this.#goTo(calls.rowOf(node));
    this.#executeOps(calls, node);
    tracker.instructions += calls.instructions.at(node);
    tracker.branches += calls.branches.at(node);
    this.#open = calls.endKind.at(node);
    if (this.#open === 0) return;
    this.#openAt = calls.endRow.at(node);
    this.#openNext = calls.nextRow.at(node);
  }

  onGraphEnd(graph: CodeGraph): void {
    this.#known.delete(graph);
  }

  onInstruction(instruction: ExecutedInstruction): void {
    const tracker = this.#tracker;
    const { ipLo, ipHi, kind, length, mode } = instruction;
    // Most have no need of a row.
    if (this.#open !== 0 || tracker.stack.depth === 0) this.#goTo(this.#addresses.rowOf(ipLo, ipHi));
    tracker.instructions++;
    if (kind < KIND_CALL) return;
    tracker.branches++;
    // A call to the next instruction only asks where it is.
    if (kind === KIND_CALL && instruction.displacement === 0) return;
    const sum = (ipLo >>> 0) + length;
    this.#open = kind;
    this.#openAt = this.#addresses.rowOf(ipLo, ipHi);
    this.#openNext = this.#addresses.rowOf(
      sum | 0,
      sum < TWO_32 ? ipHi : mode === MODE_64 ? (ipHi + 1) | 0 : 0,
    );
  }

  onEvent(event: FlowEvent, ipLo: number, ipHi: number): void {
    if (event.isStatus) return;
    const tracker = this.#tracker;
    switch (event.kind) {
      case EVENT_ENABLED:
        this.#open = 0;
        tracker.on(this.#addresses.rowOf(event.ipLo, event.ipHi));
        return;
      case EVENT_DISABLED:
        this.#disable(event);
        return;
      case EVENT_ASYNC_DISABLED: {
        this.#arrive(ipLo, ipHi);
        const at = this.#addresses.rowOf(event.ipLo, event.ipHi);
        const target = event.isIpSuppressed ? NO_ROW : this.#addresses.rowOf(event.toLo, event.toHi);
        // The code that handles the abort is not traced.
        if (this.#isAborting) tracker.abort();
        this.#isAborting = false;
        tracker.off(target, at, at);
        return;
      }
      case EVENT_ASYNC_BRANCH: {
        this.#arrive(ipLo, ipHi);
        const target = this.#addresses.rowOf(event.toLo, event.toHi);
        if (this.#isAborting) tracker.abort();
        else tracker.interrupt(target, this.#addresses.rowOf(event.ipLo, event.ipHi));
        this.#isAborting = false;
        return;
      }
      case EVENT_OVERFLOW:
        this.#arrive(ipLo, ipHi);
        this.#lose(LEFT_LOST);
        return;
      case EVENT_TSX: {
        const isAborted = (event.detail & TSX_ABORTED) !== 0;
        this.#isAborting = isAborted;
        tracker.transaction((event.detail & TSX_IN_TRANSACTION) !== 0, isAborted);
        return;
      }
    }
  }

  onBreak(code: number, ipLo: number, ipHi: number): void {
    this.#arrive(ipLo, ipHi);
    this.#lose(code === FLOW_END ? LEFT_END : LEFT_LOST);
  }

  #lose(left: number): void {
    this.#open = 0;
    this.#isAborting = false;
    this.#tracker.close(left);
  }

  #executeOps(calls: NodeCalls, node: number): void {
    const count = calls.opCount.at(node);
    if (count === 0) return;
    const tracker = this.#tracker;
    const { instructions, branches } = tracker;
    const ops = calls.ops.data;
    let op = calls.firstOp.at(node);
    for (const end = op + count * OP_LENGTH; op < end; op += OP_LENGTH) {
      tracker.instructions = instructions + ops[op + OP_INSTRUCTIONS]!;
      tracker.branches = branches + ops[op + OP_BRANCHES]!;
      const behind = ops[op + OP_RETURN]!;
      const target = ops[op + OP_TARGET]!;
      if (behind === NO_ROW) tracker.jump(target, ops[op + OP_AT]!);
      else tracker.call(CALL_NEAR, target, ops[op + OP_AT]!, behind);
    }
    tracker.instructions = instructions;
    tracker.branches = branches;
  }

  /** The path has come to an address where nothing was executed yet, and perhaps nothing will be. */
  #arrive(lo: number, hi: number): void {
    // Damage leads to addresses without end: one that nothing depends on is not kept.
    if (this.#open === 0) return;
    const row = this.#addresses.rowOf(lo, hi);
    if (row !== this.#openAt) this.#goTo(row);
    this.#open = 0;
  }

  /** What is executed next is at an address. */
  #goTo(row: number): void {
    const tracker = this.#tracker;
    const kind = this.#open;
    this.#open = 0;
    switch (kind) {
      case KIND_CALL:
      case KIND_CALL_INDIRECT:
        tracker.call(CALL_NEAR, row, this.#openAt, this.#openNext);
        return;
      case KIND_RETURN:
        tracker.return(row);
        return;
      case KIND_JUMP:
      case KIND_CONDITIONAL:
        if (this.#functions.crosses(this.#openAt, row)) tracker.jump(row, this.#openAt);
        else tracker.at(row);
        return;
      case KIND_JUMP_INDIRECT:
        tracker.jump(row, this.#openAt);
        return;
      case KIND_FAR_CALL:
        tracker.call(CALL_FAR, row, this.#openAt, this.#openNext);
        return;
      case KIND_FAR_RETURN:
        tracker.farReturn(row);
        return;
      case KIND_FAR_JUMP:
        tracker.jump(row, this.#openAt);
        return;
      default:
        tracker.at(row);
    }
  }

  /** Tracing goes off with the instruction that was executed last. */
  #disable(event: FlowEvent): void {
    const tracker = this.#tracker;
    const kind = this.#open;
    const target = event.isIpSuppressed ? NO_ROW : this.#addresses.rowOf(event.ipLo, event.ipHi);
    this.#open = 0;
    switch (kind) {
      case KIND_CALL:
      case KIND_CALL_INDIRECT:
        // The call itself is what is not traced.
        tracker.call(CALL_NEAR, target, this.#openAt, this.#openNext);
        return;
      case KIND_FAR_CALL:
        tracker.off(target, this.#openAt, this.#openNext);
        return;
      case KIND_RETURN:
        tracker.return(target, false);
        break;
      case KIND_FAR_RETURN:
        tracker.farReturn(target, false);
        break;
      case KIND_JUMP_INDIRECT:
        if (target !== NO_ROW) tracker.jump(target, this.#openAt);
        break;
    }
    tracker.off(target, kind === 0 ? NO_ROW : this.#openAt, NO_ROW);
  }
}
