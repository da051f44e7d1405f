import { makeRandom } from './random.js';

/** Written out, to have something of our own in the picture beside V8's sort. */
function mergeSort(items, compare) {
  if (items.length < 2) return items;
  const middle = items.length >> 1;
  return merge(mergeSort(items.slice(0, middle), compare), mergeSort(items.slice(middle), compare), compare);
}

function merge(left, right, compare) {
  const merged = [];
  let l = 0;
  let r = 0;
  while (l < left.length && r < right.length) {
    merged.push(compare(left[l], right[r]) <= 0 ? left[l++] : right[r++]);
  }
  while (l < left.length) merged.push(left[l++]);
  while (r < right.length) merged.push(right[r++]);
  return merged;
}

function byTitle(a, b) {
  return a.title < b.title ? -1 : a.title > b.title ? 1 : a.id - b.id;
}

function byShelf(a, b) {
  return (
    a.shelf.room - b.shelf.room || a.shelf.row - b.shelf.row || a.shelf.place - b.shelf.place || a.id - b.id
  );
}

function shuffle(items, seed) {
  const random = makeRandom(seed);
  const shuffled = items.slice();
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = random(i + 1);
    [shuffled[i], shuffled[j]] = [shuffled[j], shuffled[i]];
  }
  return shuffled;
}

export function sortCatalogue(books, rounds) {
  let order = 0;
  for (let round = 1; round <= rounds; round++) {
    const shuffled = shuffle(books, round);
    const titles = mergeSort(shuffled, byTitle);
    const shelves = shuffled.sort(byShelf);
    order = (order * 31 + titles[round].id + shelves[round].id) % 1e9;
  }
  return order;
}
