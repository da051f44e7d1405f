import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Note } from '../../kernel/perf-events/index.ts';
import { openTarget, resolveEvents, samplingOptions, scopeOf } from './request.ts';

describe('what is asked', () => {
  test('processes win over threads, both over CPUs, all over the command', () => {
    const everything = { pids: [1], tids: [2], systemWide: true, command: ['x'] };
    assert.equal(scopeOf(everything).kind, 'processes');
    assert.equal(scopeOf({ tids: [2], systemWide: true, command: ['x'] }).kind, 'threads');
    // An empty list names nobody; it is not as if it had not been given.
    assert.throws(() => scopeOf({ ...everything, pids: [] }), { code: 'ERR_NO_TARGET' });
    assert.equal(scopeOf({ systemWide: true, command: ['x'] }).kind, 'cpus');
    assert.equal(scopeOf({ cpus: [0], command: ['x'] }).kind, 'cpus');
    assert.equal(scopeOf({ command: ['x'] }).kind, 'command');
    assert.throws(() => scopeOf({ command: [] }), { code: 'ERR_NO_TARGET' });
  });

  test('targets: the command, all its CPUs; a list of CPUs is checked', () => {
    const { tasks, cpus } = openTarget({ kind: 'command' }, {}, 77);
    assert.deepEqual(tasks, [77]);
    assert.ok(cpus.length > 0);
    assert.deepEqual(openTarget({ kind: 'cpus' }, { cpus: [0] }, null).tasks, [-1]);
    assert.throws(() => openTarget({ kind: 'cpus' }, { cpus: [9999] }, null), /no such CPU is online: 9999/);
    const most = Math.max(...cpus);
    assert.throws(
      () => openTarget({ kind: 'cpus' }, { cpus: Array.from({ length: 10_000 }, (_, cpu) => cpu) }, null),
      ({ message }: Error) => message === `no such CPU is online: ${most + 1}-9999` || message.length < 120,
    );
    assert.throws(() => openTarget({ kind: 'cpus' }, { cpus: [] }, null), /empty/);
    const own = openTarget({ kind: 'processes', pids: [process.pid, process.pid] }, {}, null);
    assert.equal(new Set(own.tasks).size, own.tasks.length);
  });

  test('rates: the default says nothing, too much is lowered with a note', () => {
    const notes: Note[] = [];
    const options = (given: Parameters<typeof samplingOptions>[1]) =>
      samplingOptions({ kind: 'command' }, given, notes);
    assert.equal(options({}).isRateGiven, false);
    assert.equal(options({ period: 10 }).period, 10n);
    assert.deepEqual(notes, []);
    const highest = options({ frequency: 'max' }).frequency;
    assert.equal(options({ frequency: 10_000_000 }).frequency, highest);
    assert.deepEqual(
      notes.map(({ kind }) => kind),
      ['frequency-lowered'],
    );
  });

  test('events: none is cycles; names are parsed, and groups of several lists stay apart', async () => {
    assert.deepEqual(
      (await resolveEvents(undefined)).map(({ name }) => name),
      ['cycles:P'],
    );
    const events = await resolveEvents(['{cpu-clock,task-clock}', '{faults,cs}']);
    assert.deepEqual(
      events.map(({ name, group, isLeader }) => [name, group, isLeader]),
      [
        ['cpu-clock', 0, true],
        ['task-clock', 0, false],
        ['faults', 1, true],
        ['cs', 1, false],
      ],
    );
    assert.deepEqual(await resolveEvents(events), events);
  });
});
