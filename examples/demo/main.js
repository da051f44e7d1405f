// A program to look at: six phases of about the same length that spend their time in different places.
// Every run does the same work and prints the same lines.
import { makeCatalogue, parseCatalogue } from './catalogue.js';
import { makeFormulas, solveFormulas } from './formulas.js';
import { packText } from './packing.js';
import { countQueens } from './queens.js';
import { checksum } from './random.js';
import { readFolder } from './reading.js';
import { sortCatalogue } from './sorting.js';

const books = makeCatalogue(4000);
const text = JSON.stringify(books);

function phase(name, work) {
  console.log(`${name.padEnd(9)} ${work()}`);
}

phase('catalogue', () => `${books.length} books, ${checksum(text)}`);
phase('parse', () => `${parseCatalogue(text, 75)} pages`);
phase('formulas', () => `total ${solveFormulas(makeFormulas(3000), 40)}`);
phase('sort', () => `order ${sortCatalogue(books, 110)}`);
phase('recurse', () => `${countQueens(14)} ways to place 14 queens`);
phase('compress', () => `${packText(text, 48)} bytes packed`);
phase('read', () => readFolder(books.slice(0, 400), 80));
