import type { OptionRow } from '../common/option-row.ts';

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
      help: "perf's fields with this between them, such as ',' or '\\t'",
      group,
    },
    { long: 'json-output', short: 'j', help: "perf's JSON: an object in each line", group },
    { long: 'json', help: 'one answer with everything, as JSON; 64-bit numbers are strings', group },
  ];
}

export function appendOptions(group: string): OptionRow<'append' | 'big-num'>[] {
  return [
    { long: 'append', help: 'with -o: add to the file', group },
    {
      long: 'big-num',
      short: 'B',
      negatable: true,
      help: 'commas between thousands (on where the locale is not C or POSIX)',
      group,
    },
  ];
}
