/** A stretch of a file. */
export interface Section {
  offset: number;
  size: number;
}

/**
 * The sections that share no byte with another, as many as there can be, in order of place. The others are
 * given to `onOverlap`: no writer lets two sections share bytes, and where they may, a small file could be
 * read a thousand times over. Of two that overlap the one that ends first stays, so that one wrong size
 * does not take all others with it.
 *
 *   a  [==================)     goes
 *   b     [======)              stays
 *   c           [===)           stays
 */
export function withoutOverlaps<T extends Section>(
  sections: readonly T[],
  onOverlap: (section: T) => void,
): T[] {
  const sorted = sections.filter(({ size }) => size > 0).sort((a, b) => a.offset - b.offset);
  const apart: T[] = [];
  for (const section of sorted) {
    const last = apart.at(-1);
    if (last === undefined || section.offset >= endOf(last)) apart.push(section);
    else if (endOf(section) < endOf(last)) {
      onOverlap(last);
      apart[apart.length - 1] = section;
    } else onOverlap(section);
  }
  return [...apart, ...sections.filter(({ size }) => size <= 0)];
}

function endOf({ offset, size }: Section): number {
  return offset + size;
}
