/**
 * The calls that are open, from what branches say. It believes addresses, not counts: a return belongs to the
 * innermost call whose return address it goes to.
 *
 *     main            main              main             main            main
 *      a               a                 a                a               landing pad of main: a, b and c are unwound
 *       b               b                (b, c unwound)    b              (an exception: a return into a function that is open)
 *        c ──ret──>      ^here            ^here            ?? root: c went to where nobody called from (coroutines)
 *        to b            normal           behind a's call
 */
import type { AddressTable } from './address-table.ts';
import type { CallClock } from './call-clock.ts';
import {
  CALL_ASYNC,
  CALL_ENTERED,
  CALL_FAR,
  type CALL_NEAR,
  CALL_ROOT,
  CALL_TAIL,
  CALL_UNTRACED,
  LEFT_ELSEWHERE,
  LEFT_LATE,
  LEFT_LOST,
  LEFT_RETURN,
  LEFT_UNWOUND,
} from './call-kinds.ts';
import { CallRecord, NO_ROW } from './call-record.ts';
import { CallStack } from './call-stack.ts';
import type { CallTree } from './call-tree.ts';
import type { FunctionRows } from './function-rows.ts';

/** Takes calls as they begin and as they end, innermost first. Records are borrowed: copy what you keep. */
export interface CallListener {
  /** A call begins: when, where from and where to are known, how it ends is not. */
  onEnter?(call: Readonly<CallRecord>): void;
  /** A call has ended: all of it is known. Calls inside it have ended before. */
  onLeave?(call: Readonly<CallRecord>): void;
}

export class CallTracker {
  readonly stack = new CallStack();
  readonly clock: CallClock;
  /** Executed so far. */
  instructions = 0;
  branches = 0;
  readonly #addresses: AddressTable;
  readonly #functions: FunctionRows;
  readonly #listener: CallListener;
  readonly #tree: CallTree | null;
  readonly #record = new CallRecord();
  /** By return address: the function that calls from there. */
  #callerOf = new Int32Array(1024);
  /** A function of which it is not sure which call is the innermost: NO_ROW where all is sure. */
  #doubt: number = NO_ROW;
  #farCalls = 0;
  /** Calls that were open when the transaction began; -1 where none did. */
  #transactionDepth = -1;

  constructor(
    addresses: AddressTable,
    functions: FunctionRows,
    clock: CallClock,
    listener: CallListener,
    tree: CallTree | null,
  ) {
    this.#addresses = addresses;
    this.#functions = functions;
    this.clock = clock;
    this.#listener = listener;
    this.#tree = tree;
  }

  get addresses(): AddressTable {
    return this.#addresses;
  }

  /** Something is executed at an address. */
  at(row: number): void {
    if (this.stack.depth === 0) this.#push(CALL_ROOT, row, NO_ROW, NO_ROW);
  }

  call(kind: typeof CALL_NEAR | typeof CALL_FAR, target: number, caller: number, behind: number): void {
    if (this.stack.depth === 0) this.at(caller);
    this.#noteCaller(behind);
    this.#push(kind, target, caller, behind);
  }

  /** An interrupt before the instruction at `from`. */
  interrupt(target: number, from: number): void {
    if (this.stack.depth === 0) this.at(from);
    this.#push(CALL_ASYNC, target, from, from);
  }

  /**
   * A jump: to another function for a call, out of calls that are open (longjmp), or nothing that matters.
   */
  jump(target: number, from: number): void {
    const { stack } = this;
    if (stack.depth === 0) {
      this.at(target);
      return;
    }
    const top = stack.depth - 1;
    const running = stack.functionRow[top]!;
    const start = this.#functions.startOf(target);
    if (start !== NO_ROW) {
      if (start === running) return;
      if (start !== target) {
        this.#unwindTo(start, top);
        return;
      }
      const behind = stack.returnRow[top]!;
      // One after the other, not one inside the other: else two that jump to each other would never end.
      if (stack.kind[top] === CALL_TAIL) this.#leave(LEFT_RETURN);
      this.#push(CALL_TAIL, target, from, behind);
      return;
    }
    // Behind a call that came back before: setjmp.
    const caller = this.#callerAt(target);
    if (caller !== NO_ROW && caller !== running) this.#unwindTo(caller, top);
  }

  /** A near return. `isTraced`: something is executed there. */
  return(target: number, isTraced = true): void {
    const { stack } = this;
    if (stack.depth === 0) {
      if (isTraced) this.at(target);
      return;
    }
    if (this.#returnTo(target)) return;
    const top = stack.depth - 1;
    const start = this.#functions.startOf(target);
    const owner = start === NO_ROW || start === target ? this.#callerAt(target) : start;
    if (stack.runs(owner) > (stack.functionRow[top] === owner ? 1 : 0)) {
      this.#unwindTo(owner, top);
      return;
    }
    this.#leave(stack.kind[top] === CALL_ROOT ? LEFT_RETURN : LEFT_ELSEWHERE);
    if (!isTraced) return;
    // A return that jumps to a function, as retpolines do.
    const under = stack.depth - 1;
    if (start === target && under >= 0)
      this.#push(CALL_TAIL, target, stack.callerRow[under + 1]!, stack.returnRow[under]!);
    else this.#push(CALL_ROOT, target, NO_ROW, NO_ROW);
  }

  /** IRET, SYSRET and the like. */
  farReturn(target: number, isTraced = true): void {
    const { stack } = this;
    if (stack.depth > 0 && this.#returnTo(target)) return;
    let behind: number = NO_ROW;
    if (this.#farCalls > 0) {
      // Not to where it came from: to a signal's handler, or to another program.
      while (!isFar(stack.kind[stack.depth - 1]!)) this.#leave(LEFT_UNWOUND);
      behind = stack.returnRow[stack.depth - 1]!;
      this.#leave(LEFT_ELSEWHERE);
    } else while (stack.depth > 0) this.#leave(LEFT_UNWOUND);
    if (isTraced) this.#push(stack.depth === 0 ? CALL_ROOT : CALL_ENTERED, target, NO_ROW, behind);
  }

  /** Tracing goes off, and is expected to go on behind `behind` (NO_ROW: anywhere). */
  off(target: number, from: number, behind: number): void {
    this.#push(CALL_UNTRACED, target, from, behind);
  }

  /** Tracing is on again. */
  on(row: number): void {
    const { stack } = this;
    let behind: number = NO_ROW;
    const top = stack.depth - 1;
    if (top >= 0 && stack.kind[top] === CALL_UNTRACED) {
      behind = stack.returnRow[top]!;
      this.#leave(behind === row ? LEFT_RETURN : LEFT_ELSEWHERE);
      if (behind === row) return;
    }
    if (stack.depth > 0 && this.#returnTo(row)) return;
    this.#push(stack.depth === 0 ? CALL_ROOT : CALL_ENTERED, row, NO_ROW, behind);
  }

  transaction(isOpen: boolean, isAborted: boolean): void {
    if (isOpen) this.#transactionDepth = this.stack.depth;
    else if (!isAborted) this.#transactionDepth = -1;
  }

  /** A transaction is undone: what was called in it was never called. */
  abort(): void {
    const depth = this.#transactionDepth;
    this.#transactionDepth = -1;
    while (depth >= 0 && this.stack.depth > depth) this.#leave(LEFT_UNWOUND);
  }

  /** All that is open ends here, for one reason. */
  close(left: number = LEFT_LOST): void {
    while (this.stack.depth > 0) this.#leave(left);
    this.stack.dropped = 0;
    this.#doubt = NO_ROW;
    this.#transactionDepth = -1;
  }

  /** Times from before cannot be compared with those that follow. */
  #forgetTimes(): void {
    this.stack.enterTicks.fill(Number.NaN, 0, this.stack.depth);
    this.#tree?.forgetTime();
  }

  /** To the innermost call that returns there; false if there is none. */
  #returnTo(row: number): boolean {
    const { stack } = this;
    const open = stack.returnsTo(row);
    if (open === 0) return false;
    if (stack.returnRow[stack.depth - 1] === row) this.#leaveCall(LEFT_RETURN);
    else {
      const call = stack.findReturn(row);
      while (stack.depth - 1 > call) this.#leave(LEFT_UNWOUND);
      this.#doubt = open > 1 ? stack.functionRow[call]! : NO_ROW;
      if (open > 1) stack.isUnsure[call] = 1;
      this.#leaveCall(LEFT_LATE);
    }
    return true;
  }

  /** The innermost call, and the one that jumped into it: they return together. */
  #leaveCall(left: number): void {
    const { stack } = this;
    let isTail = stack.kind[stack.depth - 1] === CALL_TAIL;
    this.#leave(left);
    while (isTail && stack.depth > 0) {
      isTail = stack.kind[stack.depth - 1] === CALL_TAIL;
      this.#leave(left);
    }
  }

  /** Leave calls until a function is running again, if it is open below `top`. */
  #unwindTo(functionRow: number, top: number): void {
    const { stack } = this;
    if (stack.runs(functionRow) === 0) return;
    const call = stack.findFunction(functionRow, top);
    if (call < 0) return;
    while (stack.depth - 1 > call) this.#leave(LEFT_UNWOUND);
    if (stack.runs(functionRow) > 1) {
      this.#doubt = functionRow;
      stack.isUnsure[call] = 1;
    }
  }

  #push(kind: number, target: number, caller: number, behind: number): void {
    const { stack, clock } = this;
    const start = target === NO_ROW ? NO_ROW : this.#functions.startOf(target);
    const functionRow = start === NO_ROW ? target : start;
    if (clock.tell()) this.#forgetTimes();
    const tree = this.#tree;
    const parent = stack.depth === 0 ? NO_ROW : stack.path[stack.depth - 1]!;
    tree?.account(parent, this.instructions, clock.ticks);
    if (stack.isFull) {
      stack.dropOuter((outer, left) => this.#tell(outer, left));
      this.#transactionDepth = -1;
    }
    const at = stack.push(kind, functionRow, caller, behind);
    stack.path[at] = tree === null ? NO_ROW : tree.child(parent, functionRow, kind);
    stack.enterTicks[at] = clock.ticks;
    stack.enterErrorTicks[at] = clock.errorTicks;
    stack.enterInstructions[at] = this.instructions;
    stack.enterBranches[at] = this.branches;
    if (isFar(kind)) this.#farCalls++;
    if (this.#listener.onEnter === undefined) return;
    const record = this.#fill(at);
    record.left = 0;
    record.leaveTicks = Number.NaN;
    record.leaveErrorTicks = Number.POSITIVE_INFINITY;
    this.#listener.onEnter(record);
  }

  #leave(left: number): void {
    const { stack } = this;
    if (this.clock.tell()) this.#forgetTimes();
    const at = stack.pop();
    if (stack.depth < this.#transactionDepth) this.#transactionDepth = -1;
    this.#tell(at, left);
    if (at === 0) return;
    stack.innerInstructions[at - 1]! += this.instructions - stack.enterInstructions[at]!;
    if (stack.isUnsure[at] === 1 && stack.runs(this.#doubt) > 0) stack.isUnsure[at - 1] = 1;
  }

  #tell(at: number, left: number): void {
    const { stack } = this;
    this.#tree?.account(stack.path[at]!, this.instructions, this.clock.ticks);
    this.#tree?.left(stack.path[at]!);
    if (isFar(stack.kind[at]!)) this.#farCalls--;
    if (this.#listener.onLeave === undefined) return;
    const record = this.#fill(at);
    record.left = left;
    record.leaveTicks = this.clock.ticks;
    record.leaveErrorTicks = this.clock.errorTicks;
    this.#listener.onLeave(record);
  }

  #fill(at: number): CallRecord {
    const { stack } = this;
    const record = this.#record;
    record.kind = stack.kind[at]!;
    record.functionRow = stack.functionRow[at]!;
    record.callerRow = stack.callerRow[at]!;
    record.depth = stack.dropped + at;
    record.isUnsure = stack.isUnsure[at] === 1;
    record.enterTicks = stack.enterTicks[at]!;
    record.enterErrorTicks = stack.enterErrorTicks[at]!;
    record.instructions = this.instructions - stack.enterInstructions[at]!;
    record.branches = this.branches - stack.enterBranches[at]!;
    record.ownInstructions = record.instructions - stack.innerInstructions[at]!;
    record.path = stack.path[at]!;
    return record;
  }

  #noteCaller(behind: number): void {
    if (behind === NO_ROW) return;
    if (behind >= this.#callerOf.length) {
      const longer = new Int32Array(Math.max(behind + 1, this.#callerOf.length * 2));
      longer.set(this.#callerOf);
      this.#callerOf = longer;
    }
    const { stack } = this;
    this.#callerOf[behind] = stack.functionRow[stack.depth - 1]! + 1;
  }

  /** The function that called from before an address; NO_ROW where none has. */
  #callerAt(row: number): number {
    return row >= 0 && row < this.#callerOf.length ? this.#callerOf[row]! - 1 : NO_ROW;
  }
}

function isFar(kind: number): boolean {
  return kind === CALL_FAR || kind === CALL_ASYNC;
}
