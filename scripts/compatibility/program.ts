/** The program that each Node runs: what its time is spent in is known. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';

export interface Programs {
  /** Everything once, or without end where an argument says so. */
  everything: string;
  /** In the interpreter, as long as its parent lives. */
  interpreted: string;
  /** Blocks its event loop again and again. */
  blocker: string;
  /** Profiles itself, and prints its functions. */
  profiled: string;
  /** The source of the function that was compiled before. */
  mappedSource: string;
}

/** Of `mappedHot` in the source, where interfaces stand before it. */
export const MAPPED_LINE = 6;
const MAPPED = `interface First {
  a: number;
}
type Second = First | null;

export function mappedHot(count: number): number {
  let sum: number = 0;
  for (let i = 0; i < count; i++) sum = (sum * 31 + (sum % (i | 1))) | 0;
  return sum;
}
`;

/** `(func $wasmHot (param i32) (result i32))`: a loop, with its name in the section of names. */
const WASM = [
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f],
  ...[3, 2, 1, 0],
  ...[7, 7, 1, 3, 0x72, 0x75, 0x6e, 0, 0],
  ...[0x0a, 0x1e, 1, 0x1c, 1, 1, 0x7f, 3, 0x40],
  ...[0x20, 1, 0x41, 0x1f, 0x6c, 0x20, 0, 0x6a, 0x21, 1],
  ...[0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1, 0x0b],
  ...[0, 0x11, 4, 0x6e, 0x61, 0x6d, 0x65, 1, 0x0a, 1, 0, 7, 0x77, 0x61, 0x73, 0x6d, 0x48, 0x6f, 0x74],
];

/** The loop of `lineHot`, which stands in a line of its own. */
export const HOT_LINE = 9;
const EVERYTHING = `'use strict';
const { Worker } = require('node:worker_threads');
const { fork } = require('node:child_process');
const { mappedHot } = require('./mapped.js');
function fibHot(n) { return n < 2 ? n : fibHot(n - 1) + fibHot(n - 2); }
const fibCaller = () => fibHot(22);
function lineHot(n) {
  let t = 0;
  for (let i = 0; i < n; i++) t = (t * 31 + (t % (i | 1))) | 0;
  return t;
}
const lineCaller = () => lineHot(30_000);
function deepHot(a, b) { let x = a ^ b; for (let i = 0; i < 200; i++) x = (x * 31 + i) | 0; return x; }
function deepMiddle(a) { let s = 0; for (let j = 0; j < 3; j++) s = (s + deepHot(a, j)) | 0; return s; }
function deepCaller() { let t = 0; for (let k = 0; k < 300; k++) t ^= deepMiddle(k); return t; }
const mappedCaller = () => mappedHot(30_000);
let kept = [];
function allocates() { for (let i = 0; i < 5e4; i++) { kept.push({ i, next: [i] }); if (kept.length > 2e5) kept = []; } }
function matches() { let n = 0; for (let i = 0; i < 10; i++) n += /(x+x+)+y/.test('x'.repeat(18)) ? 1 : 0; return n; }
const { exports: wasm } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(${JSON.stringify(WASM)})));
const wasmCaller = () => wasm.run(100_000);
const phases = [fibCaller, lineCaller, deepCaller, mappedCaller, allocates, matches, wasmCaller];
const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e3; };
const run = (ms) => { for (const work of phases) for (const end = cpuMs() + ms; cpuMs() < end;) work(); };
const worker = (rounds) => new Worker('function workerHot(n) { let t = n; for (let i = 0; i < n; i++) t = (t * 31 + (t % (i | 1))) | 0; return t; } globalThis.all = 0; for (let i = 0; i < ' + rounds + '; i++) globalThis.all ^= workerHot(3e5);', { eval: true });
const child = (rounds) => fork(require.resolve('./child.js'), [String(rounds)], { stdio: 'ignore' });
if (process.argv[2] === 'once') {
  run(300);
  worker(300);
  child(300);
} else {
  const parent = process.ppid;
  let rounds = 0;
  const round = () => {
    if (process.ppid !== parent) process.exit();
    run(rounds < 15 ? 15 : 40);
    if (++rounds === 15) console.log('ready');
    if (rounds === 16) { worker(2000); child(2000); }
    setTimeout(round, 5);
  };
  round();
}
`;

const CHILD = `'use strict';
function childHot(n) { let t = n; for (let i = 0; i < n; i++) t = (t * 31 + (t % (i | 1))) | 0; return t; }
globalThis.all = 0;
for (let i = 0; i < Number(process.argv[2]); i++) globalThis.all ^= childHot(3e5);
`;

const INTERPRETED = `'use strict';
const list = Array.from({ length: 40 }, (_, i) => ({ ['p' + i]: i, x: i }));
function interpretedHot(n) { let t = 0; for (let i = 0; i < n; i++) { const o = list[i % 40]; t = (t * 31 + o.x) | 0; } return t; }
function interpretedCaller(n) { let t = 0; for (let i = 0; i < n; i++) t ^= interpretedHot(40); return t; }
const [parent, start] = [process.ppid, Date.now()];
if (process.argv[2] !== 'once') console.log('ready');
while (process.ppid === parent && (process.argv[2] !== 'once' || Date.now() - start < 800)) interpretedCaller(50);
`;

const BLOCKER = `'use strict';
function blocksLoop(ms) { const end = performance.now() + ms; let x = 0; while (performance.now() < end) x = Math.sqrt(x + 1); return x; }
const parent = process.ppid;
let rounds = 0;
const timer = setInterval(() => {
  blocksLoop(60);
  if (++rounds === 3 && process.argv[2] !== 'once') console.log('ready');
  if (process.ppid !== parent || (process.argv[2] === 'once' && rounds === 8)) clearInterval(timer);
}, 100);
`;

/** By the package as it is built. */
const profiled = (entry: string) => `import { profile } from ${JSON.stringify(entry)};
function profiledHot(n) { let t = 0; for (let i = 0; i < n; i++) t = (t * 31 + (t % (i | 1))) | 0; return t; }
const run = await profile(() => { for (const end = performance.now() + 600; performance.now() < end;) profiledHot(1e5); });
console.log(JSON.stringify(run.functions(5)));
`;

export function writePrograms(folder: string, entry: string): Programs {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const mappedSource = write('mapped.ts', MAPPED);
  const { code } = transformSync(MAPPED, {
    loader: 'ts',
    format: 'cjs',
    minifyWhitespace: true,
    sourcemap: 'inline',
    sourcefile: mappedSource,
  });
  write('mapped.js', code);
  write('child.js', CHILD);
  return {
    everything: write('everything.js', EVERYTHING),
    interpreted: write('interpreted.js', INTERPRETED),
    blocker: write('blocker.js', BLOCKER),
    profiled: write('profiled.mjs', profiled(entry)),
    mappedSource,
  };
}
