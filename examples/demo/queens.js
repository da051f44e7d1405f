/** In how many ways `size` queens stand on a board without seeing each other. */
export function countQueens(size) {
  return placeQueen(size, 0, 0, 0, 0);
}

function placeQueen(size, row, columns, leftDiagonals, rightDiagonals) {
  if (row === size) return 1;
  let ways = 0;
  let free = ~(columns | leftDiagonals | rightDiagonals) & ((1 << size) - 1);
  while (free !== 0) {
    const place = free & -free;
    free ^= place;
    ways += placeQueen(
      size,
      row + 1,
      columns | place,
      (leftDiagonals | place) << 1,
      (rightDiagonals | place) >> 1,
    );
  }
  return ways;
}
