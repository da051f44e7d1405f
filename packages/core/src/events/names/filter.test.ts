import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inventedMachine } from '../../test/invented-machine.ts';
import { EventSyntaxError } from './errors.ts';
import { applyFilter, checkFilter } from './filter.ts';
import { parseEvents } from './parse.ts';

const lookup = inventedMachine();
const fields = lookup.tracepointFields!('sched', 'sched_switch');

test('a filter is kept on every event of its list', () => {
  const events = parseEvents('sched:sched_*', lookup);
  applyFilter(events, 'common_pid != 0', { ...lookup, tracepointFields: () => fields });
  applyFilter(events, 'CPU == 1', { ...lookup, tracepointFields: () => fields });
  assert.deepEqual(new Set(events.map(({ filter }) => filter)), new Set(['(common_pid != 0) && (CPU == 1)']));
});

test('only tracepoints are filtered', () => {
  const refuse = (text: string) => {
    try {
      applyFilter(text === '' ? [] : parseEvents(text, lookup), 'prev_pid == 1', lookup);
    } catch (error) {
      assert.ok(error instanceof EventSyntaxError);
      return error.message;
    }
    return assert.fail(text);
  };
  assert.match(
    refuse('sched:sched_switch,cycles:u'),
    /^filter syntax error: .*\n.*cycles:u is not a tracepoint/,
  );
  assert.match(refuse(''), /must follow its tracepoint/);
});

test('what the kernel takes is accepted', () => {
  for (const filter of [
    'prev_comm == "bash"',
    "prev_comm ~ 'b*' && !(prev_pid < 5) || next_prio == 3",
    'prev_pid == 0x10',
    'prev_pid == -1',
    'next_prio == 18446744073709551615',
    'prev_pid & 3',
    '!prev_pid == 1',
    '!!((prev_pid==1))&&CPU<2',
    'COMM == "x"',
    'CPU & CPUS{0-1}',
    'stacktrace == 1',
    'common_pid != 0',
  ])
    checkFilter(filter, fields);
  checkFilter('anything.ustring ~ "*x*" || call_site.function == vfs_read', null);
});

test('what is wrong is pointed at', () => {
  const table: [string, number, RegExp][] = [
    ['', 0, /^expected a field, found the end$/],
    ['prev_pd == 1', 0, /^there is no field prev_pd; did you mean prev_pid\?$/],
    ['prev_pid = 1', 9, /equal is ==$/],
    ['prev_pid == abc', 12, /^expected a number, found 'a'$/],
    ['prev_pid == "1"', 12, /is a number: compare it with a number without quotes$/],
    ['prev_comm == bash', 13, /^expected a text in quotes, as in prev_comm == "bash", found 'b'$/],
    ['prev_comm == 1', 13, /is a text/],
    ['prev_comm < "a"', 10, /^texts are compared by ==, !=, ~$/],
    ['prev_pid ~ 1', 9, /wildcards/],
    ["prev_comm == 'x", 13, /closing quote/],
    ['prev_pid == 1 &&', 16, /^expected a field, found the end$/],
    ['(prev_pid == 1', 0, /not closed$/],
    ['prev_pid == 1)', 13, /^expected && or \|\|, found '\)'$/],
    ['prev_pid == 1 and prev_pid == 2', 14, /join predicates with && or \|\|$/],
    ['prev_pid == 1 & prev_pid == 2', 14, /join predicates/],
    ['prev_pid == 12x', 12, /^expected a number/],
    ['prev_pid == 9223372036854775808', 12, /^prev_pid cannot be/],
    ['CPU < CPUS{1}', 4, /^CPUs are compared by ==, !=, &$/],
    ['comm == CPUS{1}', 8, /not a CPU$/],
    ['next_prio == -1', 13, /^next_prio cannot be -1$/],
    ['prev_comm.strange == "a"', 10, /ustring or function/],
    [`${'('.repeat(200)}prev_pid == 1`, 65, /inside each other/],
  ];
  for (const [filter, column, reason] of table) {
    assert.throws(
      () => checkFilter(filter, fields),
      (error) => {
        assert.ok(error instanceof EventSyntaxError, String(error));
        assert.match(error.reason, reason, filter);
        assert.equal(error.column, column, `${filter}: ${error.reason}`);
        return true;
      },
    );
  }
});

test('filters that are made by the grammar are accepted, and cut ones throw nothing but the error', () => {
  const predicate = fc
    .tuple(
      fc.constantFrom('prev_pid', 'prev_state', 'CPU'),
      fc.constantFrom('==', '!=', '<', '<=', '>', '>=', '&'),
      fc.integer({ min: -1000, max: 1000 }),
    )
    .map(([field, operator, value]) => `${field} ${operator}${value}`);
  const text = fc.constantFrom('prev_comm=="a"', "comm ~ 'b*'", 'prev_comm != "x y"');
  const { filter } = fc.letrec<{ filter: string; term: string }>((tie) => ({
    term: fc.oneof(
      { maxDepth: 4 },
      predicate,
      text,
      tie('filter').map((inner) => `!(${inner})`),
    ),
    filter: fc
      .array(fc.tuple(tie('term'), fc.constantFrom('&&', ' || ')), { minLength: 1, maxLength: 3 })
      .map((pieces) => pieces.map(([term, join], index) => (index === 0 ? term : join + term)).join('')),
  }));
  fc.assert(
    fc.property(filter, fc.nat(30), fc.nat(4), (whole, at, length) => {
      checkFilter(whole, fields);
      const cut = whole.slice(0, at) + whole.slice(at + length);
      try {
        checkFilter(cut, fields);
      } catch (error) {
        assert.ok(error instanceof EventSyntaxError, String(error));
        assert.ok(error.column <= cut.length);
      }
    }),
    { numRuns: 400 },
  );
});
