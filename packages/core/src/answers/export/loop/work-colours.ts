import type { LoopPart, PartState } from '../../index.ts';

/** What a part of a turn is drawn as. */
export type WorkKind = 'script' | 'native' | 'kernel' | 'gc' | 'compile' | 'unknown' | 'waiting' | 'ready';

export const WORK_WORDS: Readonly<Record<WorkKind, string>> = {
  script: 'JavaScript',
  native: 'native and builtins',
  kernel: 'kernel',
  gc: 'garbage collection',
  compile: 'compiling and parsing',
  unknown: 'on the CPU, no sample',
  waiting: 'waiting',
  ready: 'ready, no CPU free',
};

export const WORK_KINDS = Object.keys(WORK_WORDS) as readonly WorkKind[];

/** On a light page and on a dark one. Text keeps a contrast above 4.5 on all of them. */
const FILLS: Readonly<Record<WorkKind, readonly [light: string, dark: string]>> = {
  script: ['#98d6a0', '#2f6b3a'],
  native: ['#f2cf7c', '#6e531b'],
  kernel: ['#f4a79d', '#86402f'],
  gc: ['#d3b0ee', '#64408a'],
  compile: ['#9cc9f0', '#2d5a85'],
  unknown: ['#d9dbe0', '#43464f'],
  waiting: ['#eceef1', '#2a2d34'],
  ready: ['#f7c6df', '#7a3a5c'],
};

export function workRules(scheme: 'light' | 'dark'): string {
  const at = scheme === 'light' ? 0 : 1;
  return WORK_KINDS.map((kind) => `.${kind}{fill:${FILLS[kind][at]}}`).join('');
}

const KINDS_OF_STATE: Readonly<Partial<Record<PartState, WorkKind>>> = { waiting: 'waiting', ready: 'ready' };

const KINDS_OF_WORK: readonly (readonly [RegExp, WorkKind])[] = [
  [/^JavaScript$/, 'script'],
  [/^GC\b/, 'gc'],
  [/^(?:compile|parse|inline cache miss)/, 'compile'],
  [/^kernel$/, 'kernel'],
  [/^$/, 'unknown'],
];

export function workKind({ state, work }: Pick<LoopPart, 'state' | 'work'>): WorkKind {
  return KINDS_OF_STATE[state] ?? KINDS_OF_WORK.find(([pattern]) => pattern.test(work))?.[1] ?? 'native';
}
