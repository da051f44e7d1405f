import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeAttr } from '@counterpoint/core/records';
import type { CountingSession } from '../../../linux/count/counting/index.ts';
import { RecordedPlaces, type StatRow } from '../../../linux/count/stat/index.ts';
import { jsonLines, separatedLines } from './fields.ts';

/**
 * An ordinary user asked for context switches: in user space, which is all that
 * they may count, there are none.
 */
const NAMES = { requestedName: 'cs', name: 'cs:u' };
const CONTEXT = { sinceStartNs: null, isSummary: false, withSets: false };

test('programs and recordings are told what was counted, as by perf, and not what was asked for', () => {
  const row = {
    place: null,
    event: { cgroup: null, set: '', count: { ...NAMES, unit: null } },
    status: 'counted',
    value: 0,
    metrics: [],
    spreadPercent: null,
    enabledNs: 1,
    runningNs: 1,
  } as unknown as StatRow;
  assert.match(separatedLines(row, ',', CONTEXT)[0]!, /,cs:u,/);
  assert.equal(JSON.parse(jsonLines(row, CONTEXT)[0]!).event, 'cs:u');

  const session = {
    openSets: [{ counters: [] }],
    countedEvents: [[{ ...NAMES, attr: makeAttr({}), tool: null, unit: null, scale: 1 }]],
    target: { kind: 'command', pid: 1 },
  } as unknown as CountingSession;
  const names = new RecordedPlaces(session, false).events.map(({ name }) => name);
  assert.deepEqual(names, ['cs:u']);
});
