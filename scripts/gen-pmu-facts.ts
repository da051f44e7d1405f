/**
 * Makes `packages/core/src/events/pmus/generated/facts.ts` from the tables of `events/pmus/facts`:
 * tab-separated, `#` begins a comment, the first line names the columns. A column of numbers is one whose
 * every cell is a number. `--check` fails where the file is not what would be made.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { writeGenerated } from './write-generated.ts';

const ROOM = 'packages/core/src/events/pmus';
const NUMBER = /^(?:0x[0-9a-f]+|\d+)$/;

function tableOf(file: string): string {
  const lines = readFileSync(`${ROOM}/facts/${file}`, 'utf8').split('\n');
  const comments = lines.filter((line) => line.startsWith('#')).map((line) => line.slice(2));
  const [head, ...rows] = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'));
  if (head === undefined) throw new Error(`${file} has no columns`);
  const crooked = rows.find((row) => row.length !== head.length);
  if (crooked !== undefined)
    throw new Error(`${file}: ${crooked.length} cells, not ${head.length}: ${crooked.join(' | ')}`);
  const isNumber = head.map((_, column) => rows.every((row) => NUMBER.test(row[column]!)));
  const type = head.map((name, column) => `${name}: ${isNumber[column] ? 'number' : 'string'}`).join(', ');
  const cell = (text: string, column: number) => (isNumber[column] ? text : JSON.stringify(text));
  const name = `${file.slice(0, -'.tsv'.length).replaceAll('-', '_').toUpperCase()}_ROWS`;
  return [
    `/** ${comments.join(' ')} */`,
    `export const ${name}: readonly (readonly [${type}])[] = [`,
    ...rows.map((row) => `  [${row.map(cell).join(', ')}],`),
    '];\n',
  ].join('\n');
}

const files = readdirSync(`${ROOM}/facts`)
  .filter((name) => name.endsWith('.tsv'))
  .sort();
writeGenerated(
  `${ROOM}/generated/facts.ts`,
  `/** Made by scripts/gen-pmu-facts.ts from the tables of pmus/facts. Change those. */\n\n${files.map(tableOf).join('\n')}`,
  'the tables of pmus/facts say. Run: npx tsx scripts/gen-pmu-facts.ts',
);
