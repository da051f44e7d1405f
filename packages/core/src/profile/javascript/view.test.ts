import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExampleBuilder } from '../../test/example-profile.ts';
import { NONE, type Profile } from '../tables/index.ts';
import { assertTableInvariants } from '../tables/invariants.ts';
import { type JavascriptView, javascriptTime, viewJavascript } from './view.ts';

/**
 * Stacks as texts, outermost function first: `JS:` is JavaScript, `k:` the kernel, `gone:` without a name.
 */
function profileOf(stacks: readonly (readonly [pid: number, stack: string])[]): Profile {
  const builder = new ExampleBuilder();
  const jit = builder.binary('/tmp/perf-1.map', 'jit');
  const kernel = builder.binary('[kernel.kallsyms]', 'kernel');
  const user = builder.binary('/bin/node', 'user');
  const gone = builder.binary('/bin/gone', 'user');
  const library = builder.binary('/lib/library.so', 'user');
  const event = builder.event({ name: 'cpu-clock' });
  for (const [timeNs, [pid, text]] of stacks.entries()) {
    const frames = text.split(' ─ ').map((name) => {
      if (name.startsWith('lib:')) return builder.frame(library, null, BigInt(name.slice('lib:'.length)));
      const isJit = name.startsWith('JS:') || name.startsWith('RegExp');
      if (name.startsWith('gone:')) return builder.frame(gone, null, BigInt(name.slice('gone:'.length)));
      const binary = isJit ? jit : name.startsWith('k:') ? kernel : user;
      return builder.frame(binary, name, BigInt(0x1000 + name.length));
    });
    const thread = builder.thread(pid, pid, 'node');
    builder.sample({ timeNs, thread, stack: builder.stack(frames), event, weight: 10, cpu: 0 });
  }
  return builder.profile;
}

function shown(profile: Profile): string[] {
  return Array.from({ length: profile.samples.length }, (_, row) => {
    const names: string[] = [];
    for (let at = profile.samples.stack.at(row); at !== NONE; at = profile.stacks.prefix.at(at)) {
      const symbol = profile.frames.symbol.at(profile.stacks.frame.at(at));
      names.unshift(profile.strings.get(profile.symbols.name.at(symbol)));
    }
    return names.join(' ─ ');
  });
}

function viewed(view: JavascriptView, stacks: readonly (readonly [number, string])[]): string[] {
  const profile = profileOf(stacks);
  assert.notEqual(viewJavascript(profile, view), null);
  assertTableInvariants(profile);
  return shown(profile);
}

const PROGRAM = [
  [1, 'main ─ Builtins_JSEntry ─ JS:a /a.js:1:1 ─ JS:b /a.js:2:1'],
  [1, 'main ─ JS:a /a.js:1:1 ─ Builtins_ArrayMap ─ JS:b /a.js:2:1 ─ Builtins_Add'],
  [
    1,
    'main ─ JS:a /a.js:1:1 ─ v8::internal::Runtime_Allocate ─ v8::internal::Heap::CollectGarbage ─ k:page_fault',
  ],
  [1, 'main ─ JS:a /a.js:1:1 ─ node::fs::Read ─ k:read'],
  [1, 'main ─ JS:a /a.js:1:1 ─ deflate'],
  [1, 'start_thread ─ v8::internal::compiler::Run ─ malloc'],
  [1, 'start_thread ─ deflate'],
  [
    1,
    'main ─ JS:a /a.js:1:1 ─ Builtins_InterpreterEntryTrampoline ─ Builtins_InterpreterEntryTrampoline ─ Builtins_Add',
  ],
] as const;

test('what V8 and the kernel do counts for the function that called them', () => {
  assert.deepEqual(viewed('charge', PROGRAM), [
    'JS:a /a.js:1:1 ─ JS:b /a.js:2:1',
    'JS:a /a.js:1:1 ─ JS:b /a.js:2:1',
    'JS:a /a.js:1:1',
    'JS:a /a.js:1:1',
    'JS:a /a.js:1:1',
    '(compile: TurboFan)',
    'start_thread ─ deflate',
    'JS:a /a.js:1:1 ─ (functions without a name)',
  ]);
});

test('or is a row of its category', () => {
  assert.deepEqual(viewed('categories', PROGRAM), [
    'JS:a /a.js:1:1 ─ JS:b /a.js:2:1',
    'JS:a /a.js:1:1 ─ JS:b /a.js:2:1 ─ (builtin)',
    'JS:a /a.js:1:1 ─ (GC)',
    'JS:a /a.js:1:1 ─ (kernel)',
    'JS:a /a.js:1:1 ─ (native)',
    '(compile: TurboFan)',
    'start_thread ─ deflate',
    'JS:a /a.js:1:1 ─ (functions without a name) ─ (builtin)',
  ]);
});

const SERVER = [
  [1, 'main ─ JS:emit node:events:1:1 ─ JS:route /a.js:1:1 ─ JS:end node:http:1:1 ─ JS:write node:net:1:1'],
  [1, 'main ─ JS:emit node:events:1:1 ─ JS:route /a.js:1:1 ─ JS:end node:http:1:1 ─ k:write'],
  [1, 'JS:emit node:events:1:1 ─ JS:route /a.js:1:1 ─ JS:sort node:x:1:1 ─ JS:compare /a.js:2:1'],
  [1, 'main ─ JS:emit node:events:1:1 ─ JS:parse node:http:2:1 ─ Builtins_Add'],
] as const;

test('functions of folded files count for the function that called them, where one did', () => {
  const isFolded = (file: string) => file.startsWith('node:');
  const profile = profileOf(SERVER);
  const { shares } = viewJavascript(profile, 'charge', isFolded)!;
  assertTableInvariants(profile);
  assert.deepEqual(shown(profile), [
    'JS:emit node:events:1:1 ─ JS:route /a.js:1:1',
    'JS:emit node:events:1:1 ─ JS:route /a.js:1:1',
    'JS:emit node:events:1:1 ─ JS:route /a.js:1:1 ─ JS:compare /a.js:2:1',
    'JS:emit node:events:1:1 ─ JS:parse node:http:2:1',
  ]);
  // Folding moves time from function to function; what kind of work it was stays.
  assert.deepEqual(shares, javascriptTime(profileOf(SERVER))!.shares);
});

test('categories have all of the time, and no time of other processes', () => {
  const profile = profileOf([...PROGRAM, [2, 'main ─ compress']]);
  const before = shown(profile);
  const { pids, shares } = javascriptTime(profile)!;
  assert.deepEqual(pids, [1]);
  assert.equal(
    shares[0]!.reduce((sum, { weight }) => sum + weight, 0),
    80,
  );
  assert.deepEqual(Object.fromEntries(shares[0]!.map(({ category, samples }) => [category, samples])), {
    native: 2,
    builtin: 2,
    javascript: 1,
    gc: 1,
    kernel: 1,
    compile: 1,
  });
  assert.deepEqual(shown(profile), before);
});

test('other processes keep their stacks', () => {
  const stacks = viewed('charge', [
    PROGRAM[0],
    [2, 'main ─ Builtins_Add ─ v8::internal::Heap::CollectGarbage'],
  ]);
  assert.equal(stacks[1], 'main ─ Builtins_Add ─ v8::internal::Heap::CollectGarbage');
});

test('without JavaScript nothing is changed', () => {
  const profile = profileOf([[2, 'main ─ Builtins_InterpreterEntryTrampoline']]);
  assert.equal(viewJavascript(profile, 'charge'), null);
  assert.equal(javascriptTime(profile), null);
  assert.deepEqual(shown(profile), ['main ─ Builtins_InterpreterEntryTrampoline']);
});

test('a regular expression is named', () => {
  assert.deepEqual(
    viewed('categories', [
      [1, 'main ─ JS:a /a.js:1:1 ─ Builtins_RegExpPrototypeExec ─ RegExp:(a+)+$'],
      [1, "main ─ JS:a /a.js:1:1 ─ Builtins_RegExpPrototypeExec ─ RegExp.> src: '(a+)+$' flags: 'gi'"],
      [1, "main ─ JS:a /a.js:1:1 ─ Builtins_RegExpPrototypeExec ─ RegExp.< src: 'b+' flags: ''"],
      [1, 'main ─ JS:a /a.js:1:1 ─ Builtins_RegExpPrototypeExec'],
    ]),
    [
      'JS:a /a.js:1:1 ─ (regexp /(a+)+$/)',
      'JS:a /a.js:1:1 ─ (regexp /(a+)+$/gi)',
      'JS:a /a.js:1:1 ─ (regexp /b+/)',
      'JS:a /a.js:1:1 ─ (regexp)',
    ],
  );
});

test('code of a binary without names is no native code of the program: nobody knows what it did', () => {
  const profile = profileOf([
    [1, 'main ─ JS:a /a.js:1:1 ─ deflate'],
    [1, 'gone:1 ─ JS:a /a.js:1:1 ─ gone:2'],
    [1, 'gone:1 ─ JS:a /a.js:1:1 ─ gone:3 ─ malloc'],
    [1, 'gone:1 ─ JS:a /a.js:1:1 ─ gone:3 ─ k:page_fault'],
    [1, 'gone:1 ─ JS:a /a.js:1:1'],
    [1, 'gone:1 ─ JS:a /a.js:1:1 ─ lib:7'],
  ]);
  const { shares, namelessBinaries } = viewJavascript(profile, 'categories')!;
  assert.deepEqual(Object.fromEntries(shares[0]!.map(({ category, samples }) => [category, samples])), {
    // Of a stripped library, which calls no JavaScript, this is as much as before.
    native: 2,
    nameless: 2,
    kernel: 1,
    javascript: 1,
  });
  assert.deepEqual(namelessBinaries, ['gone']);
  assert.deepEqual(shown(profile).slice(1, 3), [
    'JS:a /a.js:1:1 ─ (code without names)',
    'JS:a /a.js:1:1 ─ (code without names)',
  ]);
  assert.deepEqual(javascriptTime(profileOf(PROGRAM))!.namelessBinaries, []);
});

test('WebAssembly is a category of its own', () => {
  const profile = profileOf([[1, 'main ─ JS:a /a.js:1:1 ─ JS:wasm-function[3]-3-liftoff']]);
  assert.deepEqual(
    viewJavascript(profile, 'charge')!.shares[0]!.map(({ category }) => category),
    ['wasm'],
  );
});
