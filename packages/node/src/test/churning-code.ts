/** A program that makes code, throws it away, and says which function ran when. */

/**
 * Makes one function after the other, each with a name of its own, and lets it spin. Rubbish is collected
 * meanwhile, so that addresses of code are used again. At the end it writes its log: name, start, end
 * (CLOCK_MONOTONIC, ns). Arguments: the log's path, how many functions, for how many milliseconds each of
 * them spins, whether it waits for a line first.
 */
export const CHURN = `'use strict';
const { writeFileSync } = require('node:fs');
require('node:v8').setFlagsFromString('--expose-gc');
const gc = require('node:vm').runInNewContext('gc');
const [, , path, count, spinMs, waits] = process.argv;
const log = [];
function run(number) {
  // Of different sizes, so that code does not come to lie where it lay.
  const more = Array.from({ length: number % 7 }, (_, row) => 'if (x === ' + (row + 3e9) + ') x ^= ' + row + ';').join('');
  const body = 'return function churn' + number + '(end, now) { let x = 1; while (now() < end) '
    + 'for (let i = 0; i < 3000; i++) { x = (x * 31 + i) | 0; ' + more + ' } return x; }';
  const spin = new Function(body)();
  const start = process.hrtime.bigint();
  spin(start + BigInt(spinMs) * 1000000n, process.hrtime.bigint);
  log.push('churn' + number + ' ' + start + ' ' + process.hrtime.bigint());
}
function churn() {
  for (let number = 0; number < Number(count); number++) {
    run(number);
    if (number % 10 === 9) gc();
  }
  writeFileSync(path, log.join('\\n'));
  console.log('done');
}
if (waits === undefined) churn();
else {
  console.log('up');
  process.stdin.once('data', () => { churn(); process.stdin.destroy(); });
}
`;

export interface Interval {
  name: string;
  startNs: bigint;
  endNs: bigint;
}

export function parseLog(text: string): Interval[] {
  return text.split('\n').map((line) => {
    const [name, start, end] = line.split(' ');
    return { name: name!, startNs: BigInt(start!), endNs: BigInt(end!) };
  });
}
