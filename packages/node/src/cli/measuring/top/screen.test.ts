import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TopAnswer, TopRow } from '@counterpoint/core/query';
import fc from 'fast-check';
import { PLAIN, STYLED, terminalText } from '../../common/styles.ts';
import { startState, type TopState } from './keys.ts';
import { fit, pageOf, type ScreenContent, screenLines, tableLines } from './screen.ts';
import type { TopHead, TopLook, TopTable } from './view.ts';

const HEAD: TopHead = {
  events: [{ name: 'cpu-clock', requestedName: 'cycles:P', frequencyHz: 4000, period: null }],
  target: 'all processes on 2 CPUs',
  cpus: 2,
  intervalMs: 2000,
};

const LOOK = {
  ...{ number: 1, elapsedMs: 2000, samples: 3860, kernelSamples: 1003, lost: 12, losses: [] },
  ...{ handlerNs: 3_165_200, readNs: 1_400_000, isNaming: false },
} as unknown as TopLook;

function row(percent: number, dso: string, symbol: string): TopRow {
  const weights = { selfPercent: percent, selfPeriod: '1', totalPeriod: '1' };
  return { percent, ...weights, samples: percent * 10, dso, symbol, mode: '.' };
}

function table(rows: readonly TopRow[]): TopTable {
  return { answer: { sort: ['dso', 'symbol'] } as TopAnswer, rows, rowCount: rows.length, idlePercent: 31 };
}

const STATE = startState({ sort: ['dso', 'symbol'] });
const ROWS = [
  row(61.25, 'libc.so.6', 'memcpy'),
  row(2, 'node', 'v8::internal::Heap::Scavenge()'),
  row(0.1, 'a', 'b'),
];

function screen(
  state: Partial<TopState> = {},
  columns = 80,
  rows = 10,
  content: Partial<ScreenContent> = {},
): string[] {
  const whole = { head: HEAD, look: LOOK, table: table(ROWS), message: 'a note', ...content };
  return screenLines(whole, { ...STATE, ...state }, { columns, rows }, PLAIN);
}

test('the whole screen', () => {
  assert.deepEqual(screen({}, 120), [
    'counterpoint top: cpu-clock, 4000 Hz, all processes on 2 CPUs, every 2.00 s',
    '3,860 samples (1,930/s), 26% kernel, 31% idle; 12 of 3,872 lost; handler 820 ns each, 0.08% of the CPUs; read in 1.40 ms',
    'by dso, symbol, fading, rows 1-3 of 3; h: help',
    'Overhead  Shared Object  Symbol',
    '  61.25%  libc.so.6      [.] memcpy',
    '   2.00%  node           [.] v8::internal::Heap::Scavenge()',
    '   0.10%  a              [.] b',
    '',
    '',
    'a note',
  ]);
});

test('before the first table, without rows, and what is switched on', () => {
  assert.equal(screen({}, 80, 10, { look: null, table: null })[1], 'first table in 2.00 s');
  const state = { filter: 'x', isZero: true, isPaused: true, hideKernel: true };
  assert.equal(
    screen(state, 100, 10, { table: table([]) })[2],
    'PAUSED, by dso, symbol, each table anew, with "x", without the kernel, no rows; h: help',
  );
  assert.equal(screen({ prompt: 'mem' }).at(-1), '/mem_');
  assert.ok(screen({ isHelp: true }, 80, 24).some((line) => /q, Ctrl-C, Ctrl-D +end/.test(line)));
  assert.match(screen({ first: 1 })[4]!, /node/);
  assert.match(screen({ showSamples: true })[4]!, /61\.25% +613 +libc/);
});

test('rows in colours, which take no width; names cannot change the terminal', () => {
  const [head, hot] = tableLines(
    table([row(61, 'evil\x1b[2J', '\u202e')]),
    STATE,
    { columns: 0, rows: 5 },
    STYLED,
  ).map(terminalText);
  assert.ok(head!.startsWith('\x1b[1mOverhead'));
  assert.equal(hot, '\x1b[31m  61.00%  evil\\x1b[2J    [.] \\u202e\x1b[39m');
});

test('whatever there is to show, it has the size of the window', () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 60 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.double({ min: 0, max: 100, noNaN: true }), name, name), { maxLength: 30 }),
      fc.record({
        columns: fc.integer({ min: 1, max: 200 }),
        rows: fc.integer({ min: 1, max: 40 }),
        first: fc.nat(40),
        prompt: fc.option(name),
        isHelp: fc.boolean(),
        message: name,
      }),
      (rows, { columns, rows: height, first, prompt, isHelp, message }) => {
        const content = {
          message,
          table: table(rows.map(([percent, dso, symbol]) => row(percent, dso, symbol))),
        };
        const lines = screen({ first, prompt, isHelp }, columns, height, content);
        assert.equal(lines.length, height);
        for (const line of lines) assert.equal(fit(line, columns), line);
      },
    ),
    { numRuns: 200 },
  );
});

test('text is cut by columns, not by characters', () => {
  assert.equal(fit('abcdef', 6), 'abcdef');
  assert.equal(fit('abcdef', 4), 'abc…');
  assert.equal(fit('日本語', 6), '日本語');
  assert.equal(fit('日本語', 5), '日本…');
  assert.equal(fit('日本語', 4), '日…');
  assert.equal(fit('abc', 0), '');
  assert.equal(pageOf({ columns: 80, rows: 24 }, { lines: null }), 19);
  assert.equal(pageOf({ columns: 80, rows: 24 }, { lines: 5 }), 5);
  assert.equal(pageOf({ columns: 80, rows: 1 }, { lines: null }), 1);
});
