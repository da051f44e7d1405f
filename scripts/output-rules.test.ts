import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outputProblems, unusedExceptions } from './output-rules.ts';

const WAYS_PAST = [
  'console.log(name);',
  "import { Console } from 'node:console';",
  'process.stdout.write(name);',
  "process['stderr'].write(name);",
  'const { stdout } = process;',
  'process._rawDebug(name);',
  'writeSync(2, name);',
  'writeFileSync(1, name);',
  'writeSync(descriptor, name);',
  "openSync('/dev/stdout', 'w');",
  "openSync('/dev/tty', 'w');",
  "import { WriteStream } from 'node:tty';",
  "createWriteStream('', { fd: 1 })",
  'out.write("\\x1b[2J");',
  'out.line(JSON.stringify(answer));',
  'const mine = new Output(descriptorSink(2));',
  'out.binary(encoder.encode(name));',
  'out.screen([name]);',
];

test('every way past Output is found, in a verb', () => {
  for (const line of WAYS_PAST)
    assert.equal(outputProblems('cli/verb.ts', `ok();\n${line}\n`).length > 0, true, line);
  assert.match(
    outputProblems('cli/verb.ts', `\n${WAYS_PAST[0]}`)[0]!,
    /^cli\/verb\.ts:2: the console: console\.log/,
  );
});

test('and in any other room, where it reaches the terminal', () => {
  for (const line of WAYS_PAST.slice(0, 8))
    assert.equal(outputProblems('record/part.ts', line).length > 0, true, line);
});

test('what is right is let through', () => {
  for (const line of [
    'out.line(name);',
    'err.write(text);',
    'process.stdout.isTTY',
    'writeSync(this.#fd, bytes);',
  ])
    assert.deepEqual(outputProblems('record/part.ts', line), [], line);
  assert.deepEqual(outputProblems('cli/common/output.ts', 'at += writeSync(descriptor, bytes, at);'), []);
});

test('an exception that nobody needs is named', () => {
  assert.match(
    unusedExceptions(new Map()).join('\n'),
    /cli\/measuring\/top\/keys\.ts is excepted from "an escape sequence"/,
  );
});
