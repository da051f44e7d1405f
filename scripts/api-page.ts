/** Pages of the API reference, out of API Extractor's models of the entries. */

import { posix } from 'node:path';
import { brokenSignature, filledComment, PAGE_COLUMNS } from './api-lines.ts';

/** What these pages use of a member of an `.api.json` file. */
export interface ApiItem {
  readonly kind: string;
  readonly name?: string;
  readonly docComment?: string;
  readonly excerptTokens?: readonly { readonly kind: string; readonly text: string }[];
  readonly members?: readonly ApiItem[];
  /** The declaration with comments inside, where the tokens have lost them. */
  readonly original?: string;
}

export interface ApiEntry {
  /** `counterpoint/bpf`: what a program imports. */
  readonly specifier: string;
  /** `counterpoint/bpf`, `core/index`: where its page lies, without `.md`. */
  readonly path: string;
  readonly items: readonly ApiItem[];
  /** Names of other packages' entries that this one offers, too. */
  readonly repeated?: readonly RepeatedName[];
}

export interface RepeatedName {
  readonly name: string;
  /** Where it is declared: `@counterpoint/core/query`. */
  readonly specifier: string;
}

/** The kinds of items, in the order of a page. */
const SECTIONS: readonly [title: string, kinds: readonly string[]][] = [
  ['Functions', ['Function']],
  ['Classes', ['Class']],
  ['Interfaces', ['Interface']],
  ['Types', ['TypeAlias', 'Enum']],
  ['Constants', ['Variable']],
  ['Namespaces', ['Namespace']],
];

const tokensOf = (item: ApiItem) => item.excerptTokens ?? [];
export const codeOf = (item: ApiItem): string =>
  (
    item.original ??
    tokensOf(item)
      .map(({ text }) => text)
      .join('')
  )
    .replace(/^export (?:declare )?/, '')
    .trim();

/** The text between the marks of a comment. */
export function commentText(comment = ''): string {
  return comment
    .replace(/^\/\*\*\s?|\s*\*\/\s*$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .trim();
}

const escaped = (text: string) =>
  text.replace(/(`[^`]*`)|[<{]/g, (found, code) => code ?? (found === '<' ? '&lt;' : '&#123;'));

/**
 * A comment as Markdown: outside of code, nothing is taken for HTML or for a Vue expression. A paragraph
 * whose lines are all indented is code or a drawing.
 */
export function prose(comment?: string): string {
  return commentText(comment)
    .split(/\n{2,}/)
    .map((paragraph) =>
      paragraph.split('\n').every((line) => line.startsWith('  '))
        ? `${'```'}\n${paragraph}\n${'```'}`
        : escaped(paragraph)
            .replace(/^@param (\S+) -? ?/gm, '- `$1`: ')
            .replace(/^@returns? /gm, 'Returns: '),
    )
    .join('\n\n');
}

/** What stands around the text of a comment on one line. */
const COMMENT_MARKS = '  /**  */'.length;

/** A declaration with its members and their comments, as an editor shows it. */
function declaration(item: ApiItem, indent = ''): string {
  const members = item.members ?? [];
  if (members.length === 0 && !/^(?:Class|Interface|Enum|Namespace)$/.test(item.kind))
    return brokenSignature(`${indent}${codeOf(item).replaceAll('\n', `\n${indent}`)}`);
  const inner = members.map((member) => {
    const comment = commentText(member.docComment);
    const room = PAGE_COLUMNS - indent.length - COMMENT_MARKS;
    const lines = comment === '' ? [] : filledComment(comment, room);
    const above =
      lines.length === 0
        ? ''
        : lines.length === 1
          ? `${indent}  /** ${lines[0]} */\n`
          : `${indent}  /**\n${lines.map((line) => `${indent}   * ${line}`.trimEnd()).join('\n')}\n${indent}   */\n`;
    return `${above}${declaration(member, `${indent}  `)}`;
  });
  return `${indent}${codeOf(item)} {\n${inner.join('\n')}${inner.length > 0 ? '\n' : ''}${indent}}`;
}

/** Names that a declaration refers to, its members' included. */
function references(item: ApiItem): string[] {
  return [
    ...tokensOf(item)
      .filter(({ kind }) => kind === 'Reference')
      .map(({ text }) => text),
    ...(item.members ?? []).flatMap(references),
  ];
}

/** Links to what a declaration uses: on this page, else on the first page that has the name. */
function links(items: readonly ApiItem[], entry: ApiEntry, every: readonly ApiEntry[]): string {
  const own = items[0]!.name;
  const found = [...new Set(items.flatMap(references))].flatMap((name) => {
    const holder = [entry, ...every].find((one) => one.items.some((item) => item.name === name));
    if (name === own || holder === undefined) return [];
    const page = holder === entry ? '' : `${posix.relative(posix.dirname(entry.path), holder.path)}.md`;
    return [`[${name}](${page}#${name})`];
  });
  return found.length === 0 ? '' : `Uses ${found.join(', ')}.\n\n`;
}

/** Declarations of one name (overloads) under one heading. */
function section(items: readonly ApiItem[], entry: ApiEntry, every: readonly ApiEntry[]): string {
  const { name } = items[0]!;
  const text = items.map(({ docComment }) => prose(docComment)).filter((words) => words !== '');
  return [
    `### ${name} {#${name}}\n\n`,
    ...[...new Set(text)].map((words) => `${words}\n\n`),
    `\`\`\`ts\n${items.map((item) => declaration(item)).join('\n')}\n\`\`\`\n\n`,
    links(items, entry, every),
  ].join('');
}

/** What an entry takes from another package: `export { topFunctions } from '@counterpoint/core/query'`. */
export function repeatedNames(types: string): RepeatedName[] {
  const exports = types.matchAll(/^export (?:type )?\{([^}]*)\} from '(@[^']+)';/gm);
  return [...exports].flatMap(([, list, specifier]) =>
    list!
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== '')
      .map((name) => ({ name, specifier: specifier! })),
  );
}

/** The first sentence of a comment, for a cell of a table. */
function firstSentence(comment?: string): string {
  const [paragraph] = prose(comment).split('\n\n', 1);
  const line = paragraph!.replaceAll('\n', ' ').replaceAll('|', '\\|');
  return (/^.*?[.:](?= |$)/.exec(line)?.[0] ?? line).replace(/:$/, '.');
}

/** Names of other packages: a row each, that leads to where they are declared. */
function repeatedSection(entry: ApiEntry, every: readonly ApiEntry[]): string {
  const rows = (entry.repeated ?? [])
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, specifier }) => {
      const holder = every.find((one) => one.specifier === specifier)!;
      const { docComment } = holder.items.find((item) => item.name === name)!;
      const page = `${posix.relative(posix.dirname(entry.path), holder.path)}.md`;
      return `| [${name}](${page}#${name}) | ${firstSentence(docComment)} |`;
    });
  return rows.length === 0 ? '' : `## From other packages\n\n| name | |\n|---|---|\n${rows.join('\n')}\n\n`;
}

export function apiPage(entry: ApiEntry, every: readonly ApiEntry[]): string {
  const sections = SECTIONS.flatMap(([title, kinds]) => {
    const items = entry.items.filter(({ kind }) => kinds.includes(kind));
    const names = [...new Set(items.map(({ name }) => name))];
    const texts = names.map((name) =>
      section(
        items.filter((item) => item.name === name),
        entry,
        every,
      ),
    );
    return texts.length === 0 ? [] : [`## ${title}\n\n${texts.join('')}`];
  });
  return `---\npageClass: api-reference\n---\n\n# ${entry.specifier}\n\n${repeatedSection(entry, every)}${sections.join('')}`
    .trimEnd()
    .concat('\n');
}

export function apiIndex(entries: readonly ApiEntry[]): string {
  const rows = entries.map(({ specifier, path, items, repeated = [] }) => {
    const names = [...new Set([...items, ...repeated].map(({ name }) => name!))];
    const some = names.slice(0, 6).map((name) => `\`${name}\``);
    return `| [${specifier}](${path}.md) | ${names.length} | ${some.join(', ')}${names.length > 6 ? ', …' : ''} |`;
  });
  return `# API reference\n\n| import | names | some of them |\n|---|---|---|\n${rows.join('\n')}\n`;
}
