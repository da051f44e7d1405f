/**
 * Lines of code in the API reference, as long as its pages have room for at a width of 1280 pixels: a longer
 * one would end at the edge, and the name of a return type is what is cut off.
 */
export const PAGE_COLUMNS = 66;

const OPENS = '([{<';
const CLOSES = ')]}>';

/** Pieces of a text between commas that are in no brackets. */
function splitAtCommas(text: string): string[] {
  const pieces = [''];
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    const isArrow = char === '>' && text[at - 1] === '=';
    if (OPENS.includes(char)) depth++;
    else if (CLOSES.includes(char) && !isArrow) depth--;
    if (char === ',' && depth === 0) pieces.push('');
    else pieces[pieces.length - 1] += char;
  }
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== '');
}

/** Where the bracket at `open` is closed; -1: nowhere. */
function closeOf(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return at;
  }
  return -1;
}

/** One line of a function or method with a line for each parameter, where it is too long for one. */
export function brokenSignature(line: string, columns = PAGE_COLUMNS): string {
  if (line.length <= columns || line.includes('\n')) return line;
  const open = line.indexOf('(');
  const close = open < 0 ? -1 : closeOf(line, open);
  if (close < 0) return line;
  const parameters = splitAtCommas(line.slice(open + 1, close));
  if (parameters.length === 0) return line;
  const indent = /^ */.exec(line)![0];
  return [
    line.slice(0, open + 1),
    ...parameters.map((parameter) => `${indent}  ${parameter},`),
    `${indent}${line.slice(close)}`,
  ].join('\n');
}

/**
 * A comment's text in lines of at most `columns`: paragraphs are filled anew, lists, code and drawings stay.
 */
export function filledComment(text: string, columns: number): string[] {
  const paragraphs = text.split(/\n{2,}/);
  return paragraphs.flatMap((paragraph, place) => {
    const lines = paragraph.split('\n');
    const isProse = lines.every((line) => /^[^\s\-@*|]/.test(line));
    const filled = isProse ? filledLines(lines.join(' '), columns) : lines;
    return place === 0 ? filled : ['', ...filled];
  });
}

function filledLines(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return [...lines, line];
}
