import { RETURN_STACK_ENTRIES } from '../flow/return-stack.ts';
import { PT_CYC_MORE, PT_CYC_NEXT_MORE } from '../opcodes.ts';
import type { RowStack } from './row-stack.ts';
import {
  EFFECT_KIND,
  EFFECT_PEAK,
  EFFECT_POP,
  EFFECT_PUSH_COUNT,
  EFFECT_PUSHES,
  EFFECT_REST,
  EFFECT_ROW,
  EFFECT_STOP,
  NO_OUTCOMES,
  ROW_STACK_MASK,
} from './step-facts.ts';

/** What becomes of CYC packets: passed over, left to whoever keeps the time, or written into the log as CYCLES_LOGGED - cycles. */
export const CYC_SKIP = 0;
export const CYC_STOP = 1;
export const CYC_LOG = 2;
/** In the log nodes are negative, and far above this. */
export const CYCLES_LOGGED: number = -(2 ** 30);

/** Where `runSteps` begins, and where it ended. */
export class StepRegisters {
  /** Offset of the next packet, bytes. */
  position = 0;
  /** Row of the node that is next. */
  row = 0;
  /** What is left of the TNT byte before `position`, as a TNT byte. */
  outcomes = NO_OUTCOMES;
  /** Entries of the log that are used. */
  logged = 0;
}

/**
 * The loop that nearly all bytes of a trace go through: TNT-8 packets whose steps are known, and CYC, which says nothing of the
 * flow. It ends before anything else, PAD among it: its index is 0, where no step is. GraphEngine has all of it in full, and
 * goes on there.
 *
 * Steps are counted in the table, or, where `log` has a length, written down in order until it is full. `cyc` is CYC_*.
 */
export function runSteps(
  bytes: Uint8Array,
  end: number,
  table: Int32Array,
  effects: Int32Array,
  calls: RowStack,
  registers: StepRegisters,
  log: Int32Array,
  cyc: number,
): void {
  const stack = calls.rows;
  let { top, depth } = calls;
  let { position, row, outcomes, logged } = registers;
  const mostLogged = log.length - 1;
  const isLogging = log.length > 0;
  for (;;) {
    if (outcomes === NO_OUTCOMES) {
      if (position >= end) break;
      const byte = bytes[position]!;
      if ((byte & 1) !== 0) {
        if ((byte & 3) !== 3 || cyc === CYC_STOP) break;
        if (cyc === CYC_LOG) {
          if (logged > mostLogged) break;
          let cycles = byte >>> 3;
          if ((byte & PT_CYC_MORE) !== 0) {
            // Longer than two bytes is rare enough to be done in full.
            const second = position + 1 < end ? bytes[position + 1]! : PT_CYC_NEXT_MORE;
            if ((second & PT_CYC_NEXT_MORE) !== 0) break;
            cycles |= (second >>> 1) << 5;
            position++;
          }
          position++;
          log[logged++] = CYCLES_LOGGED - cycles;
          continue;
        }
        const after = skipCyc(bytes, position, end, byte);
        if (after > end) break;
        position = after;
        continue;
      }
      // Nearly always: a step that is known and leaves the calls alone. The rest of the loop does it as well.
      const slot = row + byte;
      const next = table[slot]!;
      if (next > 0 && (!isLogging || logged <= mostLogged)) {
        if (isLogging) log[logged++] = slot;
        else table[slot + 1] = table[slot + 1]! + 1;
        row = next;
        position++;
        continue;
      }
      if (next === 0) break;
      outcomes = byte;
      position++;
    }
    const slot = row + outcomes;
    const next = table[slot]!;
    if (next === 0) break;
    if (isLogging && logged > mostLogged) break;
    if (next > 0) {
      row = next;
      outcomes = NO_OUTCOMES;
    } else {
      const kind = effects[EFFECT_KIND - next]!;
      if (kind === EFFECT_STOP || (kind === EFFECT_POP && depth === 0)) break;
      const room = RETURN_STACK_ENTRIES - effects[EFFECT_PEAK - next]!;
      if (depth > room) depth = room;
      const firstPush = EFFECT_PUSHES - next;
      const lastPush = firstPush + effects[EFFECT_PUSH_COUNT - next]!;
      for (let push = firstPush; push < lastPush; push++) {
        stack[top] = effects[push]!;
        top = (top + 1) & ROW_STACK_MASK;
        depth++;
      }
      if (kind === EFFECT_POP) {
        depth--;
        top = (top - 1) & ROW_STACK_MASK;
        row = stack[top]!;
      } else row = effects[EFFECT_ROW - next]!;
      outcomes = effects[EFFECT_REST - next]!;
    }
    if (isLogging) log[logged++] = slot;
    else table[slot + 1] = table[slot + 1]! + 1;
  }
  calls.top = top;
  calls.depth = depth;
  registers.position = position;
  registers.row = row;
  registers.outcomes = outcomes;
  registers.logged = logged;
}

/** Longer ones may be too long to be any: `readPacket` knows. */
const MOST_CYC_BYTES = 4;

/** Offset behind a CYC packet; beyond `end` where it goes on there, or is very long. */
function skipCyc(bytes: Uint8Array, position: number, end: number, first: number): number {
  let at = position + 1;
  if ((first & PT_CYC_MORE) === 0) return at;
  const most = Math.min(end, position + MOST_CYC_BYTES);
  while (at < most) if ((bytes[at++]! & PT_CYC_NEXT_MORE) === 0) return at;
  return end + 1;
}
