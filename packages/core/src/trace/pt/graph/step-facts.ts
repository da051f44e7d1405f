/** Numbers of the step table (step-table.ts says what they mean). Imports nothing, so that bundles inline them. */

// A record of `effects`.
export const EFFECT_FACTS = 0;
export const EFFECT_ROW = 1;
export const EFFECT_PUSHES = 2;
/** Records are multiples of this long. */
export const EFFECT_LENGTH = 8;
/** Pushes that the inner loop does without asking how many there are; with more it is FACT_RARE. */
export const MOST_USUAL_PUSHES = 3;

// Its facts: how many calls it pushes, and
export const FACT_PUSHES_MASK = 0x7f;
export const FACT_POP_SHIFT = 7;
/** Outcomes that are left, as a TNT byte; 0: none. */
export const FACT_REST_SHIFT = 8;
export const FACT_STOP: number = 1 << 16;
/** Set where no outcomes are left: the next byte is looked at. */
export const FACT_ALL_USED_SHIFT = 17;
export const FACT_PEAK_SHIFT = 18;
export const FACT_PEAK_MASK = 0x7f;
/** The sign. */
export const FACT_RARE: number = 1 << 31;

/** A TNT byte without outcomes: what is left when all are used. */
export const NO_OUTCOMES = 2;

/** Of twice RETURN_STACK_ENTRIES: what the inner loop writes above the top must not be the oldest calls. */
export const ROW_STACK_MASK = 127;

/** What is left, as a TNT byte. */
export function restOf(facts: number): number {
  const rest = (facts >>> FACT_REST_SHIFT) & 0xff;
  return rest === 0 ? NO_OUTCOMES : rest;
}
