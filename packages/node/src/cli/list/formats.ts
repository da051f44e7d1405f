import { builtInFormats, describeFormat, type FormatDescription } from '../../sampling/index.ts';
import { EXIT_OK } from '../common/args.ts';
import type { Output } from '../common/output.ts';

const HELP_COLUMN = 26;
const INDENT = '    ';

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
  const lines = [`${out.style.bold(title)}: ${summary}`];
  for (const { form, help, defaultText } of options) {
    const isShort = form.length + 2 <= HELP_COLUMN - INDENT.length;
    const given = defaultText === '' ? '' : ` (default ${defaultText})`;
    const [first = '', ...more] = `${help}${given}`.split('\n');
    const indent = ' '.repeat(HELP_COLUMN);
    if (!isShort) lines.push(INDENT + form);
    lines.push((isShort ? (INDENT + form).padEnd(HELP_COLUMN) : indent) + first);
    for (const line of more) lines.push(indent + line);
  }
  return `${lines.join('\n')}\n`;
}
