const HELP_COLUMNS = 80;

/**
 * A text in lines of at most 80 columns, as most terminals have, behind `indent`. A newline of the text is a
 * blank; a word is never broken.
 */
export function wrapped(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/[ \n\t]+/)) {
    if (line !== '' && indent.length + line.length + 1 + word.length > HELP_COLUMNS) {
      lines.push(indent + line);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return [...lines, indent + line];
}

/** A name and what it means beside it, or below where the name is too long. */
export function besideLines(left: string, right: string, column: number): string[] {
  const indent = ' '.repeat(column);
  const lines = wrapped(right, indent);
  const head = `  ${left}`;
  if (head.length + 2 > column) return [head, ...lines];
  return [head.padEnd(column) + lines[0]!.slice(column), ...lines.slice(1)];
}
