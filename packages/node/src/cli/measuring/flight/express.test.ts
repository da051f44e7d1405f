/** An Express server under load, one route of which is slow: the file names the function of that route. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { topFunctions } from '@counterpoint/core/query';
import { assertOnTime, onTime } from '../../../../../core/src/test/on-time.ts';
import { openRecording } from '../../../host/open/index.ts';
import { commandLineProcess } from '../../../test/command-line.ts';
import { perf, perfIsMissing, temporaryFolder } from '../../../test/perf.ts';

function expressPath(): string | null {
  try {
    return createRequire(import.meta.url).resolve('express');
  } catch {
    return null;
  }
}

const EXPRESS = expressPath();
const skip =
  (process.getuid?.() === 0 ? false : 'needs root') ||
  (EXPRESS === null && 'express is not installed (npm ci)');
const DELAY_MS = 300;
const CLIENTS = 4;

/** One route answers at once, one renders rows, and one makes a report, which takes long. */
const SERVER = `
const express = require(${JSON.stringify(EXPRESS)});
const app = express();
app.use(express.json());
const orders = Array.from({ length: 400 }, (_, id) => ({ id, customer: 'c' + (id % 37), total: (id * 7919) % 1000 }));
function listOrders(request, response) { response.json(orders.filter(({ customer }) => customer === request.query.customer)); }
function health(request, response) { response.send('ok'); }
function compareAllOrders() {
  let sum = 0;
  const end = process.cpuUsage().user + 900e3;
  while (process.cpuUsage().user < end)
    for (const one of orders) for (const other of orders) sum = (sum + one.total * other.total) % 1000003;
  return sum;
}
function monthlyReport(request, response) { response.json({ sum: compareAllOrders() }); }
app.get('/health', health);
app.get('/orders', listOrders);
app.get('/report', monthlyReport);
const server = app.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

/** Asks until it is told to end, one request after the other on each of some connections. */
class Load {
  answers = 0;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  readonly #clients: Promise<void>[];
  #isOver = false;

  constructor(port: number) {
    this.#clients = Array.from({ length: CLIENTS }, async (_, client) => {
      while (!this.#isOver) {
        await this.#ask(port, client % 2 === 0 ? '/health' : `/orders?customer=c${client}`);
        this.answers++;
      }
    });
  }

  async #ask(port: number, path: string): Promise<void> {
    const [response] = await once(get({ host: '127.0.0.1', port, path, agent: this.#agent }), 'response');
    assert.equal(response.statusCode, 200);
    response.resume();
    await once(response, 'end');
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    this.#agent.destroy();
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = await once(createInterface({ input: child.stdout! }), 'line');
  return line as string;
}

async function watchSlowRoute(t: TestContext, flags: readonly string[]): Promise<void> {
  const folder = temporaryFolder(t);
  const script = join(folder, 'server.js');
  writeFileSync(script, SERVER);
  const server = spawn(process.execPath, [...flags, script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => server.kill('SIGKILL'));
  const port = Number(await firstLine(server));
  const load = new Load(port);
  const words = ['flight', '-p', `${server.pid}`, '--on', `loop-delay:${DELAY_MS}ms`, '-F', '499', '--json'];
  const recorder = spawn(
    process.execPath,
    [...commandLineProcess(), ...words, '--keep', `${DELAY_MS}ms`, '--max-dumps', '1', '-o', folder],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  t.after(() => recorder.kill('SIGKILL'));
  let text = '';
  await new Promise<void>((watching) => {
    recorder.stderr!.on('data', (piece) => {
      text += piece;
      if (/watching/.test(text)) watching();
    });
  });
  const before = load.answers;
  const report = once(get({ host: '127.0.0.1', port, path: '/report' }), 'response');
  const dump = JSON.parse(await firstLine(recorder));
  assert.match(dump.trigger, /^loop-delay:300ms: process \d+, \d+ ms/);
  // The server goes on, and answers all.
  const [response] = await report;
  assert.equal(response.statusCode, 200);
  response.resume();
  await load.end();
  assert.ok(load.answers > before && before > CLIENTS, `${before} answers, ${load.answers} in the end`);
  await using recording = await openRecording(dump.path);
  const { profile } = await recording.profile();
  const { rows } = topFunctions(profile, { sort: ['symbol'], children: true });
  const share = (name: string) => rows.find(({ symbol }) => symbol?.includes(name))?.percent ?? 0;
  const found = JSON.stringify(rows.slice(0, 8).map(({ symbol, percent }) => [symbol, percent]));
  // Code of which the recorder saw late that it is there has no certain name.
  assertOnTime(share('compareAllOrders') > 50, `${found} ${text}`);
  assert.ok(share('listOrders') < share('compareAllOrders') / 2, found);
  if (perfIsMissing() !== false) return;
  // perf has as many samples. Their names are older ones: it cannot tell code from what was there before.
  const times = perf('script', '-i', dump.path, '-F', 'time').trim().split('\n');
  assert.equal(times.length, profile.samples.length);
}

for (const [how, flags] of [
  ['with flags for names', ['--perf-basic-prof', '--interpreted-frames-native-stack']],
  ['as it runs already, without flags', []],
] as const)
  test(`the slow route of an Express server under load, ${how}`, { skip, timeout: 300_000 }, (t) =>
    onTime(() => watchSlowRoute(t, flags)),
  );
