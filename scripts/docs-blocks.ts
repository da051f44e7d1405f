import { readFileSync } from 'node:fs';
import { globSync } from './glob.ts';

/** A fenced block of a page. */
export interface DocsBlock {
  page: string;
  /** Of its first line in the page, from 1. */
  line: number;
  language: string;
  text: string;
}

export const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync(['docs'], /\.md$/),
  ...['core', 'node', 'trace'].map((name) => `packages/${name}/README.md`),
].filter((path) => !/node_modules|docs\/api\//.test(path));

export function blocksOf(page: string): DocsBlock[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(/^```(\w*)[^\n]*\n(.*?)^```/gms)].map(({ 1: language, 2: block, index }) => ({
    page,
    line: text.slice(0, index).split('\n').length + 1,
    language: language!,
    text: block!,
  }));
}

export const placeOf = ({ page, line }: DocsBlock): string => `${page}:${line}`;
