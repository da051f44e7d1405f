import type { OptionRow } from '../../common/option-row.ts';

/**
 * Rows of `stat` and `stat report`, which print the same table. `output` stands between
 * the two: its default differs.
 */
export function formOptions(group: string): OptionRow<'field-separator' | 'json-output' | 'json'>[] {
  return [
    {
      long: 'field-separator',
      short: 'x',
      value: 'TEXT',
      help: "print perf's fields with TEXT between them, such as ',' or '\\t'",
      group,
    },
    { long: 'json-output', short: 'j', help: "print perf's JSON, one object a line", group },
    { long: 'json', help: 'print one answer with everything, as JSON; 64-bit numbers are strings', group },
  ];
}

export function appendOptions(group: string): OptionRow<'append' | 'big-num'>[] {
  return [
    { long: 'append', help: 'with -o: add to the file', group },
    {
      long: 'big-num',
      short: 'B',
      negatable: true,
      help: 'print commas between thousands (default unless the locale is C or POSIX)',
      group,
    },
  ];
}
