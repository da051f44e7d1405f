/** Sizes in CSS pixels. */

export const WIDTH = 1200;
export const MARGIN = 16;
export const INNER_WIDTH = WIDTH - 2 * MARGIN;
/** Average width of a letter of the proportional font, with a reserve. */
export const LETTER = 6.7;
