import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InlinedCode } from '../../code/jit/index.ts';
import { parseScriptName } from '../../code/jit/index.ts';
import { ExampleBuilder } from '../../test/example-profile.ts';
import { NONE, type Profile } from '../tables/index.ts';
import { assertTableInvariants } from '../tables/invariants.ts';
import { mendStacks } from './javascript-stacks.ts';

const CODE: InlinedCode = {
  recordedName: 'JS:*outer /a.js:1:1',
  start: 0x1000,
  size: 0x100,
  calls: [
    { functionName: 'middle', parent: -1, line: 0, column: 0 },
    { functionName: 'inner', parent: 0, line: 0, column: 0 },
  ],
  positions: [
    { offset: 0, call: -1, line: 1, column: 1 },
    { offset: 0x20, call: 0, line: 2, column: 1 },
    { offset: 0x40, call: 1, line: 3, column: 1 },
    { offset: 0x60, call: -1, line: 1, column: 2 },
  ],
};

/** Stacks as texts, `main ─ outer`, by the offset in the code of `outer`. */
function expanded(build: (make: Maker) => void, hasStackTops = false): string[] {
  const builder = new ExampleBuilder();
  const { profile } = builder;
  const code = profile.jitCode.start.push(CODE.start);
  profile.jitCode.recordedName.push(profile.strings.intern(CODE.recordedName));
  profile.jitCode.tier.push(profile.strings.intern('*'));
  const interpretedCode = profile.jitCode.start.push(0x9000);
  profile.jitCode.recordedName.push(profile.strings.intern('JS:~'));
  profile.jitCode.tier.push(profile.strings.intern('~'));
  const jit = builder.binary('/tmp/perf-1.map', 'jit');
  const kernel = builder.binary('[kernel.kallsyms]', 'kernel');
  const user = builder.binary('/bin/node', 'user');
  const event = builder.event({ name: 'cpu-clock' });
  const thread = builder.thread(1, 1, 'node');
  const guessedCallers = new Set<number>();
  const make: Maker = {
    outer: (offset) => {
      const frame = builder.frame(jit, 'outer', BigInt(CODE.start + offset), offset);
      profile.frames.jitCode.data[frame] = code;
      return frame;
    },
    interpreted: (name) => {
      const frame = builder.frame(jit, name, 0x9000n, 0xdc);
      profile.frames.jitCode.data[frame] = interpretedCode;
      return frame;
    },
    kernel: (name) => builder.frame(kernel, name, 0xffff_ffff_8000_0000n),
    user: (name) => builder.frame(user, name, 0x400n),
    sample: (...frames) => {
      const { samples, stacks } = profile;
      let stack = NONE;
      for (const frame of frames) {
        stacks.prefix.push(stack);
        stack = stacks.frame.push(typeof frame === 'number' ? frame : frame.guess);
        if (typeof frame !== 'number') guessedCallers.add(stack);
      }
      samples.add(0, thread, profile.strings.intern('node'), 0, event, stack, 1, 1);
    },
  };
  build(make);
  const hasCallerAtTop = (frame: number) =>
    profile.strings.get(profile.symbols.name.at(profile.frames.symbol.at(frame))).startsWith('frameless');
  const symbols = new Map<string, number>();
  const known = {
    codeAt: (row: number) => (row === code ? CODE : null),
    symbolOf: (binary: number, name: string) => {
      let symbol = symbols.get(name);
      if (symbol === undefined) {
        profile.symbols.name.push(profile.strings.intern(name));
        symbols.set(name, (symbol = profile.symbols.binary.push(binary)));
      }
      return symbol;
    },
    sourceOf: (_binary: number, name: string, line: number, column: number) => {
      const file = parseScriptName(name)?.file ?? '';
      return file === '' ? null : { file, line, column };
    },
  };
  mendStacks(profile, known, hasStackTops ? { guessedCallers, hasCallerAtTop } : null);
  assertTableInvariants(profile);
  return Array.from({ length: profile.samples.length }, (_, row) => textOf(profile, row));
}

interface Maker {
  outer(offset: number): number;
  kernel(name: string): number;
  user(name: string): number;
  interpreted(name: string): number;
  /** Outermost first. A guess comes before the function whose caller it may be. */
  sample(...frames: (number | { guess: number })[]): void;
}

function textOf({ frames, samples, stacks, strings, symbols }: Profile, row: number): string {
  const names: string[] = [];
  for (let stack = samples.stack.at(row); stack !== NONE; stack = stacks.prefix.at(stack))
    names.unshift(strings.get(symbols.name.at(frames.symbol.at(stacks.frame.at(stack)))));
  return names.join(' ');
}

test('a sample in inlined code gets the frames that the compiler took away', () => {
  const texts = expanded(({ sample, user, outer }) => {
    for (const offset of [0, 0x1f, 0x20, 0x40, 0x5f, 0x60]) sample(user('main'), outer(offset));
  });
  assert.deepEqual(texts, [
    'main outer',
    'main outer',
    'main outer middle',
    'main outer middle inner',
    'main outer middle inner',
    'main outer',
  ]);
});

test('a return address belongs to the call before it, an interrupted instruction to itself', () => {
  const texts = expanded(({ sample, user, outer, kernel }) => {
    sample(outer(0x40), user('builtin'));
    sample(outer(0x40), kernel('page_fault'));
    sample(outer(0x60), user('builtin'), kernel('page_fault'));
    sample(outer(0x40), user('builtin'), outer(0x60));
  });
  assert.deepEqual(texts, [
    'outer middle builtin',
    'outer middle inner page_fault',
    'outer middle inner builtin page_fault',
    'outer middle builtin outer',
  ]);
});

test('a sample without a stack stays as it is, and equal stacks are one', () => {
  assert.deepEqual(
    expanded(({ sample, outer }) => {
      sample();
      sample(outer(0x40));
      sample(outer(0x40));
    }),
    ['', 'outer middle inner', 'outer middle inner'],
  );
});

test('the caller of a handler or a builtin without a frame is at the top of the stack', () => {
  const texts = expanded(({ sample, user, interpreted, outer, kernel }) => {
    const leaf = interpreted('leaf');
    sample(interpreted('middle'), { guess: leaf }, user('Builtins_AddHandler'));
    sample(interpreted('middle'), { guess: leaf }, user('Builtins_AddHandler'), kernel('page_fault'));
    sample(interpreted('middle'), { guess: outer(0x60) }, user('Builtins_LoadIC'));
    sample(
      interpreted('middle'),
      { guess: outer(0x40) },
      user('Builtins_LoadIC'),
      user('v8::internal::Runtime'),
    );
  }, true);
  assert.deepEqual(texts, [
    'middle leaf',
    'middle leaf page_fault',
    'middle outer middle inner Builtins_LoadIC',
    'middle outer middle Builtins_LoadIC v8::internal::Runtime',
  ]);
});

test('what is at the top of the stack of other functions is no caller', () => {
  const texts = expanded(({ sample, user, interpreted, outer }) => {
    sample(user('main'), { guess: outer(0) }, user('memcpy'));
    sample(user('main'), { guess: interpreted('leaf') }, outer(0));
    sample(user('main'), { guess: outer(0) }, user('Builtins_AddHandler'));
    sample(user('main'), { guess: user('unknown') }, user('Builtins_LoadIC'));
  }, true);
  assert.deepEqual(texts, ['main memcpy', 'main outer', 'main Builtins_AddHandler', 'main Builtins_LoadIC']);
});

test('the caller of native code that has no frame is at the top of the stack', () => {
  const texts = expanded(({ sample, user, interpreted, outer, kernel }) => {
    sample(interpreted('main'), { guess: outer(0x60) }, user('frameless exp'));
    sample(interpreted('main'), { guess: interpreted('leaf') }, user('frameless exp'), kernel('interrupt'));
    sample(user('main'), { guess: user('inflate') }, user('frameless memcpy'));
    sample(user('main'), { guess: outer(0x60) }, user('exp'));
    // Generated code has no frame information.
    sample(user('main'), { guess: outer(0x60) }, interpreted('frameless f'));
  }, true);
  assert.deepEqual(texts, [
    'main outer middle inner frameless exp',
    'main leaf frameless exp interrupt',
    'main inflate frameless memcpy',
    'main exp',
    'main frameless f',
  ]);
});

test('handlers are the functions that they run where callers are known, and nowhere else', () => {
  const build = ({ sample, user, interpreted }: Maker) => {
    sample(interpreted('leaf'), user('Builtins_AddHandler'));
    sample(interpreted('leaf'), user('Builtins_CallPropertyHandler'), user('v8::internal::Runtime'));
    sample(user('main'), user('Builtins_AddHandler'));
    sample(user('Builtins_AddHandler'));
  };
  assert.deepEqual(expanded(build, true), [
    'leaf',
    'leaf v8::internal::Runtime',
    'main Builtins_AddHandler',
    'Builtins_AddHandler',
  ]);
  assert.deepEqual(expanded(build), [
    'leaf Builtins_AddHandler',
    'leaf Builtins_CallPropertyHandler v8::internal::Runtime',
    'main Builtins_AddHandler',
    'Builtins_AddHandler',
  ]);
});
