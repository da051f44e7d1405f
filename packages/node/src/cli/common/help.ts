import { allOptions, type Verb } from './args.ts';
import type { OptionRow } from './option-row.ts';
import { besideLines, wrapped } from './wrap.ts';

const HELP_COLUMN = 28;
const GENERAL = 'General';

/** The whole help of a verb, made from its rows. */
export function verbHelp(verb: Verb): string {
  const lines = [...wrapped(`counterpoint ${verb.name}: ${verb.summary}`, ''), '', ...usageLines(verb)];
  for (const [group, rows] of groupedRows(allOptions(verb)))
    lines.push(
      '',
      `${group}:`,
      ...rows.flatMap((row) => besideLines(optionNames(row), row.help, HELP_COLUMN)),
    );
  if (verb.examples.length > 0) {
    lines.push('', 'Examples:');
    for (const [words, meaning] of verb.examples)
      lines.push(`  counterpoint ${words}`, ...wrapped(meaning, '      '));
  }
  return `${lines.join('\n')}\n`;
}

/** `Usage: counterpoint NAME …`, one line per form. */
export function usageLines(verb: Verb): string[] {
  const forms = typeof verb.usage === 'string' ? [verb.usage] : verb.usage;
  return forms.map((form, index) => `${index === 0 ? 'Usage:' : '   or:'} counterpoint ${verb.name} ${form}`);
}

/** The rows that help shows, by heading. What all verbs have stands last, whichever verb adds to it. */
export function groupedRows(rows: readonly OptionRow[]): Map<string, OptionRow[]> {
  const shown = rows.filter(({ hidden }) => hidden !== true);
  const groups = new Map<string, OptionRow[]>();
  for (const row of shown.sort((a, b) => Number(a.group === GENERAL) - Number(b.group === GENERAL))) {
    const group = row.group ?? 'Options';
    groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  return groups;
}

/** `-o, --output=FILE`, behind the room of a short name if there is none. */
export function optionNames(row: OptionRow): string {
  if (row.shown !== undefined) return row.shown;
  const value =
    row.value === undefined
      ? ''
      : row.optionalValue === undefined
        ? `${row.long.length === 1 ? ' ' : '='}${row.value}`
        : `[${row.long.length === 1 ? '' : '='}${row.value}]`;
  const long = row.long.length === 1 ? null : `--${row.negatable === true ? '[no-]' : ''}${row.long}${value}`;
  const short =
    row.long.length === 1 ? `-${row.long}${value}` : row.short === undefined ? null : `-${row.short}`;
  return short === null ? `    ${long}` : long === null ? short : `${short}, ${long}`;
}

/** `counterpoint pt --help`: the verbs whose first word this is. */
export function familyHelp(name: string, verbs: readonly { name: string; summary: string }[]): string {
  const width = Math.max(...verbs.map(({ name }) => name.length)) + 4;
  return [
    `Usage: counterpoint ${name} VERB [options] [words]`,
    '',
    'Verbs:',
    ...verbs.flatMap(({ name, summary }) => besideLines(name, summary, width)),
    '',
    `counterpoint ${name} VERB --help: options and examples of a verb`,
    '',
  ].join('\n');
}

interface Named {
  readonly name: string;
  readonly summary: string;
}

/** Stands in a name of two words, so that it stays on one line. */
const HARD_BLANK = '\u2007';

/** `counterpoint help --help`. */
export function helpOfHelp(verbs: readonly Named[], topics: readonly Named[]): string {
  const namesOf = (all: readonly Named[]) =>
    wrapped(all.map(({ name }) => name.replace(' ', HARD_BLANK)).join(', '), '  ').map((line) =>
      line.replaceAll(HARD_BLANK, ' '),
    );
  return [
    'counterpoint help: print the help of a verb or of a topic',
    '',
    'Usage: counterpoint help [VERB|TOPIC]',
    '   or: counterpoint VERB --help',
    '',
    'Without a word, it lists verbs and topics with what they are for.',
    '',
    'Verbs:',
    ...namesOf(verbs),
    '',
    'Topics:',
    ...namesOf(topics),
    '',
    'Examples:',
    '  counterpoint help record',
    '      options and examples of counterpoint record',
    '  counterpoint help events',
    '      how events are named',
    '  man counterpoint-record',
    '      the same as a manual page, where the package is installed globally',
    '',
  ].join('\n');
}

/** `counterpoint --help`. */
export function generalHelp(verbs: readonly Named[], topics: readonly Named[]): string {
  const width = Math.max(...verbs.map(({ name }) => name.length)) + 4;
  return [
    'counterpoint: Linux performance monitoring',
    '',
    'Usage: counterpoint VERB [options] [words]',
    '',
    'Verbs:',
    ...verbs.flatMap(({ name, summary }) => besideLines(name, summary, width)),
    '',
    'Topics:',
    ...topics.flatMap(({ name, summary }) => besideLines(name, summary, width)),
    '',
    'Help:',
    '  counterpoint help VERB, counterpoint VERB --help: its options and examples',
    '  counterpoint help TOPIC: one of the topics',
    '  counterpoint --version: the version',
    '',
    'Examples:',
    '  counterpoint record -g -- node app.js',
    '      sample a program with call chains into ./perf.data',
    '  counterpoint report',
    '      its hottest functions',
    '',
  ].join('\n');
}
