const COLUMNS = 110;
const LEAST_COLUMNS = 80;
const LEAST_LAST_COLUMNS = 32;

/** A line of its own in a comment: indentation, the marker (`*` or `//`), the text behind it. */
const LINE = /^(\s*)(\*|\/\/)(?:$| (.*)$)/;
const ONE_LINE = /^(\s*)\/\*\* (.*) \*\/$/;
/** The beginning of what is no prose, or of a paragraph of its own. */
const FIXED = /^(?:\s|@|[-*+|>#=]|\d+[.)]\s|```|[^\w\s"'`({[]*$|\w+:$)/;
/** What tools read. */
const DIRECTIVE = /^(?:biome-ignore|@ts-|eslint|#)/;

/** Line numbers, from 1, of comments on lines of their own that are too wide and could be broken. */
export function wideComments(text: string): number[] {
  return text.split('\n').flatMap((line, index) => (isWide(line) ? [index + 1] : []));
}

function isWide(line: string): boolean {
  if (line.length <= COLUMNS) return false;
  const prose = ONE_LINE.exec(line)?.[2] ?? LINE.exec(line)?.[3];
  // A word, an address or a picture may be as long as it is.
  return prose !== undefined && !FIXED.test(prose) && !DIRECTIVE.test(prose) && prose.includes(' ');
}

export function wrapComments(text: string): string {
  const lines = text.split('\n');
  const out: string[] = [];
  for (let i = 0; i < lines.length; ) {
    const end = paragraphEnd(lines, i);
    const paragraph = lines.slice(i, end);
    out.push(...(paragraph.some(isWide) ? wrapParagraph(paragraph) : paragraph));
    i = end;
  }
  return out.join('\n');
}

/** Where the paragraph of prose that begins at a line ends; the next line where none begins. */
function paragraphEnd(lines: readonly string[], start: number): number {
  const first = LINE.exec(lines[start]!);
  let end = start + 1;
  if (first?.[3] === undefined || FIXED.test(first[3]) || DIRECTIVE.test(first[3])) return end;
  for (; end < lines.length; end++) {
    const next = LINE.exec(lines[end]!);
    if (next?.[3] === undefined || next[1] !== first[1] || next[2] !== first[2]) break;
    if (FIXED.test(next[3]) || DIRECTIVE.test(next[3])) break;
  }
  return end;
}

function wrapParagraph(lines: readonly string[]): string[] {
  const single = ONE_LINE.exec(lines[0]!);
  if (single !== null) {
    const [, indent = '', prose = ''] = single;
    return [`${indent}/**`, ...broken(prose, `${indent} * `), `${indent} */`];
  }
  const parts = lines.map((line) => LINE.exec(line)!);
  const [, indent, marker] = parts[0]!;
  return broken(parts.map(([, , , prose]) => prose!.trim()).join(' '), `${indent}${marker} `);
}

/**
 * As few lines as may be. Where a word or two would stand alone on the last, all lines are somewhat shorter.
 */
function broken(prose: string, prefix: string): string[] {
  const widest = linesOf(prose, prefix, COLUMNS);
  for (let columns = COLUMNS; columns >= LEAST_COLUMNS; columns--) {
    const lines = linesOf(prose, prefix, columns);
    if (lines.length > widest.length) break;
    if (lines.at(-1)!.length >= LEAST_LAST_COLUMNS) return lines;
  }
  return widest;
}

function linesOf(prose: string, prefix: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of prose.split(' ')) {
    if (line !== '' && prefix.length + line.length + 1 + word.length > columns) {
      lines.push(prefix + line);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return [...lines, prefix + line];
}
