import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const scripts = fileURLToPath(new URL('.', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'counterpoint-site-'));
after(() => rmSync(root, { recursive: true }));

/** A checkout with the scripts and a site, beside a file that is nobody's business. */
const site = join(root, 'docs/.vitepress/dist');
mkdirSync(join(site, 'guide'), { recursive: true });
mkdirSync(join(site, 'api'));
mkdirSync(`${site}-other`);
mkdirSync(join(root, 'scripts'));
for (const name of ['docs.mjs', 'serve-site.mjs']) cpSync(join(scripts, name), join(root, 'scripts', name));
writeFileSync(join(site, 'index.html'), 'front page');
writeFileSync(join(site, 'guide/tour.html'), 'tour');
writeFileSync(join(site, 'api/index.html'), 'api');
writeFileSync(join(site, 'app.js'), '1');
writeFileSync(join(site, '404.html'), 'not here');
writeFileSync(join(root, 'secret'), 'secret');
writeFileSync(join(`${site}-other`, 'secret'), 'secret');
symlinkSync(join(root, 'secret'), join(site, 'out'));

interface Answer {
  status: number;
  type: string;
  text: string;
}

/** The path as it is: `fetch` would shorten `..` before it is sent. */
function ask(port: number, path: string, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', text }),
      );
    });
    asked.on('error', reject).end();
  });
}

function isReached(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 });
    const end = (reached: boolean) => {
      socket.destroy();
      resolve(reached);
    };
    socket
      .on('connect', () => end(true))
      .on('timeout', () => end(false))
      .on('error', () => end(false));
  });
}

/** `npm run docs -- preview`, until `look` is done. */
async function preview(look: (port: number) => Promise<void>, ...words: string[]): Promise<string> {
  const child = spawn(process.execPath, ['scripts/docs.mjs', 'preview', ...words], { cwd: root });
  const ended = new Promise((resolve) => child.on('close', resolve));
  let said = '';
  const port = new Promise<number>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part) => {
        said += String(part);
        const found = /:(\d+)\//.exec(said);
        if (found !== null) resolve(Number(found[1]));
      });
    child.on('close', () => resolve(0));
  });
  try {
    if ((await port) !== 0) await look(await port);
  } finally {
    child.kill();
    await ended;
  }
  return said;
}

test('the preview of the docs shows its pages, and nothing outside of them', async () => {
  await preview(
    async (port) => {
      const html = 'text/html; charset=utf-8';
      assert.deepEqual(await ask(port, '/'), { status: 200, type: html, text: 'front page' });
      assert.deepEqual(await ask(port, '/guide/tour'), { status: 200, type: html, text: 'tour' });
      assert.deepEqual(await ask(port, '/guide/tour?a#b'), { status: 200, type: html, text: 'tour' });
      assert.deepEqual(await ask(port, '/api/'), { status: 200, type: html, text: 'api' });
      assert.deepEqual(await ask(port, '/%61pi'), { status: 200, type: html, text: 'api' });
      assert.equal((await ask(port, '/app.js')).type, 'text/javascript; charset=utf-8');
      assert.deepEqual(await ask(port, '/', 'HEAD'), { status: 200, type: html, text: '' });
      assert.equal((await ask(port, '/', 'POST')).status, 405);
      for (const path of [
        '/nothing',
        '/../../../secret',
        '/..%2f..%2f..%2fsecret',
        '/guide/%2e%2e/%2e%2e/%2e%2e/%2e%2e/secret',
        '/../dist-other/secret',
        '/out',
        '/%00',
        '/%',
      ])
        assert.deepEqual(await ask(port, path), { status: 404, type: html, text: 'not here' }, path);
    },
    '--port',
    '0',
  );
});

test('the preview of the docs is reached from this machine only', async (t) => {
  const others = Object.values(networkInterfaces())
    .flat()
    .filter((one) => one !== undefined && !one.internal && !one.address.startsWith('fe80'))
    .map((one) => one!.address);
  let reached: string[] = [];
  await preview(
    async (port) => {
      assert.ok(await isReached('127.0.0.1', port));
      for (const address of others) if (await isReached(address, port)) reached = [...reached, address];
      // All of 127.0.0.0/8 is this machine: who listens on every address answers here, too.
      if (await isReached('127.0.0.2', port)) reached = [...reached, '127.0.0.2'];
      if (await isReached('::1', port)) reached = [...reached, '::1'];
    },
    '--port',
    '0',
  );
  assert.deepEqual(reached, []);
  t.diagnostic(`addresses tried: ${others.length}`);
});

test('the preview of the docs says what is wrong with a port', async () => {
  const none = async () => assert.fail('it listens');
  assert.match(await preview(none, '--port', 'x'), /--port takes a number from 0 to 65535, not x/);
  assert.match(await preview(none, '--host', '0.0.0.0'), /--host/);
  await preview(
    async (port) =>
      assert.match(await preview(none, '--port', String(port)), /another program listens on that port/),
    '--port',
    '0',
  );
});
