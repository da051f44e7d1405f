// Promises, async generators, streams of Node, timers and events: `node async.mjs ROUNDS`.
import { EventEmitter } from 'node:events';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

async function leaf(n) {
  let sum = 0;
  for (let i = 0; i < 40; i++) sum = (sum * 31 + n + i) | 0;
  return sum;
}

async function branch(n) {
  let sum = 0;
  for (let i = 0; i < 20; i++) sum ^= await leaf(n + i);
  return sum;
}

async function* numbers(n) {
  for (let i = 0; i < n; i++) yield await leaf(i);
}

async function consume(n) {
  let sum = 0;
  for await (const one of numbers(n)) sum ^= one;
  return sum;
}

async function streams(n) {
  let length = 0;
  const doubled = new Transform({
    objectMode: true,
    transform(chunk, _, done) {
      done(null, { text: chunk.text + chunk.text });
    },
  });
  const source = Readable.from(Array.from({ length: n }, (_, i) => ({ text: `chunk ${i}` })));
  await pipeline(source, doubled, async (parts) => {
    for await (const { text } of parts) length += text.length;
  });
  return length;
}

function events(n) {
  const emitter = new EventEmitter();
  let sum = 0;
  emitter.on('one', (value) => {
    sum += value;
  });
  emitter.on('one', (value) => {
    sum ^= value;
  });
  for (let i = 0; i < n; i++) emitter.emit('one', i);
  return sum;
}

const turn = () => new Promise((done) => setImmediate(done));

let sum = 0;
for (let round = 0; round < Number(process.argv[2]); round++) {
  sum ^= (await Promise.all(Array.from({ length: 50 }, (_, i) => branch(i)))).length;
  sum ^= (await consume(500)) + (await streams(300)) + events(3000);
  await turn();
}
console.log(sum);
