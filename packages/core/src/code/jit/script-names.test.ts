import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertQuick } from '../../test/assert-quick.ts';
import { parseScriptName, type ScriptName } from './script-names.ts';

function parts(symbol: string): (string | number | null)[] | null {
  const script: ScriptName | null = parseScriptName(symbol);
  return script === null ? null : [script.name, script.file, script.line, script.column, script.tier];
}

test('names that node --perf-basic-prof writes', () => {
  assert.deepEqual(parts('JS:*fib /app/fib.js:1:13'), ['fib', '/app/fib.js', 1, 13, '*']);
  assert.deepEqual(parts('JS:~ node:internal/main/run_main_module:1:1'), [
    '(anonymous)',
    'node:internal/main/run_main_module',
    1,
    1,
    '~',
  ]);
  assert.deepEqual(parts('JS:^get size file:///my app/a b.mjs:10:5'), [
    'get size',
    'file:///my app/a b.mjs',
    10,
    5,
    '^',
  ]);
  assert.deepEqual(parts("JS:+'map <anonymous>:3:4"), ['map', '<anonymous>', 3, 4, '+']);
  assert.deepEqual(parts('JS:*render eval at compile (/my app/views.js:10:5), <anonymous>:2:18'), [
    'render',
    'eval at compile (/my app/views.js:10:5), <anonymous>',
    2,
    18,
    '*',
  ]);
  assert.deepEqual(parts('JS:o*hot [eval]:1:16'), ['hot', '[eval]', 1, 16, '*']);
  assert.deepEqual(parts('JS:o+hot /x.js:1:16'), ['hot', '/x.js', 1, 16, '+']);
  assert.deepEqual(parts('JS:o /x.js:1:2'), ['o', '/x.js', 1, 2, '']);
  assert.deepEqual(parts('LazyCompile:*a.b /x.js:7'), ['a.b', '/x.js', 7, null, '*']);
  assert.deepEqual(parts('Function:walk /x.js:2:3'), ['walk', '/x.js', 2, 3, '']);
  assert.deepEqual(parts('Eval:~ evalmachine.<anonymous>:1:1'), [
    '(anonymous)',
    'evalmachine.<anonymous>',
    1,
    1,
    '~',
  ]);
  assert.deepEqual(parts('JS:*odd relative.js:4:2'), ['odd', 'relative.js', 4, 2, '*']);
  assert.deepEqual(parts('JS:*get [Symbol.species] node:internal/x:4:2'), [
    'get [Symbol.species]',
    'node:internal/x',
    4,
    2,
    '*',
  ]);
  assert.deepEqual(parts('JS:wasm-function[3]-3-liftoff'), ['wasm-function[3]', '', null, null, 'liftoff']);
  assert.deepEqual(parts('Function:fib-7-turbofan'), ['fib', 'wasm-function[7]', null, null, 'turbofan']);
  assert.deepEqual(parts('JS:*no source'), ['no source', '', null, null, '*']);
});

test('other code is no script', () => {
  for (const symbol of [
    'Builtin:ArrayMap',
    'RegExp:a+b',
    'main',
    'JS',
    '',
    'v8::JS:*x',
    'BytecodeHandler:Ldar',
  ]) {
    assert.equal(parts(symbol), null);
  }
});

test('any text after the kind is taken apart without loss of speed or sense', async () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const script = parseScriptName(`JS:${text}`)!;
      assert.notEqual(script.name, '');
    }),
  );
  const text = `JS:*${' '.repeat(100_000)}:1:1${':1'.repeat(100_000)}`;
  await assertQuick(1000, () => parseScriptName(text));
});
