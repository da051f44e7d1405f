/** Programs of which is known, at any time, in which function and line they are. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `(func $wasmHot (param i32) (result i32))`: a loop, with its name in the section of names. */
export const WASM_LOOP = [
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f],
  ...[3, 2, 1, 0],
  ...[7, 7, 1, 3, 0x72, 0x75, 0x6e, 0, 0],
  ...[0x0a, 0x1e, 1, 0x1c, 1, 1, 0x7f, 3, 0x40],
  ...[0x20, 1, 0x41, 0x1f, 0x6c, 0x20, 0, 0x6a, 0x21, 1],
  ...[0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1, 0x0b],
  ...[0, 0x11, 4, 0x6e, 0x61, 0x6d, 0x65, 1, 0x0a, 1, 0, 7, 0x77, 0x61, 0x73, 0x6d, 0x48, 0x6f, 0x74],
];

/** What each part of a program spends its time in. */
export interface KnownPlace {
  /** What initialisers of classes are called differs between versions of V8. */
  functionNames: readonly string[];
  /** 0: it has none. */
  line: number;
  /** How its file begins, where that is no file. */
  fileStart?: string;
}

/** Part of a program, and when it ran (CLOCK_MONOTONIC, ns). */
export interface KnownInterval {
  kind: string;
  startNs: bigint;
  endNs: bigint;
}

/**
 * Writes to the path of its first argument which part ran when, at its end. Each part is for so many
 * milliseconds on the CPU; with a third argument, it waits for a line first.
 */
const FRAME = `'use strict';
const { writeFileSync } = require('node:fs');
const [, , logPath, partMs, waits] = process.argv;
const log = [];
const now = process.hrtime.bigint;
const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e3; };
const during = (kind, work, times = 1) => {
  const end = cpuMs() + times * Number(partMs), start = now();
  while (cpuMs() < end) work();
  log.push([kind, start, now()].join(' '));
};
const start = (main) => {
  const run = async () => { await main(); writeFileSync(logPath, log.join('\\n')); };
  if (waits === undefined) return run();
  console.log('up');
  process.stdin.once('data', () => { process.stdin.destroy(); run(); });
};
`;

/** `HOT kind function` ends the line that the part of this name is in. Each call takes some milliseconds. */
const TIERS = `${FRAME}
const list = Array.from({ length: 40 }, (_, i) => ({ ['p' + i]: i, x: i }));
function deoptimisable() {
  return function deoptimisedHot(row, n) {
    let t = 0;
    for (let i = 0; i < n; i++) t = (t + row[i % row.length].v) % 100003; // HOT deoptimised deoptimisedHot
    return t;
  };
}
let shapes = 0;
function deoptimises() {
  const hot = deoptimisable();
  hot([{ v: 1 }], 1e5);
  hot([{ v: 1 }, { ['q' + (shapes++ % 50)]: 1, v: 0.5 }], 5e4);
}
class Thing {
  /* The loop is in the initialiser. */
  sum = list.reduce((t, one) => { for (let i = 0; i < 1e4; i++) t = (t * 31 + one.x + i) | 0; return t; }, 0); // HOT fields (anonymous)
}
class Straight {
  constructor(base) { this.base = base; }
}
class Fields extends Straight {
  v = ${Array.from({ length: 400 }, (_, i) => `Math.sqrt(this.base + ${i})`).join(' + ')}; // HOT initialisers <instance_members_initializer>|Fields
}
function makesFields() { let t = 0; for (let i = 0; i < 2000; i++) t += new Fields(i).v; return t; }
const makesStatic = () => class {
  static total = 0;
  static {
    for (let i = 0; i < 2e5; i++) this.total = (this.total * 31 + i) | 0; // HOT statics <static_initializer>|(anonymous)
  }
};
class Private {
  #sum = 1;
  arrowHot = (n) => {
    for (let i = 0; i < n; i++) this.#sum = (this.#sum * 31 + i) | 0; // HOT privates arrowHot
    return this.#sum;
  };
}
const one = new Private();
const madeByEval = eval('// a comment\\n(function evalHot(n) {\\n let t = 0;\\n for (let i = 0; i < n; i++) t = (t * 31 + (t % (i | 1))) | 0;\\n return t; })');
const madeByFunction = new Function('n', 'let t = 0;\\nfor (let i = 0; i < n; i++) t = (t * 37 + (t % (i | 1))) | 0;\\nreturn t;');
const { exports: wasm } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(${JSON.stringify(WASM_LOOP)})));
function wasmCaller() { return wasm.run(2e6); }
const text = 'x'.repeat(18);
function regexpHot() {
  let n = 0;
  for (let i = 0; i < 20; i++) n += /(x+x+)+y/.test(text) ? 1 : 0; // HOT regexp regexpHot
  return n;
}
function* generatorHot(n) {
  let t = 0;
  for (let i = 0; i < n; i++) t = (t * 31 + (t % (i | 1))) | 0; // HOT generator generatorHot
  yield t;
}
start(async () => {
  during('deoptimised', deoptimises);
  during('fields', () => new Thing());
  during('initialisers', makesFields);
  during('statics', makesStatic);
  during('privates', () => one.arrowHot(12e5));
  during('eval', () => madeByEval(12e5));
  during('function', () => madeByFunction(12e5));
  during('wasm', wasmCaller);
  during('regexp', regexpHot);
  during('generator', () => generatorHot(12e5).next());
  const { Worker } = require('node:worker_threads');
  const worker = new Worker(require.resolve('./worker.js'), { argv: [logPath, partMs] });
  worker.on('message', (line) => log.push(line));
  await new Promise((resolve) => worker.on('exit', resolve));
});
`;

const WORKER = `${FRAME}
function workerHot(n) {
  let t = 0;
  for (let i = 0; i < n; i++) t = (t * 31 + (t % (i | 1))) | 0; // HOT worker workerHot
  return t;
}
// Who looks at memory from outside finds the code of a new thread late.
during('worker', () => workerHot(12e5), 3);
require('node:worker_threads').parentPort.postMessage(log[0]);
`;

/** Three lines of one function, one after the other, for interpreted and baseline code. */
const LINES = `${FRAME}
const list = Array.from({ length: 40 }, (_, i) => ({ ['p' + i]: i, x: i }));
const marks = [];
function linesHot(n) {
  let t = 0;
  marks.push(now());
  for (let i = 0; i < n; i++) t = (t * 31 + i) | 0; // HOT arithmetic linesHot
  marks.push(now());
  for (let i = 0; i < n; i++) t = (t * 31 + list[i % 40].x) | 0; // HOT properties linesHot

  marks.push(now());
  for (let i = 0; i < n; i += 200) { t = calledHot(t, i); } // the place of a call
  marks.push(now());
  return t;
}
function calledHot(t, from) {
  for (let i = from; i < from + 200; i++) t = (t * 31 + (t ^ i) + (t % 5) + (i % 3) + (t | i)) | 0; // HOT calls calledHot
  return t;
}
start(() => {
  for (const end = cpuMs() + 3 * Number(partMs); cpuMs() < end;) linesHot(3e4);
  for (let row = 0; row < marks.length; row += 4)
    ['arithmetic', 'properties', 'calls'].forEach((kind, part) => log.push([kind, marks[row + part], marks[row + part + 1]].join(' ')));
});
`;

/** Writes the programs into a folder; says where, and what is known of each. */
export function writeKnownTruth(folder: string) {
  mkdirSync(folder, { recursive: true });
  const madeByEval = `eval at ${join(folder, 'tiers.js')}:`;
  const places = new Map<string, KnownPlace>([
    ['eval', { functionNames: ['evalHot'], line: 4, fileStart: madeByEval }],
    // `new Function` writes two lines before what it is given.
    ['function', { functionNames: ['anonymous', '(anonymous)'], line: 4, fileStart: madeByEval }],
    ['wasm', { functionNames: ['wasmHot'], line: 0 }],
  ]);
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    text.split('\n').forEach((line, row) => {
      const [, kind, names] = /\/\/ HOT (\S+) (\S+)$/.exec(line) ?? [];
      if (kind !== undefined && names !== undefined)
        places.set(kind, { functionNames: names.split('|'), line: row + 1 });
    });
    return path;
  };
  write('worker.js', WORKER);
  return { places, tiers: write('tiers.js', TIERS), lines: write('lines.js', LINES) };
}

export function parseIntervals(text: string): KnownInterval[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [kind, start, end] = line.split(' ');
      return { kind: kind!, startNs: BigInt(start!), endNs: BigInt(end!) };
    })
    .sort((a, b) => (a.startNs < b.startNs ? -1 : 1));
}
