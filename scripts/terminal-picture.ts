/** Text of a terminal as a picture that browsers draw alike: SVG, with a width for every line. */

const FONT_SIZE = 13;
/** The advance of a character of a usual monospaced font, to its size. */
const CHARACTER_WIDTH = FONT_SIZE * 0.602;
const LINE_HEIGHT = FONT_SIZE * 1.4;
const MARGIN = 16;
/** Longer lines are cut, as a terminal of this width cuts them. */
const MOST_COLUMNS = 110;

const COLOURS = { paper: '#14161a', text: '#d5d8de', quiet: '#8a919e', command: '#9ece6a', share: '#e0af68' };

export function terminalPicture(text: string, title: string): string {
  const lines = text.split('\n').map((line) => cut(line));
  const columns = Math.max(...lines.map((line) => [...line].length));
  const width = Math.ceil(columns * CHARACTER_WIDTH + 2 * MARGIN);
  const height = Math.ceil(lines.length * LINE_HEIGHT + 2 * MARGIN);
  const rows = lines.map((line, index) => drawLine(line, MARGIN + (index + 0.8) * LINE_HEIGHT));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escapeText(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${COLOURS.paper}"/>`,
    `<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}">`,
    ...rows.filter((row) => row !== ''),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

const cut = (line: string) =>
  [...line].length > MOST_COLUMNS ? `${[...line].slice(0, MOST_COLUMNS - 1).join('')}…` : line;

/** `textLength` makes each font as wide as the columns, so that tables stay tables. */
function drawLine(line: string, y: number): string {
  if (line.trim() === '') return '';
  const length = ([...line].length * CHARACTER_WIDTH).toFixed(1);
  return `<text x="${MARGIN}" y="${y.toFixed(1)}" textLength="${length}" fill="${colourOf(line)}">${escapeText(line)}</text>`;
}

function colourOf(line: string): string {
  if (line.startsWith('$ ')) return COLOURS.command;
  if (line.startsWith('#')) return COLOURS.quiet;
  return /^ *\d+\.\d+%/.test(line) && Number.parseFloat(line) >= 5 ? COLOURS.share : COLOURS.text;
}

/** Blanks do not collapse if they are no-break spaces. */
const escapeText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll(' ', '\u00a0');
