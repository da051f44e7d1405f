/** Sizes in CSS pixels that the still picture and the page share. */

export const ROW = 18;
export const FONT = 12;

/**
 * Width of a column in the usual monospaced fonts (DejaVu, Liberation, Menlo: 0.602
 * em). The page measures its own.
 */
export const COLUMN = 7.23;

/** Baseline of a box's text below its top. */
export const BASELINE = 13;

/** Height of the strip that stands for callees that are not in the file. */
const STRIP = 4;

/** A box as a path, on whole pixels, a pixel short of its neighbours where it is wide enough. */
export function boxPath(left: number, right: number, top: number): string {
  const x = Math.round(left);
  const width = Math.round(right) - x;
  return `M${x} ${top}h${width > 2 ? width - 1 : Math.max(1, width)}v${ROW - 1}H${x}z`;
}

/**
 * The strip beside the callees of a box whose row begins at `top`, on the side of that
 * box; empty where it has no width.
 */
export function stripPath(left: number, right: number, top: number, isIcicle: boolean): string {
  const x = Math.round(left);
  const width = Math.round(right) - x - 1;
  if (width < 1) return '';
  return `M${x} ${isIcicle ? top : top + ROW - 1 - STRIP}h${width}v${STRIP}H${x}z`;
}
