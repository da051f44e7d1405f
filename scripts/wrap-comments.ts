/**
 * Comments are at most 110 columns wide, as the code is. Without a word this lists those that are wider;
 * `--write` breaks their paragraphs anew. Lists, tags, pictures and indented examples stay as they are.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { globSync } from './glob.ts';
import { wideComments, wrapComments } from './wrap-comments-text.ts';

const write = process.argv.includes('--write');
const wide: string[] = [];
for (const path of globSync(['packages', 'scripts', 'bench', 'examples'], /\.m?[jt]s$/)) {
  if (/\/(?:dist|generated|node_modules)\//.test(path)) continue;
  const text = readFileSync(path, 'utf8');
  const wrapped = write ? wrapComments(text) : text;
  if (wrapped !== text) writeFileSync(path, wrapped);
  wide.push(...wideComments(wrapped).map((line) => `  ${path}:${line}`));
}
if (wide.length > 0) {
  console.error(`Comments wider than 110 columns (npm run fix breaks most of them):\n${wide.join('\n')}`);
  process.exit(1);
}
