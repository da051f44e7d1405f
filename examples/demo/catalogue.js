import { makeRandom } from './random.js';

const TOPICS = ['gears', 'clocks', 'looms', 'mills', 'organs', 'locks', 'pumps', 'presses'];

/** A catalogue of invented books. */
export function makeCatalogue(count) {
  const random = makeRandom(20);
  return Array.from({ length: count }, (_, id) => ({
    id,
    title: `On ${TOPICS[random(TOPICS.length)]} and ${TOPICS[random(TOPICS.length)]}, volume ${random(40)}`,
    year: 1600 + random(400),
    pages: 40 + random(900),
    shelf: { room: random(12), row: random(30), place: random(200) },
    topics: [TOPICS[random(TOPICS.length)], TOPICS[random(TOPICS.length)]],
  }));
}

/** JSON there and back, and something done with it in between. */
export function parseCatalogue(text, rounds) {
  let pages = 0;
  let current = text;
  for (let round = 0; round < rounds; round++) {
    const books = JSON.parse(current);
    pages += countPages(books, 1600 + round * 7);
    current = JSON.stringify(books);
  }
  return pages;
}

function countPages(books, since) {
  let pages = 0;
  for (const book of books) if (book.year >= since && book.topics.includes('clocks')) pages += book.pages;
  return pages;
}
