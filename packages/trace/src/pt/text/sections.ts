/**
 * The outer form of a trace program: keywords at the beginning of a line, statements below them or behind.
 */
import { didYouMean, nearestNames } from '@counterpoint/core/base';
import type { Complain } from './assembler.ts';

export interface Statement {
  readonly line: number;
  readonly text: string;
}

export interface Section {
  readonly line: number;
  readonly keyword: string;
  /** What stands behind the keyword, and the lines below. */
  readonly statements: Statement[];
}

const KEYWORDS = ['title', 'cpu', 'time', 'options', 'code', 'trace', 'packets', 'flow'];
export function splitSections(text: string, complain: Complain): Section[] {
  const sections: Section[] = [];
  let present: Section | null = null;
  text.split('\n').forEach((raw, index) => {
    const line = index + 1;
    const content = raw.replace(/#.*/, '').trimEnd();
    if (content.trim() === '') return;
    let body = content;
    if (/^\S/.test(content)) {
      const [keyword = '', ...rest] = content.split(/\s+/);
      if (!KEYWORDS.includes(keyword))
        complain(
          line,
          `no section '${keyword}'${didYouMean(nearestNames(keyword, KEYWORDS, 1))}`,
          'Indent the lines of a section.',
        );
      present = { line, keyword, statements: [] };
      sections.push(present);
      body = rest.join(' ');
      if (keyword === 'code') {
        present.statements.push({ line, text: body });
        return;
      }
    }
    if (present === null) complain(line, 'this line belongs to no section');
    for (const piece of body.split(';'))
      if (piece.trim() !== '') present!.statements.push({ line, text: piece.trim().replace(/\s+/g, ' ') });
  });
  return sections;
}
