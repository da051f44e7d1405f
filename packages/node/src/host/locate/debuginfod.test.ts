/** Against a server of our own on the loopback interface. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import type { Diagnostic } from '@counterpoint/core/base';
import { Debuginfod } from './debuginfod.ts';

const ID = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function serve(answer: RequestListener): Promise<{ url: string; asked: string[]; server: Server }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server };
}

function cacheDir(): string {
  const path = mkdtempSync(join(tmpdir(), 'counterpoint-'));
  cleanups.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function client(urls: string, cache: string, more: Record<string, string> = {}): Debuginfod {
  return new Debuginfod({ DEBUGINFOD_URLS: urls, DEBUGINFOD_CACHE_PATH: cache, ...more });
}

const text =
  (content: string): RequestListener =>
  (_, response) =>
    void response.end(content);
const missing: RequestListener = (_, response) => {
  response.statusCode = 404;
  response.end('not found');
};

test('a file is downloaded once and kept as other clients keep it', async () => {
  const { url, asked } = await serve(text('the debug file'));
  const cache = cacheDir();
  for (let round = 0; round < 2; round++) {
    const path = await client(`${url}/`, cache).find(ID, 'debuginfo', []);
    assert.equal(path, join(cache, ID, 'debuginfo'));
    assert.equal(readFileSync(path, 'utf8'), 'the debug file');
  }
  assert.deepEqual(asked, [`/buildid/${ID}/debuginfo`]);
});

test('the next server is asked where one has it not; a miss is remembered for a while', async () => {
  const first = await serve(missing);
  const second = await serve(text('found'));
  const cache = cacheDir();
  assert.notEqual(await client(`${first.url} ${second.url}`, cache).find(ID, 'executable', []), null);
  assert.equal(first.asked.length, 1);

  assert.equal(await client(first.url, cache).find(ID, 'debuginfo', []), null);
  assert.equal(await client(first.url, cache).find(ID, 'debuginfo', []), null);
  assert.equal(first.asked.length, 2);
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(join(cache, ID, 'debuginfo'), hourAgo, hourAgo);
  assert.equal(await client(first.url, cache).find(ID, 'debuginfo', []), null);
  assert.equal(first.asked.length, 3);
});

test('no server set, another protocol, or no build id: nothing is asked', async () => {
  const { url, asked } = await serve(text('x'));
  const cache = cacheDir();
  assert.equal(await new Debuginfod({}).find(ID, 'debuginfo', []), null);
  assert.equal(await client('file:///etc ftp://127.0.0.1/', cache).find(ID, 'debuginfo', []), null);
  assert.equal(await client(url, cache).find('../../etc', 'debuginfo', []), null);
  assert.deepEqual([asked, readdirSync(cache)], [[], []]);
});

for (const [what, answer, more] of [
  ['an error', ((_, response) => void response.writeHead(500).end()) as RequestListener, {}],
  ['an empty answer', text(''), {}],
  ['more than allowed', text('x'.repeat(1000)), { DEBUGINFOD_MAXSIZE: '100' }],
  ['silence', (() => {}) as RequestListener, { DEBUGINFOD_TIMEOUT: '0.2' }],
  [
    'an end in the middle',
    ((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    }) as RequestListener,
    {},
  ],
] as const) {
  test(`${what} of a server is reported, and leaves nothing in the cache`, async () => {
    const { url } = await serve(answer);
    const cache = cacheDir();
    const diagnostics: Diagnostic[] = [];
    assert.equal(await client(url, cache, more).find(ID, 'debuginfo', diagnostics), null);
    assert.deepEqual(
      diagnostics.map(({ code }) => code),
      ['debuginfod-failed'],
    );
    assert.ok(diagnostics[0]!.path.startsWith(url));
    const directory = join(cache, ID);
    assert.deepEqual(existsSync(directory) ? readdirSync(directory) : [], []);
  });
}

test('a server that is not there is reported', async () => {
  const { url, server } = await serve(missing);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const diagnostics: Diagnostic[] = [];
  assert.equal(await client(url, cacheDir()).find(ID, 'debuginfo', diagnostics), null);
  assert.match(diagnostics[0]!.detail, /ECONNREFUSED/);
});
