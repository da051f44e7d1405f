// Links of the built site that name a place in a page: `guide/node.html#record-one` needs an element of that
// id. VitePress checks pages, not places. Prints those that lead nowhere; the status is 1 then. It also wants
// an icon on each page, and ways to what a visitor looks for: licence, changelog, security, contributing.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const site = resolve(process.argv[2] ?? 'docs/.vitepress/dist');
const pages = readdirSync(site, { recursive: true })
  .filter((path) => path.endsWith('.html'))
  .map((path) => join(site, path));
const idsOf = new Map(
  pages.map((page) => {
    const ids = readFileSync(page, 'utf8').matchAll(/\sid="([^"]*)"/g);
    return [page, new Set([...ids].map(([, id]) => id))];
  }),
);

const dead = [];
for (const page of pages)
  for (const [, href] of readFileSync(page, 'utf8').matchAll(/\shref="([^"]*#[^"]+)"/g)) {
    if (/^[a-z]+:/.test(href)) continue;
    const [path, anchor] = href.split('#');
    const target =
      path === '' ? page : path.startsWith('/') ? join(site, path) : resolve(dirname(page), path);
    const ids = [target, `${target}.html`, join(target, 'index.html')]
      .map((one) => idsOf.get(one))
      .find(Boolean);
    if (ids === undefined || !ids.has(decodeURIComponent(anchor)))
      dead.push(`${relative(site, page)}: ${href}`);
  }
for (const page of pages) {
  const text = readFileSync(page, 'utf8');
  const [, icon] = /<link rel="icon"[^>]*href="\/([^"]+)"/.exec(text) ?? [];
  if (icon === undefined || !existsSync(join(site, icon))) dead.push(`${relative(site, page)}: no icon`);
  if (relative(site, page) === '404.html') continue;
  for (const name of ['licence', 'changelog', 'security', 'contributing'])
    if (!text.includes(`href="/project/${name}"`)) dead.push(`${relative(site, page)}: no way to ${name}`);
}
for (const one of new Set(dead)) console.error(`dead link: ${one}`);
process.exitCode = dead.length === 0 ? 0 : 1;
