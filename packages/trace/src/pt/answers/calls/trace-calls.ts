import { checkArgument } from '@counterpoint/core/base';
import type { CodeImage } from '../../../code/image/index.ts';
import type { FlowErrorCount } from '../../flow/index.ts';
import { type RunTraceOptions, TraceRun } from '../run-trace.ts';
import type { CodeFunctions } from '../tables/code-functions.ts';
import { AddressTable } from './address-table.ts';
import { CallClock } from './call-clock.ts';
import { CallCollector } from './call-collector.ts';
import { type CallListener, CallTracker } from './call-tracker.ts';
import { CallTree } from './call-tree.ts';
import { FunctionRows } from './function-rows.ts';

/** How calls are found. */
export interface TraceCallsOptions extends RunTraceOptions {
  /**
   * Functions by address: then jumps between functions are calls, too, and exceptions find the
   * function that catches them.
   */
  readonly functions?: CodeFunctions;
  /** Count instructions and time by call path. */
  readonly withTree?: boolean;
}

/** What `CallTrace.run` came to. */
export interface TraceCalls {
  /** What the rows of calls are. */
  readonly addresses: AddressTable;
  /** What their ticks count from; null where the trace has no time. */
  readonly baseTsc: bigint | null;
  /** Null where it was not asked for (`withTree`). */
  readonly tree: CallTree | null;
  /** Executed instructions. */
  readonly instructions: number;
  /** Executed branches of every kind, taken or not. */
  readonly branches: number;
  /** In the order of their first place: calls that were open there are `lost`. */
  readonly errors: FlowErrorCount[];
  /** Times that the processor lost packets. */
  readonly overflows: number;
  /** How often time went back. */
  readonly clockRestarts: number;
}

/**
 * Every call of a trace, told as it begins and as it ends. Memory does not grow with the trace.
 *
 *     const calls = new CallTrace(bytes, image, { functions }, {
 *       onLeave: ({ functionRow, durationTicks, leftName }) => {
 *         const address = toBigInt(calls.addresses.loOf(functionRow) >>> 0, calls.addresses.hiOf(functionRow) >>> 0);
 *         console.log(address.toString(16), durationTicks, leftName);
 *       },
 *     });
 *     const { instructions, errors } = calls.run();
 */
export class CallTrace {
  /** What the rows of calls are: also while it runs. */
  readonly addresses = new AddressTable();
  /** Null where it was not asked for (`withTree`). */
  readonly tree: CallTree | null;
  /** @internal */
  readonly clock = new CallClock();
  /** @internal */
  readonly tracker: CallTracker;
  readonly #run: TraceRun;

  constructor(bytes: Uint8Array, image: CodeImage, options: TraceCallsOptions, listener: CallListener) {
    checkArgument({}, 'CallTrace', 'options', options, 'an object');
    checkArgument({}, 'CallTrace', 'listener', listener, 'an object with functions');
    this.tree = options.withTree === true ? new CallTree() : null;
    const functions = new FunctionRows(this.addresses, options.functions);
    this.tracker = new CallTracker(this.addresses, functions, this.clock, listener, this.tree);
    const collector = new CallCollector(this.tracker, functions);
    this.#run = new TraceRun(bytes, image, options, collector);
    collector.clock = this.#run.decoder.state.clock;
  }

  /** What the ticks of calls count from; null before the trace has told its time. */
  get baseTsc(): bigint | null {
    return this.clock.baseTsc;
  }

  /** Decode the trace to its end; `listener` is called meanwhile. Once only. */
  run(): TraceCalls {
    const { errors, overflows } = this.#run.run();
    return {
      addresses: this.addresses,
      baseTsc: this.baseTsc,
      tree: this.tree,
      instructions: this.tracker.instructions,
      branches: this.tracker.branches,
      errors: errors.list(),
      overflows,
      clockRestarts: this.clock.restarts,
    };
  }
}
