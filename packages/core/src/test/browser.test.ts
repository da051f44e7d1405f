import assert from 'node:assert/strict';
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
import { encodeRecords } from '../file-formats/perfdata/index.ts';
import { SampleLayout } from '../format/records/index.ts';
import { ATTR, comm, mmap2, recording, round, sample } from './recordings.ts';

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

/** What the page runs: the library as anyone would import it. */
const PAGE = `
import { collectStats, directorySource, ingestPerfData, memorySource, openPerfData, topFunctions, writeFolded } from '@counterpoint/core';
window.read = async (numbers) => {
  const bytes = Uint8Array.from(numbers);
  const stats = await collectStats(await openPerfData(memorySource(bytes)));
  const { profile } = await ingestPerfData(await openPerfData(memorySource(bytes)));
  return { stats, top: topFunctions(profile), folded: new TextDecoder().decode(await new Blob([...writeFolded(profile)]).arrayBuffer()) };
};
// As <input type="file" webkitdirectory> gives them.
window.readDirectory = async (files) => {
  const list = files.map(([name, numbers]) => new File([Uint8Array.from(numbers)], name));
  return collectStats(await openPerfData(directorySource(list.map((file) => ({ name: file.name, bytes: file })))));
};`;

test('a recording is read from bytes in a browser', {
  skip: CHROMIUM === undefined && 'no Chromium here',
}, async (t) => {
  const bundle = await build({
    stdin: {
      contents: PAGE,
      resolveDir: fileURLToPath(new URL('../../../node', import.meta.url)),
      loader: 'js',
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['counterpoint-source'],
  });
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(
      isScript
        ? bundle.outputFiles[0]!.text
        : '<!doctype html><script type="module" src="/page.js"></script>',
    );
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
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await page.waitForFunction('window.read !== undefined');
  const bytes = recording([
    comm(10, 'app', 1n, true),
    mmap2(10, 0x1000n, 0x1000n, '/bin/app', 2n),
    ...[3n, 4n, 5n].map((time) => sample({ time, chain: [0x1010n, 0x1020n] })),
    round(),
  ]);
  const answer = (await page.evaluate(`window.read(${JSON.stringify([...bytes])})`)) as {
    stats: { samples: number; records: Record<string, number> };
    top: { rows: { comm: string; dso: string; percent: number }[] };
    folded: string;
  };
  assert.equal(answer.stats.samples, 3);
  assert.deepEqual(answer.stats.records, { COMM: 1, SAMPLE: 3, MMAP2: 1, FINISHED_ROUND: 1 });
  assert.equal(answer.top.rows[0]?.dso, 'app');
  assert.equal(answer.top.rows[0]?.percent, 100);
  assert.match(answer.folded, /^app;.* 3$/m);

  const layout = new SampleLayout(ATTR);
  const rings = [[5n, 7n], [6n]].map((times, cpu) =>
    encodeRecords(
      times.map((time) => sample({ time, cpu })),
      layout,
    ),
  );
  const files = [
    ['data.1', [...rings[1]!]],
    ['notes.txt', [1]],
    ['data', [...recording([comm(10, 'app')])]],
    ['data.0', [...rings[0]!]],
  ];
  const stats = (await page.evaluate(`window.readDirectory(${JSON.stringify(files)})`)) as {
    samples: number;
    lastTimeNs: string;
  };
  assert.deepEqual([stats.samples, stats.lastTimeNs], [3, '7']);
});
