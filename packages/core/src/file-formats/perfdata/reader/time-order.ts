/**
 * Stable order of `times[0..count)`: fills `order` with indices. Records come as a few ascending runs (one
 * ring after the other), so runs are found first and merged pairwise:
 *
 *   times   1 4 7 | 2 3 9 | 5 6        3 runs
 *   pass 1  1 2 3 4 7 9 | 5 6
 *   pass 2  1 2 3 4 5 6 7 9
 */
export function orderByTime(
  times: Float64Array,
  count: number,
  order: Int32Array,
  spare: Int32Array,
): Int32Array {
  const starts: number[] = [];
  for (let i = 0; i < count; i++) {
    order[i] = i;
    if (i === 0 || times[i]! < times[i - 1]!) starts.push(i);
  }
  let from = order;
  let to = spare;
  while (starts.length > 1) {
    let kept = 0;
    for (let run = 0; run < starts.length; run += 2) {
      const a = starts[run]!;
      const b = starts[run + 1] ?? count;
      const end = starts[run + 2] ?? count;
      mergeRuns(times, from, to, a, b, end);
      starts[kept++] = a;
    }
    starts.length = kept;
    [from, to] = [to, from];
  }
  return from;
}

function mergeRuns(
  times: Float64Array,
  from: Int32Array,
  to: Int32Array,
  a: number,
  b: number,
  end: number,
): void {
  let left = a;
  let right = b;
  let out = a;
  while (left < b && right < end) {
    const leftIndex = from[left]!;
    const rightIndex = from[right]!;
    if (times[rightIndex]! < times[leftIndex]!) {
      to[out++] = rightIndex;
      right++;
    } else {
      to[out++] = leftIndex;
      left++;
    }
  }
  while (left < b) to[out++] = from[left++]!;
  while (right < end) to[out++] = from[right++]!;
}
