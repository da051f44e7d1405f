/**
 * A decoded trace, one line an instruction and one an event:
 *
 *   0000000000401000
 *   [enabled, ip: 0000000000401000]
 *   ? 0000000000401004                      inside a transaction
 *   [2b, 401010: error: no memory mapped at this address]
 */
import { BlockTracker } from './block-tracker.ts';
import type { FlowEvent } from './event.ts';
import { EVENT_OVERFLOW } from './event.ts';
import { formatEvent } from './event-text.ts';
import type { FlowDecoder } from './flow-decoder.ts';
import { STEP_EVENT, STEP_INSTRUCTION } from './flow-decoder.ts';
import { FLOW_END, FlowErrorCounts, flowErrorText } from './flow-errors.ts';
import { hex64, hex64Short } from './hex.ts';

export interface PrintFlowOptions {
  /** Only count. */
  readonly quiet?: boolean;
  /** Where in the trace, and when, before each instruction. */
  readonly offset?: boolean;
  readonly time?: boolean;
  readonly eventTime?: boolean;
  readonly eventIp?: boolean;
  /** After an error go on with the next event that has an address, not with the next PSB. */
  readonly resume?: boolean;
  /** Blocks, by their rules; `show` prints a line where one begins. */
  readonly blocks?: { readonly show?: boolean; readonly endOnCall?: boolean; readonly endOnJump?: boolean };
  /** Blocks are numbered where statistics were asked for. */
  readonly countBlocks?: boolean;
  /** Called for every event, also for the ones that are not printed: may print, may change the decoder's image. */
  readonly onEvent?: (event: FlowEvent) => void;
  /** Called for every instruction, before its line. Return false to stop. */
  readonly onInstruction?: (decoder: FlowDecoder) => boolean;
  /** Asked now and then: how far it is. */
  readonly onProgress?: (doneBytes: number) => void;
}

export interface FlowSummary {
  instructions: number;
  blocks: number;
  events: number;
  overflows: number;
  readonly errors: FlowErrorCounts;
}

const PROGRESS_STEPS = 1 << 16;

/** Decode to the end of the trace, however damaged it is. */
export function printFlow(
  decoder: FlowDecoder,
  options: PrintFlowOptions,
  line: (text: string) => void,
): FlowSummary {
  const summary: FlowSummary = {
    instructions: 0,
    blocks: 0,
    events: 0,
    overflows: 0,
    errors: new FlowErrorCounts(),
  };
  const say = options.quiet ? () => {} : line;
  const tracker = options.blocks === undefined ? null : new BlockTracker(options.blocks);
  const eventText = { time: options.eventTime ?? false, ip: options.eventIp ?? false };
  const { instruction, event, state } = decoder;
  let timeLo = 0;
  let timeHi = 0;
  let steps = 0;

  const report = (what: string, code: number): void => {
    summary.errors.add(code, decoder.offset);
    const ip = hex64Short(decoder.errorIpLo, decoder.errorIpHi);
    line(`[${decoder.offset.toString(16)}, ${ip}: ${what}: ${flowErrorText(code)}]`);
    tracker?.end();
  };

  let code = 0;
  while ((code = decoder.synchronize()) !== FLOW_END) {
    if (code !== 0) {
      report('sync error', code);
      continue;
    }
    for (;;) {
      const before = decoder.offset;
      code = decoder.step();
      if (++steps % PROGRESS_STEPS === 0) options.onProgress?.(decoder.offset);
      if (code === STEP_INSTRUCTION) {
        if (options.onInstruction !== undefined && !options.onInstruction(decoder))
          return finish(summary, tracker);
        summary.instructions++;
        if (tracker?.add(instruction) && options.blocks?.show)
          say(options.countBlocks ? `[block ${tracker.count.toString(16)}]` : '[block]');
        if (options.quiet) continue;
        line(
          (options.offset ? `${before.toString(16).padStart(16, '0')}  ` : '') +
            (options.time ? `${hex64(timeLo, timeHi)}  ` : '') +
            (instruction.isSpeculative ? '? ' : '') +
            hex64(instruction.ipLo, instruction.ipHi),
        );
      } else if (code === STEP_EVENT) {
        tracker?.end();
        timeLo = event.timeLo;
        timeHi = event.timeHi;
        summary.events++;
        if (event.kind === EVENT_OVERFLOW) summary.overflows++;
        if (!event.isStatus) {
          const offset = options.offset ? `${before.toString(16).padStart(16, '0')}  ` : '';
          say(`[${offset}${formatEvent(event, eventText)}]`);
        }
        options.onEvent?.(event);
      } else if (code === FLOW_END) {
        if (state.isEnabled) say('[end of trace]');
        return finish(summary, tracker);
      } else {
        report('error', code);
        if (!options.resume) break;
        const failed = decoder.resume();
        if (failed === FLOW_END) {
          if (state.isEnabled) say('[end of trace]');
          return finish(summary, tracker);
        }
        if (failed !== 0) {
          report('resync error', failed);
          break;
        }
      }
    }
  }
  return finish(summary, tracker);
}

function finish(summary: FlowSummary, tracker: BlockTracker | null): FlowSummary {
  summary.blocks = tracker?.count ?? 0;
  return summary;
}
