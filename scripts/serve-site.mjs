// `npm run docs -- preview`: the built site, for this machine's own browser. VitePress' own preview listens
// on every network interface, whatever it is told; this one is reached from this machine only. Links of the
// site have no `.html` (`cleanUrls`): a path without an ending is that of a page.
import { createReadStream, existsSync, realpathSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const LOOPBACK = '127.0.0.1';
const PORT = 4173;
const MOST_PORT = 65_535;

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
};

/** The file of a request in the folder, or null: for one that is not there, or not below the folder. */
export function siteFile(folder, url) {
  let path;
  try {
    path = decodeURIComponent(url.split(/[?#]/, 1)[0]);
  } catch {
    return null;
  }
  if (path.includes('\0')) return null;
  const root = realpathSync(folder);
  const candidates = path.endsWith('/')
    ? [`${path}index.html`]
    : [path, `${path}.html`, `${path}/index.html`];
  for (const candidate of candidates) {
    const file = join(root, candidate);
    if (!file.startsWith(root + sep) || statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
      continue;
    // A symbolic link may lead out of the folder, too.
    return realpathSync(file).startsWith(root + sep) ? file : null;
  }
  return null;
}

function answer(folder, request, response) {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD' }).end();
    return;
  }
  const found = siteFile(folder, request.url);
  const file = found ?? siteFile(folder, '/404.html');
  const type = file === null ? TYPES['.txt'] : (TYPES[extname(file)] ?? 'application/octet-stream');
  // A page that was built again is shown at the next reload.
  response.writeHead(found === null ? 404 : 200, { 'content-type': type, 'cache-control': 'no-cache' });
  if (request.method === 'HEAD') response.end();
  else if (file === null) response.end('There is no such page.\n');
  else
    createReadStream(file)
      .on('error', (error) => response.destroy(error))
      .pipe(response);
}

/** Serves the folder to this machine; resolves to the server once it listens. */
export function serveSite(folder, port = PORT) {
  const server = createServer((request, response) => answer(folder, request, response));
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, LOOPBACK, () => resolve(server));
  });
}

/** The verb: says where the site is, or why it is not. */
export async function previewSite(words) {
  try {
    const server = await serveSite(builtSite(), portOf(words));
    console.log(`http://${LOOPBACK}:${server.address().port}/ shows the site. Press Ctrl-C to stop.`);
  } catch (error) {
    const inUse =
      'another program listens on that port; name another one: npm run docs -- preview --port 8080';
    console.error(`docs preview: ${error.code === 'EADDRINUSE' ? inUse : error.message}`);
    process.exitCode = 1;
  }
}

function builtSite() {
  const folder = fileURLToPath(new URL('../docs/.vitepress/dist', import.meta.url));
  if (!existsSync(folder)) throw new Error('the site is not built yet; build it first: npm run docs');
  return folder;
}

function portOf(words) {
  const { values } = parseArgs({ args: words, options: { port: { type: 'string', default: String(PORT) } } });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > MOST_PORT)
    throw new Error(`--port takes a number from 0 to ${MOST_PORT}, not ${values.port}`);
  return port;
}
