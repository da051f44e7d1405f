/** Widest padding of a column where nobody says how wide the paper is: a pipe, a file. */
const MOST_COLUMNS = 100;

const GAP = 2;

/**
 * How wide the columns of a table are. One name of C++ may have a thousand letters: a column as wide as it
 * would fill every other row with blanks. So a column is no wider than what it has room for; longer cells run
 * over their column, whole, and push what follows in their own row. The last column is not padded at all.
 */
export function columnWidths(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  terminalColumns: number,
): number[] {
  const natural = titles.map((title, at) =>
    rows.reduce((width, row) => Math.max(width, row[at]!.length), title.length),
  );
  return natural.map((width, at) => {
    const others = natural.reduce(
      (sum, other, place) => (place === at ? sum : sum + Math.min(other, MOST_COLUMNS) + GAP),
      0,
    );
    const room = terminalColumns > 0 ? terminalColumns - others - MARGIN : MOST_COLUMNS;
    return Math.min(width, Math.max(titles[at]!.length, LEAST_COLUMNS, Math.min(room, MOST_COLUMNS)));
  });
}

/** Before the first column. */
const MARGIN = 2;
/** Narrower than this, most names would run over. */
const LEAST_COLUMNS = 24;
