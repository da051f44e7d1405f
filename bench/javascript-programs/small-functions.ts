// Small functions, as TypeScript's compiler writes them for old engines: `node small-functions.js ROUNDS`.
interface Word {
  text: string;
  count: number;
}

class Matrix {
  readonly cells: number[] = [];
  readonly width: number;
  constructor(width: number) {
    this.width = width;
  }
  get(row: number, column: number): number {
    return this.cells[row * this.width + column] ?? 0;
  }
  set(row: number, column: number, value: number): void {
    this.cells[row * this.width + column] = value;
  }
}

const smaller = (one: number, other: number) => Math.min(one, other);
const least = (...values: number[]) => values.reduce((one, other) => smaller(one, other));

function levenshtein(one: string, other: string): number {
  const matrix = new Matrix(other.length + 1);
  for (let row = 0; row <= one.length; row++) matrix.set(row, 0, row);
  for (let column = 0; column <= other.length; column++) matrix.set(0, column, column);
  for (let row = 1; row <= one.length; row++)
    for (let column = 1; column <= other.length; column++) {
      const isSame = one.charCodeAt(row - 1) === other.charCodeAt(column - 1);
      matrix.set(
        row,
        column,
        least(
          matrix.get(row - 1, column) + 1,
          matrix.get(row, column - 1) + 1,
          matrix.get(row - 1, column - 1) + (isSame ? 0 : 1),
        ),
      );
    }
  return matrix.get(one.length, other.length);
}

const letter = (seed: number) => String.fromCharCode(97 + (seed % 26));
const wordOf = (seed: number) =>
  Array.from({ length: 4 + (seed % 5) }, (_, at) => letter(seed * 31 + at * seed)).join('');

function* words(n: number): Generator<Word> {
  for (let seed = 0; seed < n; seed++) yield { text: wordOf(seed), count: seed % 7 };
}

function nearest(word: Word, all: readonly Word[]): Word {
  let best = { word, distance: Number.POSITIVE_INFINITY };
  for (const other of all) {
    const distance = levenshtein(word.text, other.text) - (other.count > 3 ? 1 : 0);
    if (other !== word && distance < best.distance) best = { word: other, distance };
  }
  return best.word;
}

let sum = 0;
for (let round = 0; round < Number(process.argv[2]); round++) {
  const all = [...words(60)];
  for (const word of all) sum += nearest({ ...word }, all).count;
}
console.log(sum);
