/**
 * Text that fits its box, in columns of a monospaced font. Pure: shared by the still picture and the page.
 */

/** Space between a box's edge and its text. */
export const TEXT_INSET = 4;

/** Boxes with room for fewer columns stay empty. */
const MIN_COLUMNS = 3;

export interface FittedText {
  name: string;
  /** The source in the rest of the box, or empty. */
  detail: string;
}

export function fitText(name: string, detail: string, widthPx: number, columnPx: number): FittedText | null {
  const room = Math.floor((widthPx - 2 * TEXT_INSET) / columnPx);
  if (room < MIN_COLUMNS) return null;
  const used = columnsOf(name);
  if (used > room) return { name: cut(name, room), detail: '' };
  const fits = detail !== '' && used + 1 + columnsOf(detail) <= room;
  return { name, detail: fits ? detail : '' };
}

/** The beginning of a text in `columns` columns, with an ellipsis where something is missing. */
export function cut(text: string, columns: number): string {
  let used = 0;
  let end = 0;
  for (const char of text) {
    used += columnsOfChar(char);
    if (used > columns - 1) return columnsOf(text) <= columns ? text : `${text.slice(0, end)}…`;
    end += char.length;
  }
  return text;
}

/**
 * Text in lines of at most `columns` columns, broken between words; the last line is
 * cut where there would be more.
 */
export function wrapWords(text: string, columns: number, maxLines: number): string[] {
  const lines: string[] = [];
  let line = '';
  const words = text.split(' ');
  for (const [index, word] of words.entries()) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (columnsOf(longer) <= columns) {
      line = longer;
      continue;
    }
    if (lines.length + 1 === maxLines)
      return [...lines, cut([line, ...words.slice(index)].join(' '), columns)];
    if (line !== '') lines.push(line);
    line = cut(word, columns);
  }
  return [...lines, line];
}

function columnsOf(text: string): number {
  let columns = 0;
  for (const char of text) columns += columnsOfChar(char);
  return columns;
}

/**
 * East Asian scripts and pictures take two columns; a rough cut is enough, for a text
 * that is too short does no harm.
 */
function columnsOfChar(char: string): number {
  return char.charCodeAt(0) >= 0x1100 ? 2 : 1;
}

/**
 * Names as they can be shown: control characters as pictures, nothing that changes the
 * direction or breaks the text.
 */
export function visibleText(text: string): string {
  return text
    .replace(/[\u0000-\u001f]/g, (char) => String.fromCharCode(0x2400 + char.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g, '\ufffd')
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd');
}
