import type { CodeImage } from '../../code/image/index.ts';
import { KIND_MOV_CR3 } from '../../code/instructions/index.ts';
import { type Errata, NO_ERRATA } from '../packets/errata.ts';
import { NO_TIME_SETTINGS } from '../time/time-settings.ts';
import { TraceClock } from '../time/trace-clock.ts';
import { AddressFilter } from './address-filter.ts';
import { isTriggerDue, noteAnchor } from './anchor.ts';
import { applyEvent } from './apply-event.ts';
import { instructionBit, isAt, isAtEvent, isBranch, makesEvent, needsTrace, takesTntBit } from './binding.ts';
import { CodeWalk, type ExecutedInstruction } from './code-walk.ts';
import * as ev from './event.ts';
import { FlowEvent } from './event.ts';
import { EventReader } from './event-reader.ts';
import {
  FLOW_BAD_CONTEXT,
  FLOW_BAD_QUERY,
  FLOW_END,
  FLOW_ENDLESS_LOOP,
  FLOW_NO_ENABLE,
} from './flow-errors.ts';
import type { FlowOptions } from './flow-options.ts';
import { FlowState } from './flow-state.ts';
import { PacketFeed } from './packet-feed.ts';
import { AT_PSBEND } from './pending-events.ts';
import {
  RESUME_AT,
  RESUME_DISABLED,
  RESUME_ENABLED,
  RESUME_SKIP,
  RESUME_TARGET,
  resumePlan,
} from './resume-plan.ts';
import { BRANCH_USES_EVENT, hasTimeMoved, makeTick, TakenBranch } from './taken-branch.ts';
import { leavesFilter, mendAbort, mendVmEntry } from './walk-errata.ts';

/** What a step came to: an instruction was executed, `FlowDecoder.instruction`. */
export const STEP_INSTRUCTION = 1;
/** What a step came to: something happened, `FlowDecoder.event`. */
export const STEP_EVENT = 2;

/**
 * A trace, one instruction or event at a time:
 *
 *     const decoder = new FlowDecoder(bytes, image);
 *     while (decoder.synchronize() !== FLOW_END)
 *       for (let step = decoder.step(); ; step = decoder.step()) {
 *         if (step === STEP_INSTRUCTION) console.log(decoder.instruction.ipLo >>> 0);
 *         else if (step === STEP_EVENT) console.log(formatEvent(decoder.event));
 *         else break; // FLOW_END, or an error: flowErrorText(step). Goes on at the next PSB.
 *       }
 *
 * Exact, and slow: `profileTrace`, `CallTrace` and `streamInstructions` give their answers many times faster.
 */
export class FlowDecoder {
  /** All that is known between two steps: mode, address space, time. To be read, not changed. */
  readonly state: FlowState;
  /** The instruction of the last STEP_INSTRUCTION. */
  readonly instruction: ExecutedInstruction;
  /** The event of the last STEP_EVENT. */
  readonly event = new FlowEvent();
  /** Where the last error was met, in the code. */
  errorIpLo = 0;
  /** Upper half. */
  errorIpHi = 0;

  readonly #feed: PacketFeed;
  readonly #reader: EventReader;
  readonly #walk: CodeWalk;
  readonly #branch: TakenBranch;
  readonly #errata: Errata;
  readonly #filter: AddressFilter;
  readonly #ticks: boolean;
  readonly #codeTime: ((tscLo: number, tscHi: number) => number) | undefined;

  /** `state.event` is due now. */
  #isDue = false;
  /** An instruction whose own events are being delivered; what follows it is not known yet. */
  #isPostponed = false;
  #boundEvents = 0;
  /** An error to be told with the next step, and where it was met. */
  #raised = 0;
  /** After an error: events are told, and the first with an address is where the walk goes on. */
  #isResuming = false;
  // To see that `resume` gets on: events that were used up, by now and at its last call.
  #fetches = 0;
  #fetchesAtResume = -1;
  #timesStuck = 0;

  constructor(bytes: Uint8Array, image: CodeImage, options: FlowOptions = {}) {
    const errata = options.errata ?? NO_ERRATA;
    this.#errata = errata;
    this.#filter = options.filter ?? new AddressFilter();
    this.#ticks = options.ticks ?? false;
    this.#codeTime = options.codeTime;
    this.state = new FlowState(new TraceClock({ ...(options.settings ?? NO_TIME_SETTINGS), errata }));
    this.#feed = new PacketFeed(bytes, this.state, options);
    this.#reader = new EventReader(this.#feed);
    this.#walk = new CodeWalk(image, this.state, options.useCr3 ?? false);
    this.#branch = new TakenBranch(this.state, this.#walk, this.#reader, this.#ticks);
    this.instruction = this.#walk.instruction;
  }

  /** Where code comes from. May be exchanged between two steps. */
  get image(): CodeImage {
    return this.#walk.image;
  }

  set image(image: CodeImage) {
    this.#walk.image = image;
  }

  /**
   * What the image is asked with: see `FlowOptions.codeTime`. Another engine that has used
   * up events sets it to theirs.
   *
   * @internal
   */
  get codeTime(): number {
    return this.#walk.time;
  }

  /** @internal */
  set codeTime(time: number) {
    this.#walk.time = time;
  }

  /** Where the packets are that were not used yet: errors are met here. */
  get offset(): number {
    return this.state.position;
  }

  /**
   * Begin, or after an error begin anew, at the next PSB. Returns 0; FLOW_END if there is none; or what is
   * wrong with its PSB+: then `synchronize` again goes on to the one after it.
   */
  synchronize(): number {
    const from = this.#reader.resynchronizeFrom;
    this.state.reset();
    this.#clearWalk();
    this.instruction.ipLo = 0;
    this.instruction.ipHi = 0;
    const failed = this.#reader.synchronize(from);
    if (failed !== 0) {
      this.#setErrorIp(0, 0);
      return failed;
    }
    const { state } = this;
    const first = state.pending.find(AT_PSBEND, ev.EVENT_ENABLED);
    if (first !== null && state.lastIp.known) {
      state.isEnabled = true;
      state.ipLo = state.lastIp.lo;
      state.ipHi = state.lastIp.hi;
    }
    state.status = this.#reader.next(state.event);
    if (state.status !== 0) state.event.kind = ev.EVENT_NONE;
    this.#settle(-1);
    return 0;
  }

  /**
   * After an error: go on at the next event that has an address, without waiting for a PSB. What comes before
   * it and has none is told all the same. Returns 0, FLOW_END, or what the packets cannot be read for
   * (`synchronize` is then left).
   */
  resume(): number {
    const { state } = this;
    const { event } = state;
    this.#clearWalk();
    // Calls may have been missed: a compressed return would go anywhere.
    state.returns.clear();
    // The place of this event did not help last time: it is told without, and if that fails, too, left out.
    if (this.#fetches !== this.#fetchesAtResume) this.#timesStuck = 0;
    else if (++this.#timesStuck === 1) event.isIpSuppressed = true;
    else if (state.status === 0) this.#fetch();
    this.#fetchesAtResume = this.#fetches;
    this.#isResuming = true;
    return this.#findResumePoint();
  }

  /** One instruction (`instruction`), one event (`event`), an error, or FLOW_END. */
  step(): number {
    const { state } = this;
    if (this.#raised !== 0) {
      const code = this.#raised;
      this.#raised = 0;
      return code;
    }
    if (this.#isDue) return this.#deliver();
    if (state.status !== 0) {
      this.#setErrorIp(state.ipLo, state.ipHi);
      return state.status;
    }
    if (!state.isEnabled) {
      this.#setErrorIp(state.ipLo, state.ipHi);
      const { kind } = state.event;
      return kind === ev.EVENT_TNT || kind === ev.EVENT_TIP ? FLOW_NO_ENABLE : FLOW_BAD_CONTEXT;
    }
    return this.#walkOne();
  }

  /**
   * The next step tells the event at hand: it belongs to the instruction that was told
   * last, or happened behind it.
   */
  get isEventNext(): boolean {
    return this.#isDue;
  }

  /**
   * Whether `release` is possible: `state` is all that there is. Changes nothing.
   *
   * @internal
   */
  get canRelease(): boolean {
    const { state } = this;
    const { event } = state;
    if (!state.isEnabled || this.#isDue || this.#isPostponed || this.#raised !== 0 || this.#isResuming)
      return false;
    if (state.status !== 0 || state.pending.count !== 0) return false;
    // Behind a deferred TIP its packet is still at hand, though it was used.
    return event.kind === ev.EVENT_TNT ? !state.isPacketInProgress : event.kind === ev.EVENT_TIP;
  }

  /**
   * Hand over to another engine. True where that is possible: then `state` is complete (README.md
   * says what is where), and nothing but `state` is looked at until `adopt`. False leaves everything
   * as it was: take another step.
   *
   * @internal
   */
  release(): boolean {
    const { state } = this;
    const { event } = state;
    if (!this.canRelease) return false;
    if (event.kind === ev.EVENT_TNT) return true;
    // The packet is still there, and to read it once more does not change the last IP.
    event.clear(ev.EVENT_NONE);
    state.isPacketInProgress = false;
    return true;
  }

  /**
   * Take over: read on from `state.position`.
   *
   * @internal
   */
  adopt(): void {
    const { state } = this;
    const { event } = state;
    this.#clearWalk();
    state.status = 0;
    state.pending.clear();
    state.isPacketInProgress = false;
    state.arePacketsEnabled = state.isEnabled;
    this.#feed.seek(state.position);
    if (event.kind !== ev.EVENT_TNT || event.count === 0) {
      state.status = this.#reader.next(event);
      if (state.status !== 0) event.kind = ev.EVENT_NONE;
    }
    this.#settle(-1);
  }

  #clearWalk(): void {
    this.#isDue = false;
    this.#isPostponed = false;
    this.#boundEvents = 0;
    this.#raised = 0;
    this.#isResuming = false;
    this.#walk.restartLoopCheck();
  }

  #setErrorIp(lo: number, hi: number): void {
    this.errorIpLo = lo;
    this.errorIpHi = hi;
  }

  /** To be told with the next step: met at the instruction that was told last. */
  #raise(code: number): void {
    this.#raised = code;
    this.#setErrorIp(this.instruction.ipLo, this.instruction.ipHi);
  }

  // Events

  /** The event at hand is used up: get the next. */
  #fetch(): void {
    const { state } = this;
    const { event } = state;
    state.timeLo = event.timeLo;
    state.timeHi = event.timeHi;
    if (this.#codeTime !== undefined && event.hasTime)
      this.#walk.time = this.#codeTime(event.timeLo >>> 0, event.timeHi >>> 0);
    noteAnchor(state, event);
    this.#fetches++;
    state.status = this.#reader.next(event);
    if (state.status !== 0) event.kind = ev.EVENT_NONE;
    this.#walk.restartLoopCheck();
  }

  /**
   * Find out whether the event at hand is due where the flow is. `branch` is the kind of the instruction that
   * brought it here with the help of the trace, -1 where none did.
   */
  #settle(branch: number): void {
    const { state } = this;
    const { event } = state;
    for (;;) {
      if (state.status !== 0) {
        const failed = this.#leavePostponed();
        if (failed !== 0) this.#raise(failed);
        // Told where the next instruction would be; while events are being told, at the last one.
        else if (branch < 0 && state.status !== FLOW_END) {
          this.#raise(state.status);
        }
        return;
      }
      if (event.kind === ev.EVENT_TNT) {
        if (this.#ticks && branch >= 0 && event.hasTime && hasTimeMoved(state)) {
          if (takesTntBit(branch)) {
            this.#isDue = true;
            return;
          }
        } else if (event.count === 0) {
          this.#fetch();
          continue;
        }
      } else if (event.kind !== ev.EVENT_TIP) {
        const due = this.#isEventDue(branch);
        if (due < 0) {
          this.#raise(due);
          return;
        }
        if (due === 1) {
          this.#isDue = true;
          return;
        }
      }
      if (!this.#isPostponed) return;
      const failed = this.#leavePostponed();
      if (failed !== 0) {
        this.#raise(failed);
        return;
      }
      // It may have taken the event at hand.
      branch = -1;
    }
  }

  /** 1: due; 0: not yet; or a FLOW_* code. */
  #isEventDue(branch: number): number {
    const { state } = this;
    const { event } = state;
    const bit = instructionBit(event.kind);
    if (bit !== 0) {
      if (!state.isEnabled || event.isCutOff) return 1;
      if (!this.#isPostponed || (this.#boundEvents & bit) !== 0) return 0;
      const mayShare = event.kind === ev.EVENT_PAGING || event.kind === ev.EVENT_VMCS || event.isIpSuppressed;
      if (!mayShare || !makesEvent(this.instruction, event.kind)) return 0;
      this.#bind(bit);
      return 1;
    }
    if (event.kind === ev.EVENT_DISABLED && !event.isStatus) return this.#isDisableDue();
    const failed = this.#leavePostponed();
    if (failed !== 0) return failed;
    if (event.kind === ev.EVENT_TRIGGER) return isTriggerDue(this.state);
    if (this.#errata.bdm64 && event.kind === ev.EVENT_TSX && isBranch(branch)) mendAbort(state, this.#walk);
    if (!isAtEvent(state, event)) return 0;
    if (this.#errata.skd022 && event.kind === ev.EVENT_ASYNC_DISABLED && mendVmEntry(event, this.#walk))
      return 0;
    return 1;
  }

  #bind(bit: number): void {
    this.#boundEvents |= bit;
    this.#isPostponed = true;
    const { event } = this.state;
    if (event.kind === ev.EVENT_PTWRITE && event.isIpSuppressed) {
      event.ipLo = this.instruction.ipLo;
      event.ipHi = this.instruction.ipHi;
    }
  }

  /** A disable belongs to an instruction: to the one that is postponed, or to one that is still to come. */
  #isDisableDue(): number {
    const { state, instruction } = this;
    const { event } = state;
    if (!state.isEnabled) return 1;
    if (!this.#isPostponed) return !event.isIpSuppressed && isAt(state, event.ipLo, event.ipHi) ? 1 : 0;
    if (event.isIpSuppressed && instruction.kind === KIND_MOV_CR3) {
      this.#dropPostponed();
      return 1;
    }
    const needed = needsTrace(instruction.kind);
    this.#dropPostponed();
    if (needed) {
      this.#walk.expectToResume();
      return 1;
    }
    this.#goOn();
    return !event.isIpSuppressed && isAt(state, event.ipLo, event.ipHi) ? 1 : 0;
  }

  #deliver(): number {
    const { state } = this;
    this.#isDue = false;
    const next = state.event;
    if (next.kind === ev.EVENT_TNT) {
      this.event.copyFrom(next);
      makeTick(this.event, state.ipLo, state.ipHi);
      state.timeLo = next.timeLo;
      state.timeHi = next.timeHi;
      if (next.count === 0) this.#fetch();
      this.#settle(-1);
      return STEP_EVENT;
    }
    const failed = applyEvent(state, next);
    if (failed !== 0) {
      this.#setErrorIp(this.instruction.ipLo, this.instruction.ipHi);
      return failed;
    }
    this.event.copyFrom(next);
    this.#fetch();
    if (this.#isResuming) {
      const code = this.#findResumePoint();
      if (code < 0 && code !== FLOW_END) this.#raise(code);
    } else this.#settle(-1);
    return STEP_EVENT;
  }

  // Going on after an error

  #findResumePoint(): number {
    const { state } = this;
    const { event } = state;
    for (;;) {
      if (state.status !== 0) {
        this.#setErrorIp(state.ipLo, state.ipHi);
        return state.status;
      }
      switch (resumePlan(event)) {
        case RESUME_SKIP:
          this.#fetch();
          continue;
        case RESUME_TARGET:
          this.#resumeAt(event.ipLo, event.ipHi);
          this.#fetch();
          this.#settle(-1);
          return 0;
        case RESUME_AT:
          this.#resumeAt(event.ipLo, event.ipHi);
          this.#settle(-1);
          return 0;
        case RESUME_ENABLED:
          // It ends tracing, or says that it is on: whatever the walk believed.
          state.isEnabled = true;
          this.#isResuming = false;
          break;
        case RESUME_DISABLED:
          state.isEnabled = false;
          this.#isResuming = false;
          break;
      }
      this.#isDue = true;
      return 0;
    }
  }

  #resumeAt(lo: number, hi: number): void {
    const { state } = this;
    state.isEnabled = true;
    state.ipLo = lo;
    state.ipHi = hi;
    this.#isResuming = false;
  }

  // Instructions

  #walkOne(): number {
    const { state, instruction } = this;
    const { event } = state;
    const failed = this.#walk.read();
    if (failed !== 0) {
      this.#setErrorIp(state.ipLo, state.ipHi);
      return failed;
    }
    const { kind } = instruction;
    if (state.sinceAnchor >= 0) state.sinceAnchor++;
    instruction.isBeforeEvent = event.kind !== ev.EVENT_TNT && event.kind !== ev.EVENT_TIP;
    if (instruction.isBeforeEvent) this.#approach();
    else if (!needsTrace(kind)) this.#goOn();
    else {
      const code = this.#takeBranch();
      if (code !== 0) this.#raise(code);
      else this.#settle(kind);
      return STEP_INSTRUCTION;
    }
    if (!this.#isDue && !this.#isPostponed && this.#raised === 0 && this.#walk.hasGoneRound()) {
      this.#setErrorIp(state.ipLo, state.ipHi);
      this.#raised = FLOW_ENDLESS_LOOP;
    }
    return STEP_INSTRUCTION;
  }

  /** One more instruction on the way to an event that is not reached yet. */
  #approach(): void {
    const { state, instruction } = this;
    const { event } = state;
    const { kind } = instruction;
    const bit = instructionBit(event.kind);
    if (bit !== 0) {
      const isHere =
        event.isIpSuppressed || event.kind === ev.EVENT_PAGING || event.kind === ev.EVENT_VMCS
          ? makesEvent(instruction, event.kind)
          : isAt(state, event.ipLo, event.ipHi);
      if (isHere) {
        this.#boundEvents = 0;
        this.#bind(bit);
        this.#isDue = true;
        return;
      }
    } else if (event.kind === ev.EVENT_DISABLED) {
      if (event.isIpSuppressed && (kind === KIND_MOV_CR3 || this.#mayLackTarget())) {
        this.#isDue = true;
        return;
      }
      if (needsTrace(kind)) {
        this.#walk.expectToResume();
        this.#isDue = true;
        return;
      }
    }
    if (needsTrace(kind)) {
      this.#raise(FLOW_BAD_QUERY);
      return;
    }
    this.#goOn();
    if (event.kind === ev.EVENT_TRIGGER && event.count > 0 && this.#wasAt(event)) {
      event.count--;
      event.ipLo = state.ipLo;
      event.ipHi = state.ipHi;
      this.#walk.restartLoopCheck();
    }
    if (bit === 0) this.#settle(-1);
  }

  #wasAt(event: FlowEvent): boolean {
    return this.instruction.ipLo === event.ipLo && this.instruction.ipHi === event.ipHi;
  }

  #mayLackTarget(): boolean {
    return this.#errata.skl014 && leavesFilter(this.state, this.#walk, this.#filter);
  }

  #goOn(): void {
    this.#walk.goOn();
    this.instruction.isPassed = true;
  }

  /** Use the trace to get past the instruction that was read. 0 or a FLOW_* code. */
  #takeBranch(): number {
    const code = this.#branch.take();
    this.instruction.isPassed = code === 0 || code === BRANCH_USES_EVENT;
    if (code !== BRANCH_USES_EVENT) return code;
    this.#fetch();
    return 0;
  }

  #dropPostponed(): void {
    this.#isPostponed = false;
    this.#boundEvents = 0;
  }

  /** Get past an instruction whose events have been told. 0 or a FLOW_* code. */
  #leavePostponed(): number {
    if (!this.#isPostponed) return 0;
    this.#dropPostponed();
    if (!this.state.isEnabled) return 0;
    if (needsTrace(this.instruction.kind)) return this.#takeBranch();
    this.#goOn();
    return 0;
  }
}
