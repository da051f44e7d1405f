import { allOptions, type Verb } from './args.ts';
import { groupedRows, optionNames } from './help.ts';

/** What stands around the pages. */
export interface ManualFacts {
  readonly version: string;
  /** Names of all pages, without their section. */
  readonly pages: readonly string[];
}

/** `counterpoint-pt-dump`, as git and perf name the pages of their verbs. */
export function pageName(verb: string): string {
  return `counterpoint-${verb.replaceAll(' ', '-')}`;
}

/** The manual page of a verb (section 1) in the macros of man(7), from the rows that its help is made of. */
export function manualPage(verb: Verb, facts: ManualFacts): string {
  const name = pageName(verb.name);
  const forms = typeof verb.usage === 'string' ? [verb.usage] : verb.usage;
  const lines = [
    ...head(name, verb.summary, facts),
    '.SH SYNOPSIS',
    ...forms.flatMap((form, at) => [
      ...(at === 0 ? [] : ['.br']),
      `.B counterpoint ${text(verb.name)}`,
      text(form),
    ]),
    '.SH OPTIONS',
    ...[...groupedRows(allOptions(verb))].flatMap(([group, rows]) => [
      `.SS ${text(group)}`,
      ...rows.flatMap((row) => entry(optionNames(row).trim(), row.help)),
    ]),
  ];
  if (verb.examples.length > 0) lines.push('.SH EXAMPLES');
  for (const [words, meaning] of verb.examples) lines.push(...entry(`counterpoint ${words}`, meaning));
  lines.push('.SH EXIT STATUS', ...exitStatus(verb));
  return page(lines, name, facts);
}

/** `counterpoint(1)`: the verbs and the topics. */
export function manualOverview(
  verbs: readonly { name: string; summary: string }[],
  topics: readonly { name: string; summary: string }[],
  facts: ManualFacts,
): string {
  const name = 'counterpoint';
  const lines = [
    ...head(name, 'Linux performance monitoring: count, sample, trace, decode, look', facts),
    '.SH SYNOPSIS',
    '.B counterpoint',
    text('VERB [options] [words]'),
    '.SH VERBS',
    ...verbs.flatMap((verb) =>
      entry(`counterpoint ${verb.name}`, `${verb.summary}. See ${pageName(verb.name)}(1).`),
    ),
    '.SH TOPICS',
    ...topics.flatMap((topic) => entry(`counterpoint help ${topic.name}`, topic.summary)),
    '.SH FILES',
    ...entry('perf.data', 'the recording that record writes and report reads by default; perf reads it, too'),
    '.SH EXAMPLES',
    ...entry('counterpoint record -g -- node app.js', 'sample a program with call chains into ./perf.data'),
    ...entry('counterpoint report', 'its hottest functions'),
    ...entry('counterpoint doctor', 'what this machine can record, and what to do if it cannot'),
  ];
  return page(lines, name, facts);
}

function head(name: string, summary: string, { version }: ManualFacts): string[] {
  return [
    `.TH ${name.toUpperCase().replaceAll('-', '\\-')} 1 "" "counterpoint ${version}" "Counterpoint"`,
    // Words are not broken, and lines not filled with blanks.
    '.nh',
    '.ad l',
    '.SH NAME',
    `${text(name)} \\- ${text(summary)}`,
  ];
}

function page(lines: readonly string[], name: string, { pages }: ManualFacts): string {
  const others = pages.filter((other) => other !== name);
  const seeAlso = others.map((other, at) => `.BR ${text(other)} (1)${at === others.length - 1 ? '' : ','}`);
  return `${[...lines, '.SH SEE ALSO', ...seeAlso].join('\n')}\n`;
}

/** A term and what it means, below it. */
function entry(term: string, meaning: string): string[] {
  return ['.TP', `\\fB${text(term)}\\fR`, ...meaning.split('\n').map(text)];
}

function exitStatus({ command = false, options }: Verb): string[] {
  const has = (name: string) => options.some(({ long }) => long === name);
  const rows: [string, string][] = [
    ['0', command ? 'the command gave 0, or there was none' : 'there is an answer'],
    ...(command
      ? ([['N', 'the status of the command; 128 and the number of a signal that ended it']] as [
          string,
          string,
        ][])
      : []),
    ['1', 'it could not be done; a message says why, and what to do'],
    ...(has('fail-on-loss')
      ? ([['3', 'something was lost, and --fail-on-loss was given']] as [string, string][])
      : []),
    ...(command
      ? ([['126, 127', 'the command may not be run; there is no such command']] as [string, string][])
      : []),
    ['129', 'the command line could not be read'],
  ];
  return rows.flatMap(([status, meaning]) => entry(status, meaning));
}

/**
 * As it is: backslashes and dashes are not roff's, and a line never begins with a
 * request. Beyond ASCII by code.
 */
function text(words: string): string {
  const plain = words
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(
      /\P{ASCII}/gu,
      (sign) => `\\[u${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
  return /^[.']/.test(plain) ? `\\&${plain}` : plain;
}
