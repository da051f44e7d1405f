import { RETURN_STACK_ENTRIES } from '../flow/return-stack.ts';
import type { LastIp } from '../packets/last-ip.ts';
import {
  PT_COMPRESSION_SHIFT,
  PT_CYC_MORE,
  PT_CYC_NEXT_MORE,
  PT_IP_MASK,
  PT_IP_SEXT_48,
  PT_IP_UPDATE_16,
  PT_IP_UPDATE_32,
  PT_TIP,
} from '../packets/opcodes.ts';
import {
  EDGE_CALLS,
  EDGE_CALLS_MASK,
  EDGE_COUNT,
  EDGE_HASH,
  EDGE_HASH_ROW,
  EDGE_HI,
  EDGE_LENGTH,
  EDGE_LO,
  EDGE_NEXT,
  EDGE_NODE,
  EDGE_SHIFT,
  type EdgeCache,
} from './edge-cache.ts';
import type { RowStack } from './row-stack.ts';
import {
  EFFECT_COUNT,
  EFFECT_PUSHES,
  EFFECT_RARE_FACTS,
  EFFECT_RARE_PUSHES,
  NO_OUTCOMES,
  RARE_PEAK_SHIFT,
  RARE_PUSHES_MASK,
  ROW_STACK_MASK,
  STEP_PEAK_MASK,
  STEP_PEAK_SHIFT,
  STEP_POP,
  STEP_PUSHES_MASK,
  STEP_PUSHES_SHIFT,
  STEP_REST_MASK,
  STEP_ROW_MASK,
  STEP_STOP,
} from './step-facts.ts';

/**
 * What becomes of CYC packets: passed over, left to whoever keeps the time, or written into the
 * log as CYCLES_LOGGED - cycles.
 */
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
 * The loop that nearly all bytes of a trace go through: TNT-8 packets whose steps are known, TIP whose edges
 * are, and CYC, which says nothing of the flow. It ends before anything else, PAD among it: its index is 0,
 * where no step is. GraphEngine has all of it in full, and goes on there.
 *
 * Steps are counted in the table, or, where `log` has a length, written down in order
 * until it is full. `cyc` is CYC_*.
 */
export function runSteps(
  bytes: Uint8Array,
  end: number,
  table: Int32Array,
  effects: Int32Array,
  calls: RowStack,
  registers: StepRegisters,
  edges: EdgeCache,
  lastIp: LastIp,
  log: Int32Array,
  cyc: number,
): void {
  const stack = calls.rows;
  let { top, depth } = calls;
  let { position, row, logged } = registers;
  const mostLogged = log.length - 1;
  const isLogging = log.length > 0;
  const { records, shift } = edges;
  const lastRecord = records.length - 1;
  let { lo: ipLo, hi: ipHi } = lastIp;
  let hasTarget = false;
  // Outcomes that are left, and what of the byte at `position` is looked at then: nothing.
  let rest = registers.outcomes === NO_OUTCOMES ? 0 : registers.outcomes;
  let mask = rest === 0 ? 0xff : 0;
  for (;;) {
    let byte = rest;
    if (position < end) byte |= bytes[position]! & mask;
    else if (rest === 0) break;
    if ((byte & 1) !== 0) {
      if ((byte & PT_IP_MASK) === PT_TIP) {
        const compression = byte >>> PT_COMPRESSION_SHIFT;
        let lo = 0;
        let hi = ipHi;
        let after = position;
        if (compression === PT_IP_UPDATE_16) {
          after += 3;
          if (after > end) break;
          lo = (ipLo & ~0xffff) | bytes[position + 1]! | (bytes[position + 2]! << 8);
        } else if (compression === PT_IP_UPDATE_32 || compression === PT_IP_SEXT_48) {
          after += compression === PT_IP_UPDATE_32 ? 5 : 7;
          if (after > end) break;
          lo =
            bytes[position + 1]! |
            (bytes[position + 2]! << 8) |
            (bytes[position + 3]! << 16) |
            (bytes[position + 4]! << 24);
          if (compression === PT_IP_SEXT_48)
            hi = ((bytes[position + 5]! << 16) | (bytes[position + 6]! << 24)) >> 16;
        } else break;
        let at = (Math.imul(lo ^ Math.imul(row, EDGE_HASH_ROW), EDGE_HASH) >>> shift) << EDGE_SHIFT;
        let from = records[at]!;
        while (from !== 0 && (from !== row || records[at + EDGE_LO] !== lo || records[at + EDGE_HI] !== hi)) {
          at = (at + EDGE_LENGTH) & lastRecord;
          from = records[at]!;
        }
        if (from === 0) break;
        if (!isLogging) records[at + EDGE_COUNT] = records[at + EDGE_COUNT]! + 1;
        else if (logged > mostLogged) break;
        else log[logged++] = records[at + EDGE_NODE]!;
        const next = records[at + EDGE_NEXT]!;
        row = next & ~EDGE_CALLS_MASK;
        // As above: written whether there are any or not.
        const pushes = next & EDGE_CALLS_MASK;
        stack[top] = records[at + EDGE_CALLS]!;
        stack[(top + 1) & ROW_STACK_MASK] = records[at + EDGE_CALLS + 1]!;
        top = (top + pushes) & ROW_STACK_MASK;
        depth += pushes;
        if (depth > RETURN_STACK_ENTRIES) depth = RETURN_STACK_ENTRIES;
        ipLo = lo;
        ipHi = hi;
        hasTarget = true;
        position = after;
        continue;
      }
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
    const slot = row + byte;
    const step = table[slot]!;
    if (step === 0) break;
    const pops = step & STEP_POP;
    // Of the rest nothing depends on what kind of step it is, and what is next on
    // nothing but this one number.
    if (depth < pops || (step & STEP_STOP) !== 0) break;
    const effect = table[slot + 1]!;
    if (!isLogging) effects[effect + EFFECT_COUNT] = effects[effect + EFFECT_COUNT]! + 1;
    else if (logged > mostLogged) break;
    else log[logged++] = slot;
    // Who pops pushes nothing.
    const called = stack[(top - 1) & ROW_STACK_MASK]!;
    let pushes = (step >>> STEP_PUSHES_SHIFT) & STEP_PUSHES_MASK;
    let peak = (step >>> STEP_PEAK_SHIFT) & STEP_PEAK_MASK;
    if (step >= 0) {
      // What is written above the top is not used.
      stack[top] = effects[effect + EFFECT_PUSHES]!;
      stack[(top + 1) & ROW_STACK_MASK] = effects[effect + EFFECT_PUSHES + 1]!;
      stack[(top + 2) & ROW_STACK_MASK] = effects[effect + EFFECT_PUSHES + 2]!;
    } else {
      const facts = effects[effect + EFFECT_RARE_FACTS]!;
      pushes = facts & RARE_PUSHES_MASK;
      peak = facts >>> RARE_PEAK_SHIFT;
      for (let push = 0; push < pushes; push++)
        stack[(top + push) & ROW_STACK_MASK] = effects[effect + EFFECT_RARE_PUSHES + push]!;
    }
    const room = RETURN_STACK_ENTRIES - peak;
    if (depth > room) depth = room;
    top = (top + pushes - pops) & ROW_STACK_MASK;
    depth += pushes - pops;
    row = step & STEP_ROW_MASK;
    row ^= (row ^ called) & -pops;
    position += mask & 1;
    rest = step & STEP_REST_MASK;
    mask = ((rest - 1) >> 8) & 0xff;
  }
  if (hasTarget) lastIp.set(ipLo, ipHi);
  calls.top = top;
  calls.depth = depth;
  registers.position = position;
  registers.row = row;
  registers.outcomes = rest === 0 ? NO_OUTCOMES : rest;
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
