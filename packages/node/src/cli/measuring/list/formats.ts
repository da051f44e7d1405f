import {
  builtInFormats,
  describeFormat,
  type FormatDescription,
} from '../../../linux/sample/formats/index.ts';
import { EXIT_OK } from '../../common/args.ts';
import type { Output } from '../../common/output.ts';
import { besideLines, wrapped } from '../../common/wrap.ts';

const HELP_COLUMN = 26;
/** Behind the two blanks of every row of help. */
const INDENT = '  ';

/** `counterpoint list formats [NAME|FILE]…` and `record --format NAME,help`: formats with their options. */
export async function listFormats(
  names: readonly string[],
  options: { readonly json: boolean },
  out: Output,
): Promise<number> {
  const formats: FormatDescription[] = [];
  for (const name of names.length > 0 ? names : builtInFormats) formats.push(await describeFormat(name));
  if (options.json) out.json({ type: 'format-list', version: 1, formats });
  else out.write(formats.map((format) => formatText(format, out)).join('\n'));
  return EXIT_OK;
}

function formatText({ format, name, summary, options }: FormatDescription, out: Output): string {
  const title = format === name ? name : `${name} (${format})`;
  const words = wrapped(summary, ' '.repeat(title.length + 2));
  const lines =
    words.length === 1
      ? [`${out.style.bold(title)}: ${summary}`]
      : [`${out.style.bold(title)}:`, ...wrapped(summary, INDENT)];
  for (const { form, help, defaultText } of options) {
    const given = defaultText === '' ? '' : ` (default ${defaultText})`;
    lines.push(...besideLines(INDENT + form, help + given, HELP_COLUMN));
  }
  return `${lines.join('\n')}\n`;
}
