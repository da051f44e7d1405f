// A pool of two workers that parse, sort and hash, and a thread that hands out work: `node workers.mjs JOBS`.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

function parse(text) {
  return JSON.parse(text).rows;
}

function byDistance(a, b) {
  return Math.abs(a.at - 500) - Math.abs(b.at - 500) || a.id - b.id;
}

function digest(rows) {
  const hash = createHash('sha256');
  for (const { id, at } of rows) hash.update(`${id}:${at};`);
  return hash.digest('hex');
}

function work(text) {
  return digest(parse(text).sort(byDistance));
}

function makeJob(seed) {
  return JSON.stringify({ rows: Array.from({ length: 4000 }, (_, id) => ({ id, at: (id * seed) % 1009 })) });
}

async function drive(worker, jobs) {
  for (let job = jobs.pop(); job !== undefined; job = jobs.pop()) {
    worker.postMessage(makeJob(job));
    await once(worker, 'message');
  }
  worker.postMessage(null);
  await once(worker, 'exit');
}

if (isMainThread) {
  const jobs = Array.from({ length: Number(process.argv[2]) }, (_, i) => i + 7919);
  const pool = Array.from({ length: 2 }, () => new Worker(new URL(import.meta.url)));
  await Promise.all(pool.map((worker) => drive(worker, jobs)));
} else {
  parentPort.on('message', (text) => {
    if (text === null) parentPort.close();
    else parentPort.postMessage(work(text));
  });
}
