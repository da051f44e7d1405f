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
import { FLOW_END, FLOW_NO_SYNC, FlowErrorCounts, flowErrorName, flowErrorText } from './flow-errors.ts';
import { hex64, hex64Short } from './hex.ts';

/** What is printed. Without any option: the address of each instruction, and the events. */
export interface PrintFlowOptions {
  /** One JSON object a line; the last one sums up. */
  readonly json?: boolean;
  /** Only count. */
  readonly quiet?: boolean;
  /** Where in the trace it is, before each instruction and event. */
  readonly offset?: boolean;
  /** The TSC of the last event, before each instruction. */
  readonly time?: boolean;
  /** The TSC, before each event. */
  readonly eventTime?: boolean;
  /** Where it happened, behind each event. */
  readonly eventIp?: boolean;
  /** After an error go on with the next event that has an address, not with the next PSB. */
  readonly resume?: boolean;
  /** Blocks, by their rules; `show` prints a line where one begins. */
  readonly blocks?: { readonly show?: boolean; readonly endOnCall?: boolean; readonly endOnJump?: boolean };
  /** Blocks are numbered where statistics were asked for. */
  readonly countBlocks?: boolean;
  /**
   * Called for every event, also for the ones that are not printed: may print, may
   * change the decoder's image.
   */
  readonly onEvent?: (event: FlowEvent) => void;
  /** Called for every instruction, before its line. Return false to stop. */
  readonly onInstruction?: (decoder: FlowDecoder) => boolean;
  /** Asked now and then: how far it is. */
  readonly onProgress?: (doneBytes: number) => void;
}

/** What was met on the way. */
export interface FlowSummary {
  /** Executed instructions. */
  instructions: number;
  /** Blocks that began, where `blocks` asks for them; else 0. */
  blocks: number;
  /** Events, without those that only say what is (PSB+). */
  events: number;
  /** Places where the processor lost packets. */
  overflows: number;
  /** Places where decoding had to begin anew. */
  readonly errors: FlowErrorCounts;
}

const PROGRESS_STEPS = 1 << 16;

/**
 * Decode to the end of the trace, however damaged it is, and give each
 * instruction and event to `line` as text.
 */
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

  const report = (what: string, code: number, isNew = true): void => {
    if (isNew) summary.errors.add(code, decoder.offset);
    tracker?.end();
    if (options.json) {
      const ip = `0x${hex64Short(decoder.errorIpLo, decoder.errorIpHi)}`;
      line(JSON.stringify({ type: 'error', offset: decoder.offset, ip, what, code: flowErrorName(code) }));
      return;
    }
    const ip = hex64Short(decoder.errorIpLo, decoder.errorIpHi);
    line(`[${decoder.offset.toString(16)}, ${ip}: ${what}: ${flowErrorText(code)}]`);
  };

  /** The trace ends while tracing is on. */
  const sayEnd = (): void => {
    if (state.isEnabled && !options.json) say('[end of trace]');
  };

  let code = 0;
  let hasSynchronized = false;
  while ((code = decoder.synchronize()) !== FLOW_END) {
    hasSynchronized = true;
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
          return finish(summary, tracker, options.json ? line : null);
        summary.instructions++;
        if (tracker?.add(instruction) && options.blocks?.show)
          if (options.json) say(JSON.stringify({ type: 'block', number: tracker.count }));
          else say(options.countBlocks ? `[block ${tracker.count.toString(16)}]` : '[block]');
        if (options.quiet) continue;
        if (options.json) {
          const ip = `0x${hex64Short(instruction.ipLo, instruction.ipHi)}`;
          line(
            JSON.stringify({
              type: 'instruction',
              ip,
              ...(instruction.isSpeculative ? { speculative: true } : {}),
            }),
          );
          continue;
        }
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
        // Status events say where a decoder begins: nothing happened, and nothing is printed.
        if (!event.isStatus) summary.events++;
        if (event.kind === EVENT_OVERFLOW) summary.overflows++;
        if (options.json) {
          if (!event.isStatus) say(JSON.stringify(eventObject(event, before)));
        } else if (!event.isStatus) {
          const offset = options.offset ? `${before.toString(16).padStart(16, '0')}  ` : '';
          say(`[${offset}${formatEvent(event, eventText)}]`);
        }
        options.onEvent?.(event);
      } else if (code === FLOW_END) {
        sayEnd();
        return finish(summary, tracker, options.json ? line : null);
      } else {
        report('error', code);
        if (!options.resume) break;
        const { offset } = decoder;
        const failed = decoder.resume();
        if (failed === FLOW_END) {
          sayEnd();
          return finish(summary, tracker, options.json ? line : null);
        }
        if (failed !== 0) {
          // Printed also where it is the same packet again, which nothing gets past; but that was counted.
          report('resync error', failed, failed !== code || decoder.offset !== offset);
          break;
        }
      }
    }
  }
  // Bytes without any PSB are no trace.
  if (!hasSynchronized && decoder.offset > 0) summary.errors.add(FLOW_NO_SYNC, 0);
  return finish(summary, tracker, options.json ? line : null);
}

function finish(
  summary: FlowSummary,
  tracker: BlockTracker | null,
  line: ((text: string) => void) | null,
): FlowSummary {
  summary.blocks = tracker?.count ?? 0;
  const { instructions, blocks, events, overflows, errors } = summary;
  line?.(
    JSON.stringify({
      type: 'end',
      version: 1,
      instructions: String(instructions),
      ...(tracker === null ? {} : { blocks: String(blocks) }),
      events,
      overflows,
      errors: errors.list(),
    }),
  );
  return summary;
}

function eventObject(event: Readonly<FlowEvent>, offset: number): Record<string, unknown> {
  const text = formatEvent(event, { ip: true });
  const time = event.hasTime ? { tsc: `0x${hex64Short(event.timeLo, event.timeHi)}` } : {};
  return { type: 'event', offset, text, ...time };
}
