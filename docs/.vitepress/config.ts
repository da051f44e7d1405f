import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const docs = fileURLToPath(new URL('..', import.meta.url));
const root = join(docs, '..');

/** Files of the root that are pages. */
const PROJECT_PAGES: Readonly<Record<string, string>> = {
  'CHANGELOG.md': join(docs, 'project/changelog.md'),
  'CONTRIBUTING.md': join(docs, 'project/contributing.md'),
  'SECURITY.md': join(docs, 'project/security.md'),
  LICENSE: join(docs, 'project/licence.md'),
};

/**
 * How much a page of the site counts in a search. Names of constants match most words of a question; the
 * guides answer it. VitePress writes its text into the pages, so it uses nothing of this file.
 */
function guidesFirst(page: string): number {
  if (/\/(guide\/|sampling-formats|intel-pt)/.test(page)) return 2;
  if (/\/(project\/|lineage|architecture)/.test(page)) return 0.5;
  return page.includes('/api/') ? 0.3 : 1;
}

/** A path, and no address or place in the page. */
const isPath = (href: string) => !/^(?:[a-z]+:|#|\/)/.test(href);

export default defineConfig({
  title: 'Counterpoint',
  description: 'Linux performance monitoring in TypeScript',
  cleanUrls: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }]],
  markdown: { config: (markdown) => namePathsOfSources(markdown) },
  themeConfig: {
    search: { provider: 'local', options: { miniSearch: { searchOptions: { boostDocument: guidesFirst } } } },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/guide/getting-started' },
      { text: 'API', link: '/api/' },
      { text: 'Error codes', link: '/errors' },
      { text: 'Performance', link: '/performance' },
      { text: 'Changelog', link: '/project/changelog' },
    ],
    footer: {
      message:
        'Apache License 2.0: <a href="/project/licence">licence</a>, <a href="/project/changelog">changelog</a>, <a href="/project/contributing">contributing</a>, <a href="/project/security">security</a>',
    },
    sidebar: [
      {
        text: 'Guide',
        items: [
          { text: 'Getting started', link: '/guide/getting-started' },
          { text: 'A tour of the verbs', link: '/guide/tour' },
          { text: 'Node programs', link: '/guide/node' },
          { text: 'C, C++, Rust and Go', link: '/guide/native' },
          { text: 'From perf to Counterpoint', link: '/guide/perf-users' },
          { text: 'Counting', link: '/guide/counting' },
          { text: 'Flight recorder', link: '/guide/flight-recorder' },
          { text: 'Sampling formats', link: '/sampling-formats' },
          { text: 'Intel PT', link: '/intel-pt' },
          { text: 'As a library', link: '/guide/library' },
          { text: 'In a browser', link: '/guide/browser' },
        ],
      },
      {
        text: 'Reference',
        items: [
          { text: 'API', link: '/api/' },
          { text: 'Versions of Node', link: '/compatibility' },
          { text: 'The long tests', link: '/proof' },
          { text: 'What doctor says', link: '/doctor' },
          { text: 'Error codes', link: '/errors' },
          { text: 'Tested on what', link: '/support' },
          { text: 'Performance', link: '/performance' },
        ],
      },
      {
        text: 'How it is built',
        items: [
          { text: 'Architecture', link: '/architecture' },
          { text: 'Lineage', link: '/lineage' },
        ],
      },
      {
        text: 'Project',
        items: [
          { text: 'Changelog', link: '/project/changelog' },
          { text: 'Contributing', link: '/project/contributing' },
          { text: 'Security', link: '/project/security' },
          { text: 'Licence', link: '/project/licence' },
        ],
      },
    ],
  },
});

interface Token {
  type: string;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

/**
 * A link to a file of the project that is no page (`../examples/…`) shows the path instead: the site has no
 * such page. A path that is not there fails the build, as dead links do.
 */
function namePathsOfSources(markdown: {
  renderer: { rules: Record<string, unknown> };
  core: {
    ruler: { push(name: string, rule: (state: { env: { path?: string }; tokens: Block[] }) => void): void };
  };
}): void {
  markdown.core.ruler.push('paths-of-sources', ({ env, tokens }) => {
    const page = env.path ?? join(docs, 'index.md');
    // These pages show files of the root, whose links begin there.
    const isOfProject = page.startsWith(join(docs, 'project/'));
    for (const { children } of tokens) {
      if (children === null) continue;
      for (const [at, token] of children.entries()) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null;
        if (href === null || !isPath(href)) continue;
        const target = join(isOfProject ? root : dirname(page), decodeURI(href.split('#')[0]!));
        if (!existsSync(target) && !existsSync(`${target}.md`))
          throw new Error(`${page}: there is no ${href}`);
        const name = relative(root, target);
        const ownPage = PROJECT_PAGES[name] ?? (relative(docs, target).startsWith('..') ? null : target);
        if (ownPage !== null) {
          const hash = href.includes('#') ? href.slice(href.indexOf('#')) : '';
          if (isOfProject || name in PROJECT_PAGES)
            token.attrSet('href', `/${relative(docs, ownPage).replace(/(?:index)?\.md$/, '')}${hash}`);
          continue;
        }
        Object.assign(token, { type: 'html_inline', tag: '', content: '<code>' });
        const end = children.findIndex((one, place) => place > at && one.type === 'link_close');
        Object.assign(children[end]!, { type: 'html_inline', tag: '', content: '</code>' });
      }
    }
  });
}

interface Block {
  children: Token[] | null;
}
