import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const docs = fileURLToPath(new URL('..', import.meta.url));

export default defineConfig({
  title: 'Counterpoint',
  description: 'Linux performance monitoring in TypeScript',
  cleanUrls: true,
  markdown: { config: (markdown) => namePathsOfSources(markdown) },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/guide/getting-started' },
      { text: 'API', link: '/api/' },
      { text: 'Error codes', link: '/errors' },
      { text: 'Performance', link: '/performance' },
    ],
    sidebar: [
      {
        text: 'Guide',
        items: [
          { text: 'Getting started', link: '/guide/getting-started' },
          { text: 'Node programs', link: '/guide/node' },
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
    ],
  },
});

interface Token {
  type: string;
  attrGet(name: string): string | null;
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
    for (const { children } of tokens) {
      if (children === null) continue;
      for (const [at, token] of children.entries()) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null;
        if (href === null || !href.startsWith('.')) continue;
        const target = join(dirname(page), decodeURI(href.split('#')[0]!));
        if (!relative(docs, target).startsWith('..')) continue;
        if (!existsSync(target)) throw new Error(`${page}: there is no ${href}`);
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
