/** Numbers of the step table (step-table.ts says what they mean). Imports nothing, so that bundles inline them. */

export const EFFECT_GO = 1;
export const EFFECT_POP = 2;
export const EFFECT_STOP = 3;

export const EFFECT_KIND = 0;
export const EFFECT_REST = 1;
export const EFFECT_ROW = 2;
export const EFFECT_PEAK = 3;
export const EFFECT_PUSH_COUNT = 4;
export const EFFECT_PUSHES = 5;

/** A TNT byte without outcomes: what is left when all are used. */
export const NO_OUTCOMES = 2;

/** One less than RETURN_STACK_ENTRIES. */
export const ROW_STACK_MASK = 63;
