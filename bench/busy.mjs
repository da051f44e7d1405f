// A busy program with call chains of many depths, for recordings of any length: node busy.mjs SECONDS, or for
// always the same work: node busy.mjs 0 ROUNDS. It says how many rounds it made, and in how much CPU time.
import { deflateSync } from 'node:zlib';

function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function nested(depth, value) {
  return depth === 0 ? JSON.stringify(value).length : nested(depth - 1, value) + 1;
}

const table = {
  rows: Array.from({ length: 200 }, (_, i) => ({ i, text: 'x'.repeat(i % 50), list: [i, i * 2] })),
};
const end = performance.now() + Number(process.argv[2] ?? 5) * 1000;
const wanted = Number(process.argv[3] ?? 0);
let rounds = 0;
while (rounds < wanted || performance.now() < end) {
  fibonacci(18);
  nested(30, table);
  const text = JSON.stringify(table);
  JSON.parse(text);
  deflateSync(text, { level: 6 });
  const numbers = Array.from({ length: 3000 }, (_, i) => (i * 7919) % 3001);
  numbers.sort((a, b) => a - b);
  const counts = new Map();
  for (let i = 0; i < 2000; i++) counts.set(`k${i % 500}`, i);
  'a,b,c,d'
    .repeat(200)
    .split(/,|b/)
    .map((word) => word.toUpperCase())
    .join('-');
  rounds++;
}
const { user, system } = process.cpuUsage();
console.log(`${rounds} rounds ${(user + system) / 1000} ms`);
