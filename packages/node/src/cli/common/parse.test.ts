import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineVerb, type VerbContext } from './args.ts';
import { parseArguments } from './parse.ts';
import { UsageError } from './usage-error.ts';

const options = [
  { long: 'freq', short: 'F', value: 'HZ', help: 'frequency' },
  { long: 'event', short: 'e', value: 'EVENT', help: 'event', repeat: true },
  { long: 'all-cpus', short: 'a', help: 'every CPU' },
  { long: 'g', help: 'call chains' },
  { long: 'call-graph', value: 'MODE', help: 'call chains by mode' },
  { long: 'inherit', short: 'i', help: 'children too', negatable: true },
  { long: 'compression-level', short: 'z', value: 'N', optionalValue: '1', help: 'compress' },
  { long: 'cpu', short: 'C', value: 'LIST', help: 'CPUs' },
  { long: 'max-size', value: 'SIZE', help: 'size limit' },
  { long: 'delay', short: 'D', value: 'MS', help: 'wait' },
  { long: 'clock', short: 'k', value: 'NAME', help: 'clock' },
] as const;

const record = defineVerb({
  name: 'record',
  summary: 's',
  usage: '[options] -- command',
  command: true,
  options,
  examples: [],
  run: () => 0,
});
const report = defineVerb({
  name: 'report',
  summary: 's',
  usage: '[options]',
  options: [
    {
      long: 'call-graph',
      short: 'g',
      value: 'HOW',
      optionalValue: 'caller',
      valueMayFollow: true,
      help: 'h',
    },
    { long: 'children', help: 'h', negatable: true },
    { long: 'stdio', help: 'h' },
    {
      long: 'branch-stack',
      short: 'b',
      value: 'edges|loops',
      optionalValue: 'edges',
      valueMayFollow: ['edges', 'loops'],
      help: 'h',
    },
  ],
  examples: [],
  run: () => 0,
});

const parse = (...words: string[]) => parseArguments(record, words);
const usageError = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof UsageError, String(error));
  assert.match(error.message, pattern);
  return true;
};

test('a value stands beside, behind or after an equals sign', () => {
  for (const words of [
    ['-F99'],
    ['-F', '99'],
    ['--freq=99'],
    ['--freq', '99'],
    ['--fr', '99'],
    ['-F98', '-F99'],
  ]) {
    assert.equal(parse(...words).number('freq'), 99, words.join(' '));
  }
  assert.equal(parse('-D', '-1').durationMs('delay'), -1);
});

test('switches bundle, also with a last letter that takes a value', () => {
  const args = parse('-agF99');
  assert.equal(args.boolean('all-cpus'), true);
  assert.equal(args.boolean('g'), true);
  assert.equal(args.number('freq'), 99);
  assert.equal(parse('-vvv').count('verbose'), 3);
});

test('no-NAME takes back; the last use decides', () => {
  assert.equal(parse().boolean('inherit', true), true);
  assert.equal(parse('--no-inherit').boolean('inherit', true), false);
  assert.equal(parse('--no-inherit', '-i').boolean('inherit'), true);
  assert.equal(parse('--no-inh').boolean('inherit', true), false);
  assert.throws(() => parse('--no-inherit=1'), usageError(/--no-inherit takes no value/));
  assert.throws(() => parse('--no-freq'), usageError(/unknown option --no-freq/));
});

test('an optional value is only taken attached, unless the row lets it follow', () => {
  assert.equal(parse('-z', '9').string('compression-level'), '1');
  assert.deepEqual(parse('-z', '9').words, ['9']);
  assert.equal(parse('-z9').string('compression-level'), '9');
  assert.equal(parse('--compression-level=9').string('compression-level'), '9');
  assert.equal(parse('--compression-level').string('compression-level'), '1');
  assert.equal(parseArguments(report, ['-g', 'callee']).string('call-graph'), 'callee');
  assert.equal(parseArguments(report, ['-g', '--stdio']).string('call-graph'), 'caller');
  assert.equal(parseArguments(report, ['-g']).string('call-graph'), 'caller');
  assert.equal(parseArguments(report, ['-b', 'loops']).string('branch-stack'), 'loops');
  const withFile = parseArguments(report, ['-b', 'perf.data']);
  assert.deepEqual([withFile.string('branch-stack'), withFile.words], ['edges', ['perf.data']]);
});

test('options end at the command, or at --; other verbs take them between words', () => {
  assert.deepEqual(parse('-a', 'ls', '-F', '--freq').words, ['ls', '-F', '--freq']);
  assert.deepEqual(parse('-a', '--', '-x', '--').words, ['-x', '--']);
  const args = parseArguments(report, ['file', '--stdio', '-']);
  assert.deepEqual(args.words, ['file', '-']);
  assert.equal(args.boolean('stdio'), true);
});

test('mistakes name what was probably meant', () => {
  assert.throws(() => parse('--frq=1'), usageError(/^unknown option --frq; did you mean --freq\?$/));
  assert.throws(() => parse('--xyzzy'), usageError(/^unknown option --xyzzy$/));
  assert.throws(
    () => parse('--c'),
    usageError(/--c is ambiguous: it could be --call-graph, --compression-level, .* or --clock/),
  );
  assert.throws(
    () => parse('-freq=1'),
    usageError(/unknown switch -f in -freq=1; did you mean --freq \(with two dashes\)\?/),
  );
  assert.throws(() => parse('-y'), usageError(/^unknown switch -y$/));
  assert.throws(() => parse('-F'), usageError(/^-F requires a value \(HZ\)$/));
  assert.throws(() => parse('--freq'), usageError(/^--freq requires a value \(HZ\)$/));
  assert.throws(() => parse('--all-cpus=3'), usageError(/^--all-cpus takes no value$/));
});

test('getters read units and refuse the rest in one style', () => {
  assert.equal(parse('-F', '25k').quantity('freq'), 25_000);
  assert.equal(parse('--max-size=10M').sizeBytes('max-size'), 10 * 2 ** 20);
  assert.equal(parse('--max-size=1.5k').sizeBytes('max-size'), 1536);
  assert.equal(parse('-D', '2s').durationMs('delay'), 2000);
  assert.deepEqual(parse('-e', 'cycles,faults', '-e', 'cs').list('event'), ['cycles', 'faults', 'cs']);
  assert.deepEqual(parse('-C', '3,0-1', '-C1').ranges('cpu'), [0, 1, 3]);
  assert.deepEqual(parse('-C', '0,').ranges('cpu'), [0]);
  assert.throws(() => parse('-C', ',').ranges('cpu'), usageError(/numbers and ranges/));
  assert.deepEqual(parse('-C', '5,7').numbers('cpu'), [5, 7]);
  assert.equal(parse('-k', 'mono').choice('clock', ['mono', 'boot']), 'mono');
  assert.equal(parse().number('freq', { min: 1 }, 4000), 4000);
  assert.equal(parse().string('clock'), undefined);
  assert.throws(() => parse('-Fabc').number('freq'), usageError(/^-F expects a whole number, not 'abc'$/));
  assert.throws(
    () => parse('-F0').number('freq', { min: 1 }),
    usageError(/^-F expects a value at least 1, not '0'$/),
  );
  assert.throws(() => parse('-F1.5').number('freq'), usageError(/whole number/));
  assert.throws(
    () => parse('-C', '3-1').ranges('cpu'),
    usageError(/numbers and ranges such as 0-3,8, not '3-1'/),
  );
  assert.throws(() => parse('-C', '0-999999999').ranges('cpu'), usageError(/at most 65536 numbers/));
  assert.throws(() => parse('--max-size=10Q').sizeBytes('max-size'), usageError(/--max-size expects a size/));
  assert.throws(
    () => parse('--max-size=').sizeBytes('max-size'),
    usageError(/--max-size has an empty value/),
  );
  assert.throws(
    () => parse('-k', 'mon').choice('clock', ['mono', 'boot']),
    (error) =>
      usageError(/^-k expects one of mono, boot, not 'mon'$/)(error) &&
      /Did you mean mono/.test((error as UsageError).remedy),
  );
});

test('the order of options is kept, for those that belong to the one before', () => {
  const args = parse('-e', 'a', '-a', '-e', 'b');
  assert.deepEqual(
    args.given.map(({ name, value }) => [name, value]),
    [
      ['event', 'a'],
      ['all-cpus', null],
      ['event', 'b'],
    ],
  );
});

test('a table that names one option twice is refused, and so is asking for one that is not in it', () => {
  assert.throws(
    () => defineVerb({ ...record, options: [...options, { long: 'other', short: 'F', help: '' }] }),
    /declares the option F twice/,
  );
  const args = parse() as unknown as VerbContext['args'];
  assert.throws(() => args.string('nothing'), /no option is named nothing/);
});
