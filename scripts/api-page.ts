/** Pages of the API reference, out of API Extractor's models of the entries. */
import { posix } from 'node:path';

/** What these pages use of a member of an `.api.json` file. */
export interface ApiItem {
  readonly kind: string;
  readonly name?: string;
  readonly docComment?: string;
  readonly excerptTokens?: readonly { readonly kind: string; readonly text: string }[];
  readonly members?: readonly ApiItem[];
}

export interface ApiEntry {
  /** `counterpoint/bpf`: what a program imports. */
  readonly specifier: string;
  /** `counterpoint/bpf`, `core/index`: where its page lies, without `.md`. */
  readonly path: string;
  readonly items: readonly ApiItem[];
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
const codeOf = (item: ApiItem) =>
  tokensOf(item)
    .map(({ text }) => text)
    .join('')
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

/** A declaration with its members and their comments, as an editor shows it. */
function declaration(item: ApiItem, indent = ''): string {
  const members = item.members ?? [];
  if (members.length === 0 && !/^(?:Class|Interface|Enum|Namespace)$/.test(item.kind))
    return `${indent}${codeOf(item).replaceAll('\n', `\n${indent}`)}`;
  const inner = members.map((member) => {
    const comment = commentText(member.docComment);
    const lines = comment === '' ? [] : comment.split('\n');
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
  return `# ${entry.specifier}\n\n${sections.join('')}`.trimEnd().concat('\n');
}

export function apiIndex(entries: readonly ApiEntry[]): string {
  const rows = entries.map(({ specifier, path, items }) => {
    const names = [...new Set(items.map(({ name }) => name!))];
    const some = names.slice(0, 6).map((name) => `\`${name}\``);
    return `| [${specifier}](${path}.md) | ${names.length} | ${some.join(', ')}${names.length > 6 ? ', …' : ''} |`;
  });
  return `# API reference\n\n| import | names | some of them |\n|---|---|---|\n${rows.join('\n')}\n`;
}
