/** Each error with a code says what to do. The compiler wants a remedy; here none of them may be empty. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CounterpointError, FormatError } from '@counterpoint/core/base';
import { EventSyntaxError } from '@counterpoint/core/events';
import { counters, openCounting, record } from 'counterpoint';
import { connect } from 'counterpoint/counting';
import { globSync } from './glob.ts';

/** What the command line refuses is followed by the usage of the verb, which is the remedy. */
const OF_THE_COMMAND_LINE = /packages\/node\/src\/cli\//;

const sources = globSync(['packages'], /\.ts$/).filter(
  (path) =>
    path.includes('/src/') &&
    !/\.(?:test|fuzz|pmu)\.ts$|\/test\//.test(path) &&
    !OF_THE_COMMAND_LINE.test(path),
);

/** What stands between the parentheses of `new XError(…)`. */
function argumentsAt(text: string, open: number): string {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return text.slice(open + 1, at);
  }
  return text.slice(open + 1);
}

test('no error is made with an empty remedy', () => {
  const constructions = sources.flatMap((path) => {
    const text = readFileSync(path, 'utf8');
    return [...text.matchAll(/new \w*Error\(/g)].map((match) => ({
      path,
      given: argumentsAt(text, match.index + match[0].length - 1),
    }));
  });
  assert.ok(constructions.length > 300, `${constructions.length} found`);
  const empty = constructions.filter(({ given }) => /[,:?] ''\s*,?\s*$/.test(given));
  assert.deepEqual(empty, []);
  const byDefault = sources.filter(
    (path) => /Error\b/.test(path) && /remedy = ''/.test(readFileSync(path, 'utf8')),
  );
  assert.deepEqual(byDefault, []);
});

const WRONG: readonly (readonly [what: string, call: () => unknown])[] = [
  ['counters(5)', () => counters(5 as never)],
  ['counters([])', () => counters([])],
  ["counters('cycels')", () => counters('cycels')],
  ["counters('cycles:')", () => counters('cycles:')],
  ['counters with an option that is none', () => counters('faults', { acces: 'read' } as never)],
  ['counters with a wrong option', () => counters('faults', { access: 'rdpmc' } as never)],
  ['openCounting()', () => openCounting(undefined as never)],
  ['openCounting({})', () => openCounting({} as never)],
  ['a target that is none', () => openCounting({ events: 'faults', target: 5 as never })],
  ['events that are none', () => openCounting({ events: 5 as never, target: { kind: 'self' } as never })],
  ['record()', () => record(undefined as never)],
  ['record({})', () => record({})],
  ['a frequency that is none', () => record({ command: ['true'], frequency: 'fast' as never })],
  ['a process that is none', () => connect('x' as never)],
  [
    'bytes that are none',
    () => {
      throw new FormatError('ERR_NOT_ELF', 0, 'an ELF file', 'no bytes');
    },
  ],
  [
    'an event without a remedy of its own',
    () => {
      throw new EventSyntaxError('a', 0, 'wrong');
    },
  ],
];

for (const [what, call] of WRONG)
  test(`${what}: the error says what to do`, async () => {
    const error = await (async () => call())().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof CounterpointError, String(error));
    assert.match(error.remedy, /\w{2}.*\S/, `${error.code}: ${error.message}`);
    assert.notEqual(error.remedy, error.message);
  });
