/**
 * `npm run compatibility`: runs the same programs by each Node of `.nodes` (`npm run nodes`), and writes what
 * is named right into `docs/compatibility.md`. `npm run compatibility -- 24` runs one, and prints it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { NODE_VERSIONS, nodeProgram } from '../other-nodes.ts';
import { type Column, columnOf, tableText } from './table.ts';

const PAGE = 'docs/compatibility.md';
const TABLE = /^\|.*\n(?:\|.*\n)+/m;

const wanted = process.argv[2];
const columns = new Map<string, Column>();
for (const version of NODE_VERSIONS) {
  if (wanted !== undefined && !version.startsWith(wanted)) continue;
  const node = nodeProgram(version);
  if (!existsSync(node)) throw new Error(`${node} is not there. Run npm run nodes.`);
  const found = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
  columns.set(`Node ${found}`, await columnOf(node));
  console.log(`\n${tableText(new Map([...columns].slice(-1)))}`);
}
if (wanted === undefined)
  writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(TABLE, `${tableText(columns)}\n`));
