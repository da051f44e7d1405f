import { printableText } from '@counterpoint/core/base';

/** Functions that mark text. The marks become escape sequences in `Output`; elsewhere they are of no use. */
export interface Styles {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
}

/**
 * Made anew in each process: text that was written before it, or by another process, cannot hold our marks.
 * So an escape sequence in a name stays text, also one that looks just like ours.
 */
const KEY = `\x1b${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
const MARKS = new RegExp(`${KEY}(\\d+);`, 'g');

const same = (text: string) => text;
const sgr = (on: number, off: number) => (text: string) => `${KEY}${on};${text}${KEY}${off};`;

export const PLAIN: Styles = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same };
export const STYLED: Styles = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  red: sgr(31, 39),
  green: sgr(32, 39),
  yellow: sgr(33, 39),
  cyan: sgr(36, 39),
};

/**
 * Text as a terminal may get it: what it would obey is shown as `\x1b`, and our marks are
 * escape sequences (SGR, ECMA-48).
 */
export function terminalText(text: string): string {
  if (!text.includes(KEY)) return printableText(text);
  let safe = '';
  let at = 0;
  for (const mark of text.matchAll(MARKS)) {
    safe += `${printableText(text.slice(at, mark.index))}\x1b[${mark[1]}m`;
    at = mark.index + mark[0].length;
  }
  return safe + printableText(text.slice(at));
}

/**
 * NO_COLOR (no-color.org) and FORCE_COLOR (as Node reads it: 0 and false are no) decide, then the terminal.
 */
export function colorsWanted(isTerminal: boolean, env: Record<string, string | undefined>): boolean {
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return false;
  return isTerminal && env['TERM'] !== 'dumb';
}
