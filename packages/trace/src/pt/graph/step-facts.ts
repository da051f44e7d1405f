/**
 * Numbers of the step table (step-table.ts says what they mean). Imports
 * nothing, so that bundles inline them.
 */

// A step, as a number. 0: not worked out yet.
/** The call of the return that it ends with came before it. */
export const STEP_POP = 1;
/** Outcomes that are left, as a TNT byte; 0: none. */
export const STEP_REST_MASK = 0xfe;
export const STEP_ROW_MASK = 0xff_ff00;
export const STEP_PUSHES_SHIFT = 24;
export const STEP_PUSHES_MASK = 3;
export const STEP_PEAK_SHIFT = 26;
export const STEP_PEAK_MASK = 15;
export const STEP_STOP: number = 1 << 30;
/** The sign: pushes and peak are in its record. */
export const STEP_RARE: number = 1 << 31;

// Its record in `effects`.
export const EFFECT_COUNT = 0;
export const EFFECT_PUSHES = 1;
/** Records are multiples of this long. */
export const EFFECT_LENGTH = 4;
export const EFFECT_SHIFT = 2;
/** Pushes that the inner loop does without asking how many there are; with more it is STEP_RARE. */
export const MOST_USUAL_PUSHES = 3;

// The record of a rare step.
export const EFFECT_RARE_FACTS = 1;
export const EFFECT_RARE_PUSHES = 2;
export const RARE_PUSHES_MASK = 0xff;
export const RARE_PEAK_SHIFT = 8;

/** A TNT byte without outcomes: what is left when all are used. */
export const NO_OUTCOMES = 2;

/** Of twice RETURN_STACK_ENTRIES: what the inner loop writes above the top must not be the oldest calls. */
export const ROW_STACK_MASK = 127;

/** What a step leaves, as a TNT byte. */
export function restOf(step: number): number {
  const rest = step & STEP_REST_MASK;
  return rest === 0 ? NO_OUTCOMES : rest;
}
