/**
 * A trace in headless Chromium, by its workers and in the page itself: the counts
 * and the hash that Node finds.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { CodeImage } from '../code/image/index.ts';
import {
  AddressHash,
  ExecutionEncoder,
  profileAnswer,
  profileTrace,
  RandomWalk,
  streamInstructions,
} from '../pt/index.ts';

/** The half minute that is usual is soon over where others have the machine. */
const PATIENCE_MS = 180_000;

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
);
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
];

/** At 0x1000, a: call b; jne a; ret. b: jne +2; nop; nop; ret. */
const CODE = [0xe8, 3, 0, 0, 0, 0x75, 0xf9, 0xc3, 0x75, 2, 0x90, 0x90, 0xc3];

const PAGE = `
import { CodeImage, newSharedBytes } from '@counterpoint/trace/image';
import { AddressHash, profileAnswer, profileInParts, streamInstructions, webPartWorker } from '@counterpoint/trace/intel-pt';
import { blobSource } from '@counterpoint/core/base';
const image = () => {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x1000n, bytes: Uint8Array.from(${JSON.stringify(CODE)}) });
  return image;
};
window.decode = async (count, way) => {
  const blob = await (await fetch('/trace.pt')).blob();
  let source = blobSource(blob);
  if (way === 'shared') {
    source = newSharedBytes(blob.size);
    source.set(new Uint8Array(await blob.arrayBuffer()));
  }
  const workers = Array.from({ length: count }, () => webPartWorker(new Worker('/worker.js', { type: 'module' })));
  const found = await profileInParts(source, image(), { workers, partBytes: 50_000 });
  const hash = new AddressHash();
  streamInstructions(new Uint8Array(await blob.arrayBuffer()), image(), {}, hash.add);
  const { profile } = found;
  const columns = JSON.stringify(Object.values(profile.toColumns()).map((column) => ArrayBuffer.isView(column) ? [...column] : column));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(columns)));
  return {
    isIsolated: crossOriginIsolated,
    answer: profileAnswer(found, hash.toString()),
    columns: [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
  };
};
/** By a worker that is not there, or that is another program. */
window.failBy = (url) => {
  const workers = [webPartWorker(new Worker(url, { type: 'module' }))];
  return profileInParts(new Uint8Array(100), image(), { workers }).catch(({ code, remedy }) => ({ code, remedy }));
};`;

async function bundled(contents: { stdin: string } | { file: string }): Promise<string> {
  const result = await build({
    ...('stdin' in contents
      ? {
          stdin: {
            contents: contents.stdin,
            resolveDir: fileURLToPath(new URL('../../../node', import.meta.url)),
            loader: 'js',
          },
        }
      : { entryPoints: [contents.file] }),
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['counterpoint-source'],
  });
  return result.outputFiles[0]!.text;
}

function damagedTrace(image: CodeImage): Uint8Array<ArrayBuffer> {
  const path = new RandomWalk({
    seed: 11,
    entries: Int32Array.of(0x1000, 0, 0x1008, 0),
    interruptEvery: 200,
  });
  const encoder = new ExecutionEncoder(image, path, { hash: false });
  const trace = new Uint8Array(Buffer.concat([...encoder.chunks({ bytes: 400_000 })]));
  trace.fill(0x05, 150_000, 150_004);
  return trace;
}

test('a trace is decoded by workers in a browser', {
  skip: CHROMIUM === undefined && 'no Chromium here',
}, async (t) => {
  const image = new CodeImage();
  image.addSection({ name: 'code', address: 0x1000n, bytes: Uint8Array.from(CODE) });
  const trace = damagedTrace(image);
  const here = profileTrace(trace, image);
  const hash = new AddressHash();
  streamInstructions(trace, image, {}, hash.add);
  const expected = profileAnswer(here, hash.toString());
  assert.ok(expected.errors.length > 0 && Number(expected.instructions) > 300_000, JSON.stringify(expected));
  const columns = Object.values(here.profile.sorted().toColumns()).map((column) =>
    column instanceof Int32Array || column instanceof Float64Array ? [...column] : column,
  );
  const digest = createHash('sha256').update(JSON.stringify(columns)).digest('hex');

  const files = new Map<string, [type: string, body: string | Uint8Array]>([
    ['/', ['text/html', '<!doctype html><script type="module" src="/page.js"></script>']],
    ['/page.js', ['text/javascript', await bundled({ stdin: PAGE })]],
    [
      '/worker.js',
      [
        'text/javascript',
        await bundled({
          file: fileURLToPath(new URL('../entries/intel-pt-worker.ts', import.meta.url)),
        }),
      ],
    ],
    ['/trace.pt', ['application/octet-stream', trace]],
  ]);
  // Memory is shared only in a page that is isolated from others: once with, once without.
  let isIsolated = false;
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '');
    if (isIsolated) {
      response.setHeader('cross-origin-opener-policy', 'same-origin');
      response.setHeader('cross-origin-embedder-policy', 'require-corp');
    }
    response.statusCode = file === undefined ? 404 : 200;
    response.setHeader('content-type', file?.[0] ?? 'text/plain');
    response.end(file?.[1]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = await mkdtemp(join(tmpdir(), 'counterpoint-browser-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: CHROMIUM!,
    args: FLAGS,
    headless: true,
  });
  t.after(async () => {
    await context.close();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  for (const way of ['sent', 'shared']) {
    isIsolated = way === 'shared';
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.waitForFunction('window.decode !== undefined');
    for (const count of [1, 3])
      assert.deepEqual(
        await page.evaluate(`window.decode(${count}, '${way}')`),
        { isIsolated, answer: expected, columns: digest },
        `${count} workers, bytes ${way}`,
      );
    for (const url of ['/absent.js', '/', '/page.js']) {
      const { code, remedy } = await page.evaluate<{ code: string; remedy: string }>(
        `window.failBy('${url}')`,
      );
      assert.equal(code, 'ERR_PT_WORKER', url);
      assert.match(remedy, /intel-pt-worker.*"module"/);
    }
    await page.close();
  }
});
