import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demangle } from '../../code/symbols/index.ts';
import { inventedMachine } from '../../test/invented-machine.ts';
import { EventSyntaxError } from './errors.ts';
import { parseEvents } from './parse.ts';
import type { ProbeFile } from './types.ts';

const lookup = inventedMachine();
const library = '/usr/lib/libx.so.1';

test('a probe says what its attr must point to', () => {
  const [event] = parseEvents(`uretprobe:${library}:main`, lookup);
  assert.deepEqual(event!.probe, {
    kind: 'uprobe',
    target: library,
    offset: 0x530n,
    isReturn: true,
    symbol: 'main',
  });
  assert.deepEqual([event!.attr.config1, event!.pmu, event!.periodGiven], [0n, 'uprobe', false]);
  const [kernel] = parseEvents('kprobe:do_exit+8', lookup);
  assert.deepEqual(kernel!.probe, {
    kind: 'kprobe',
    target: 'do_exit',
    offset: 8n,
    isReturn: false,
    symbol: 'do_exit+8',
  });
});

test('errors of probes point at the file, the function or the offset', () => {
  const table: [string, number, RegExp][] = [
    ['uprobe:', 7, /^expected uprobe:FILE:FUNCTION$/],
    ['uprobe:/bin/x', 13, /^expected uprobe:FILE:FUNCTION$/],
    ['uprobe:/nowhere:main', 7, /^there is no file \/nowhere$/],
    [`uprobe:${library}:`, 26, /^expected a function$/],
    [`uprobe:${library}:mian`, 26, /has no function mian; did you mean main\?$/],
    [`uprobe:${library}:main+x`, 31, /^expected an offset/],
    [`uprobe:${library}:main+0x2000`, 30, /^main has only 32 bytes/],
    [`uprobe:${library}:mai?+0x2000`, 30, /^main has only 32 bytes/],
    [`uprobe:${library}:nothing*`, 26, /no function of .* matches$/],
    [`uprobe:${library}:memset`, 26, /^memset is chosen from several functions/],
    [`uprobe:${library}:data_like`, 26, /has no code at 0x9000$/],
    [`uprobe:${library}:0x9000`, 26, /has no code at 0x9000$/],
    [`uretprobe:${library}:main+4`, 33, /^a return probe has no place inside/],
    [`uprobe:${library}:main/config=1/`, 31, /^unknown term 'config'/],
    [`uprobe:${library}:main:x`, 31, /^bad modifier 'x'/],
    ["uprobe:'/usr/lib:main", 7, /closing quote/],
    ['kprobe:do_exot', 7, /the kernel has no function do_exot; did you mean do_exit\?$/],
    ['kprobe:', 7, /^expected a function$/],
  ];
  for (const [text, column, reason] of table) {
    assert.throws(
      () => parseEvents(text, lookup),
      (error) => {
        assert.ok(error instanceof EventSyntaxError, String(error));
        assert.match(error.reason, reason, text);
        assert.equal(error.column, column, `${text}: ${error.reason}`);
        return true;
      },
    );
  }
  const chosen = assert.throws(() => parseEvents(`uprobe:${library}:memset`, lookup), {
    remedy: /memset_sse, memset_avx/,
  });
  assert.equal(chosen, undefined);
  const without = inventedMachine('hybrid/');
  assert.throws(() => parseEvents('kprobe:do_exit', without), {
    message: /no PMU kprobe \(CONFIG_KPROBE_EVENTS/,
  });
});

test('a probe stays in the first of the groups that kinds of core make of one', () => {
  const hybrid = inventedMachine('hybrid/');
  const machine = {
    ...lookup,
    pmuNames: () => [...hybrid.pmuNames(), 'uprobe'],
    pmu: (name: string) => hybrid.pmu(name) ?? lookup.pmu(name),
  };
  const events = parseEvents(`{cycles,uprobe:${library}:main}`, machine);
  assert.deepEqual(
    events.map(({ pmu, group, isLeader }) => [pmu, group, isLeader]),
    [
      ['cpu_atom', 0, true],
      ['uprobe', 0, false],
      ['cpu_core', 1, true],
    ],
  );
  assert.match(events[0]!.notes![0]!, /^the group became 2: cpu_atom and cpu_core/);
});

/** A library in C++, with overloads and an operator. */
const compiled = {
  ...lookup,
  probeFile: (path: string): ProbeFile => ({
    path,
    functions: new Map([
      ['_ZN1a4workEi', 0x10],
      ['_ZN1a4workEic', 0x20],
      ['_ZN1a4pushIiEEvi', 0x30],
      ['_ZNK1aplEi', 0x40],
      ['_ZltRK1aS1_', 0x50],
      ['_Z4lonev', 0x60],
      ['work_c', 0x70],
    ]),
    indirect: new Set(),
    demangle: (name, parameters) => demangle(name, { parameters }),
    offsetOf: (address) => address,
  }),
};

test('a function of C++ is found by the name that its author gave it', () => {
  const table: [string, [name: string, offset: bigint][]][] = [
    ['lone', [['lone', 0x60n]]],
    ['lone():u', [['lone():u', 0x60n]]],
    ['a::work(int)', [['a::work(int)', 0x10n]]],
    ['a::work(int,char)+0x2', [['a::work(int,char)+0x2', 0x22n]]],
    ["'a::work(int, char)'+2:u", [["'a::work(int, char)'+2:u", 0x22n]]],
    // Both overloads, as a wildcard.
    [
      'a::work',
      [
        ['a::work(int)', 0x10n],
        ['a::work(int, char)', 0x20n],
      ],
    ],
    [
      'a::w*:u',
      [
        ['a::work(int):u', 0x10n],
        ['a::work(int, char):u', 0x20n],
      ],
    ],
    ['a::w*(int)', [['a::work(int)', 0x10n]]],
    ['a::push<int>', [['a::push<int>', 0x30n]]],
    ['void a::push<int>(int)', [['void a::push<int>(int)', 0x30n]]],
    ['a::operator+', [['a::operator+', 0x40n]]],
    ["'operator<(a const&, a const&)'", [["'operator<(a const&, a const&)'", 0x50n]]],
    ['work_*', [['work_c', 0x70n]]],
  ];
  for (const [typed, expected] of table) {
    const [first, ...others] = parseEvents(`{uprobe:${library}:${typed},cs}`, compiled);
    const probes = [first!, ...others.slice(0, -1)];
    assert.deepEqual(
      probes.map(({ name, probe }) => [name, probe!.offset]),
      expected.map(([name, offset]) => [`uprobe:${library}:${name}`, offset]),
      typed,
    );
    // What is shown can be typed.
    for (const { name, probe } of probes)
      assert.equal(parseEvents(name, compiled)[0]!.probe!.offset, probe!.offset, name);
  }
  for (const [typed, reason] of [
    ['work', /has no function work; did you mean a::work\?$/],
    ['a::work(long)', /has no function a::work\(long\)/],
    ["'a::work", /closing quote is missing/],
    ['b::*', /no function of .* matches/],
  ] as const)
    assert.throws(() => parseEvents(`uprobe:${library}:${typed}`, compiled), { message: reason });
});

test('a return probe in a Go program is refused: the program would end', () => {
  const go = { ...compiled, probeFile: (path: string) => ({ ...compiled.probeFile(path), isGo: true }) };
  assert.equal(parseEvents(`uprobe:${library}:lone`, go).length, 1);
  assert.throws(() => parseEvents(`uretprobe:${library}:lone`, go), {
    message: /is a Go program, and a return probe would break it/,
  });
});
