import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inventedMachine } from '../test/invented-machine.ts';
import { EventSyntaxError } from './errors.ts';
import { parseEvents } from './parse.ts';

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
    [`uretprobe:${library}:main+4`, 33, /^a return has no place inside/],
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
