import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jitCodeName } from './code-names.ts';

const FIB = 'JS:fib /app/fib.js:1:13';

test('copies of a function have one name, whatever compiled them and whichever Node wrote the map', () => {
  for (const [recorded, tier] of [
    ['JS:~fib /app/fib.js:1:13', '~'],
    ['JS:^fib /app/fib.js:1:13', '^'],
    ['JS:+fib /app/fib.js:1:13', '+'],
    ["JS:+'fib /app/fib.js:1:13", '+'],
    ['JS:*fib /app/fib.js:1:13', '*'],
    ['JS:o*fib /app/fib.js:1:13', '*'],
    ['LazyCompile:*fib /app/fib.js:1:13', '*'],
    ['Function:^fib /app/fib.js:1:13', '^'],
    ['JS:fib /app/fib.js:1:13', ''],
  ] as const)
    assert.deepEqual(jitCodeName(recorded), { name: FIB, tier }, recorded);
});

test('the code of a file is interpreted as Eval or Script, and compiled as a function', () => {
  const names = ['Eval:~ /app/fib.js:1:1', 'Script:~ /app/fib.js:1:1', 'JS:* /app/fib.js:1:1'].map(
    (recorded) => jitCodeName(recorded).name,
  );
  assert.deepEqual(new Set(names), new Set(['JS:(anonymous) /app/fib.js:1:1']));
});

test('functions of one name in another place stay apart', () => {
  const places = ['/a.js:1:13', '/a.js:1:14', '/a.js:2:13', '/b.js:1:13', 'node:a:1:13'];
  assert.equal(new Set(places.map((place) => jitCodeName(`JS:*fib ${place}`).name)).size, places.length);
});

test('WebAssembly has its tier at the end', () => {
  assert.deepEqual(jitCodeName('JS:wasm-function[3]-3-liftoff'), {
    name: 'Wasm:wasm-function[3]',
    tier: 'liftoff',
  });
  assert.deepEqual(jitCodeName('Function:wasm-function[3]-3-turbofan'), {
    name: 'Wasm:wasm-function[3]',
    tier: 'turbofan',
  });
  assert.deepEqual(jitCodeName('JS:fib-0-turbofan'), { name: 'Wasm:fib wasm-function[0]', tier: 'turbofan' });
});

test('reading a name again changes nothing', () => {
  for (const recorded of [
    'JS:*fib /app/fib.js:1:13',
    'JS:~ node:internal/main/run_main_module:1:1',
    'JS:*f :3:4',
    'JS:fib-0-turbofan',
    'JS:wasm-function[3]-3-liftoff',
    'JS:*get [Symbol.species] node:internal/x:4:2',
    'Eval:~ evalmachine.<anonymous>:1:1',
    'JS:*no source',
  ]) {
    const { name } = jitCodeName(recorded);
    assert.deepEqual(jitCodeName(name), { name, tier: '' });
  }
});

test('.NET has its tier behind the signature', () => {
  const work = 'instance int32 [App] App.Program::Work(int32[],valuetype [App]App.Kind)';
  for (const tier of ['QuickJitted', 'OptimizedTier1', 'OptimizedTier1OSR', 'ReadyToRun'])
    assert.deepEqual(jitCodeName(`${work}[${tier}]`), { name: work, tier });
});

test('names of other runtimes stay as they are', () => {
  for (const name of [
    // Java: perf-map-agent, async-profiler.
    'Ljava/lang/String;::hashCode',
    'Ljava/util/HashMap;::putVal(ILjava/lang/Object;)[Ljava/lang/Object;',
    'java.util.Arrays.sort([I)[I',
    'Interpreter',
    'vtable stub',
    // .NET without tiers, and arrays at the end.
    'void [System.Private.CoreLib] System.String::Concat(string,string)',
    'int32[] [App] App.Program::Make(int32)[]',
    'App.Kind[Optimized]',
    // Julia, Python, Ruby, LuaJIT, PHP, BEAM, Wasmtime.
    'julia_multiply_123',
    'jfptr_*_456',
    'py::Shelf.put:/app/shelf.py',
    'Integer#* (block)',
    '~Shelf',
    'TRACE_1::multiply.lua:3',
    'lists:reverse/2',
    'wasm[0]::function[3]::fib',
    'fib-0-turbofan',
    // V8's own.
    'Builtin:ArrayMap',
    'BytecodeHandler:Ldar',
    'RegExp:^a*~b+ /x:1:2',
    'Stub:CEntry',
  ])
    assert.deepEqual(jitCodeName(name), { name, tier: '' });
});
