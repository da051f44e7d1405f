/** Programs whose time is in functions that are known beforehand. */

/**
 * Each phase spends its time in a small function, `...Hot`, which is called by `...Caller`. They are small,
 * and called often: V8 inlines them all.
 */
const PHASES = `'use strict';
function deepHot(a, b) { let x = a ^ b; for (let i = 0; i < 200; i++) x = (x * 31 + i) | 0; return x; }
function deepMiddle(a) { let s = 0; for (let j = 0; j < 3; j++) s = (s + deepHot(a, j)) | 0; return s; }
function deepCaller(n) { let t = 0; for (let k = 0; k < n; k++) t ^= deepMiddle(k); return t; }
const arrowHot = (a) => { let x = a; for (let i = 0; i < 200; i++) x = (x * 33 + i) | 0; return x; };
const list = Array.from({ length: 100 }, (_, i) => i);
function arrowCaller() { let t = 0; list.forEach((a) => { t ^= arrowHot(a); }); return t; }
class Thing {
  #sum = 0;
  methodHot(a) { let x = a; for (let i = 0; i < 200; i++) x = (x * 35 + i) | 0; this.#sum ^= x; }
  methodCaller(n) { for (let k = 0; k < n; k++) this.methodHot(k); return this.#sum; }
}
const generatorHot = (a) => { let x = a; for (let i = 0; i < 600; i++) x = (x * 37 + i) | 0; return x; };
function* numbers(n) { for (let i = 0; i < n; i++) yield i; }
function generatorCaller(n) { let t = 0; for (const a of numbers(n)) t ^= generatorHot(a); return t; }
const evaluated = eval('(function evaluatedCaller(n) { let t = 0; for (let k = 0; k < n; k++) t ^= evaluatedHot(k); return t; function evaluatedHot(a) { let x = a; for (let i = 0; i < 200; i++) x = (x * 39 + i) | 0; return x; } })');
const asyncHot = (a) => { let x = a; for (let i = 0; i < 600; i++) x = (x * 41 + i) | 0; return x; };
async function asyncCaller(n) { let t = 0; for (let k = 0; k < n; k++) t ^= asyncHot(k); await null; return t; }
const thing = new Thing();
const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e3; };
`;

/** Every phase once, for 350 ms on a CPU: a busy machine takes longer. */
export const PHASES_ONCE = `${PHASES}const until = (run) => { const end = cpuMs() + 350; while (cpuMs() < end) run(); };
until(() => deepCaller(300));
until(() => arrowCaller());
until(() => thing.methodCaller(300));
until(() => generatorCaller(300));
until(() => evaluated(300));
(async () => { const end = cpuMs() + 350; while (cpuMs() < end) await asyncCaller(300); })();
`;

/** The first phase alone. */
export const DEEP_ONCE = `${PHASES}const end = cpuMs() + 500; while (cpuMs() < end) deepCaller(300);`;

/** All phases in turn, until the one that started it is gone. Says so when they are compiled. */
export const PHASES_FOREVER = `${PHASES}const runs = [
  () => deepCaller(300), arrowCaller, () => thing.methodCaller(300), () => generatorCaller(300),
  () => evaluated(300), () => asyncCaller(300),
];
const parent = process.ppid;
let rounds = 0;
(async () => {
  while (process.ppid === parent) {
    for (const run of runs) {
      const end = cpuMs() + 10;
      while (cpuMs() < end) await run();
    }
    if (++rounds === 15) console.log('compiled');
  }
})();
`;

/** By phase: functions that its stacks have, the last one innermost. */
export const PHASE_CHAINS: Readonly<Record<string, readonly string[]>> = {
  deep: ['deepCaller', 'deepMiddle', 'deepHot'],
  arrow: ['arrowCaller', 'arrowHot'],
  method: ['methodCaller', 'methodHot'],
  generator: ['generatorCaller', 'generatorHot'],
  evaluated: ['evaluatedCaller', 'evaluatedHot'],
  async: ['asyncCaller', 'asyncHot'],
};

/**
 * By phase: how many samples it has, and the share that has its functions in order, the last one innermost.
 */
export function phaseShares(
  stacks: Iterable<readonly string[]>,
): Map<string, { count: number; share: number }> {
  const all = new Map<string, number>();
  const right = new Map<string, number>();
  for (const names of stacks) {
    const phase = names.map((name) => /^([a-z]+)(?:Caller|Hot)$/.exec(name)?.[1]).find(Boolean);
    const chain = phase === undefined ? undefined : PHASE_CHAINS[phase];
    if (phase === undefined || chain === undefined) continue;
    all.set(phase, (all.get(phase) ?? 0) + 1);
    let next = 0;
    for (const name of names) if (name === chain[next]) next++;
    if (next === chain.length && names.at(-1) === chain.at(-1)) right.set(phase, (right.get(phase) ?? 0) + 1);
  }
  return new Map(
    [...all].map(([phase, count]) => [phase, { count, share: (right.get(phase) ?? 0) / count }]),
  );
}

/**
 * V8 11 says of some instructions of the loop inlined into an async function that
 * they are the caller's: an eighth.
 */
export function leastShare(phase: string): number {
  return phase === 'async' ? 0.75 : 0.9;
}
