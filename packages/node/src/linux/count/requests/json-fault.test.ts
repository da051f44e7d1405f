import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonFault } from './json-fault.ts';

test('the place where a text stops being JSON, and what should be there', () => {
  const table: [string, number, number, RegExp][] = [
    ['', 1, 1, /ends where a value should be/],
    ['{"a": 1,\n  "b": }', 2, 8, /a value is expected/],
    ['{"a": 1\n "b": 2}', 2, 2, /, or } is expected/],
    ['{"a": [1, 2}', 1, 12, /, or ] is expected/],
    ['{a: 1}', 1, 2, /a name in double quotes or }/],
    ['{"a": 1,}', 1, 9, /a name in double quotes is expected/],
    ["['a']", 1, 2, /a value or ]/],
    ['{"a" 1}', 1, 6, /: is expected/],
    ['[1, 01]', 1, 6, /, or ]/],
    ['{"a": "x\ny"}', 1, 7, /a value is expected/],
    ['[]\n[]', 2, 1, /text after the end/],
    ['{"a": [', 1, 8, /ends where a value or ] should be/],
  ];
  for (const [text, line, column, what] of table) {
    assert.throws(() => JSON.parse(text), text);
    const fault = jsonFault(text);
    assert.deepEqual([fault.line, fault.column], [line, column], text);
    assert.match(fault.what, what, text);
  }
});

test('what stands before the place could still become JSON, with one more character it could not', () => {
  // Deleting from the end of JSON leaves a beginning: its fault is the end. Damage before it is
  // found no later than it stands.
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      fc.constantFrom('#', '}', ']', ',', ':'),
      (json, place, damage) => {
        const at = place % (json.length + 1);
        const damaged = `${json.slice(0, at)}${damage}${json.slice(at)}`;
        try {
          JSON.parse(damaged);
          return;
        } catch {
          const { line, column } = jsonFault(damaged);
          assert.equal(line, 1);
          assert.ok(column >= 1 && column <= damaged.length + 1);
          // Inside of a text or a number its beginning is the place.
          if (damage === '#' && !/["\d]/.test(json)) assert.ok(column <= at + 1, `${damaged}: ${column}`);
        }
      },
    ),
  );
});
