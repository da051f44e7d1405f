import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT } from '@counterpoint/core/abi';
import type { Probe } from '@counterpoint/core/events';
import { makeAttr } from '@counterpoint/core/records';
import { groupOf, thisOwner } from '../../../host/leftovers/index.ts';
import { temporaryFolder } from '../../../test/perf.ts';
import { FakeSys } from '../sys/fake-sys.ts';
import { SysError } from '../sys/index.ts';
import type { Note } from './notes.ts';
import { descriptorsOf, openPlannedEvent } from './open-event.ts';

const PMU = 8;
const malloc: Probe = {
  kind: 'uprobe',
  target: '/usr/lib/libc.so.6',
  offset: 0x40n,
  isReturn: false,
  symbol: 'malloc',
};
const returned: Probe = { kind: 'kprobe', target: 'do_exit', offset: 0n, isReturn: true, symbol: 'do_exit' };

const eventOf = (probe: Probe, inherit = 1) => ({
  attr: makeAttr({ type: PMU, config: 1n, config2: probe.offset, flags: { inherit } }),
  probe,
});
const group = groupOf(thisOwner());

describe('a probe that children inherit', () => {
  for (const [probe, file, line] of [
    [malloc, 'uprobe_events', 'p:NAME /usr/lib/libc.so.6:0x40'],
    [returned, 'kprobe_events', 'r:NAME do_exit+0'],
  ] as const) {
    test(`is a tracepoint of ${file} while it is open: the kernel reads no pointer at fork`, () => {
      const sys = new FakeSys();
      const fd = openPlannedEvent(sys, eventOf(probe), 42, -1, null);
      const [command = ''] = sys.tracefs.commands;
      const name = new RegExp(`${group}/p[0-9a-f]{12}`).exec(command)![0];
      assert.equal(command, `${file} ${line.replace('NAME', name)}`);
      const { attr } = sys.events.at(-1)!;
      assert.deepEqual(
        [attr.type, attr.config, attr.config1, attr.config2, attr.flags.inherit],
        [PERF_TYPE_TRACEPOINT, BigInt(sys.tracefs.ids.get(name)!), 0n, 0n, 1],
      );
      assert.equal(sys.events.length, probe.kind === 'uprobe' ? 2 : 1);
      fd.close();
      assert.deepEqual(sys.tracefs.commands.slice(1), [`${file} -:${name}`]);
      assert.equal(sys.closed.length, sys.events.length);
    });
  }

  test('has one definition for all tasks and CPUs, and one keeper of the context for each task', () => {
    const sys = new FakeSys();
    const tasks = [42, 42, 43];
    const fds = tasks.map((task, cpu) => openPlannedEvent(sys, eventOf(malloc), task, cpu, null));
    const other = openPlannedEvent(sys, eventOf({ ...malloc, offset: 0x44n }), 42, 0, null);
    const keepers = sys.events.filter(({ attr }) => attr.type === PERF_TYPE_SOFTWARE);
    assert.deepEqual(
      keepers.map(({ pid, cpu }) => [pid, cpu]),
      [
        [42, -1],
        [43, -1],
      ],
    );
    assert.equal(sys.tracefs.ids.size, 2);
    const events = [eventOf(malloc), eventOf(malloc, 0)];
    assert.equal(
      descriptorsOf(
        events,
        [0, 0, 1].map((event, at) => ({ event, task: at })),
      ),
      5,
    );
    for (const fd of [...fds, other]) {
      assert.notEqual(sys.tracefs.ids.size, 0);
      fd.close();
    }
    assert.equal(sys.tracefs.ids.size, 0);
    assert.equal(sys.closed.length, sys.events.length);
  });

  test('may be in a file of any name: blanks, # and colons are no part of the command', (t) => {
    const sys = new FakeSys();
    const target = join(temporaryFolder(t), 'od d,#:\u00e9\n');
    writeFileSync(target, '');
    openPlannedEvent(sys, eventOf({ ...malloc, target }), 42, -1, null).close();
    assert.match(sys.tracefs.commands[0]!, /^uprobe_events p:\S+ \/proc\/self\/fd\/\d+:0x40$/);
  });

  test('that the kernel refuses leaves no definition behind', () => {
    const sys = new FakeSys();
    sys.refuseOpen = ({ attr }) => (attr.type === PERF_TYPE_TRACEPOINT ? 'EINVAL' : null);
    assert.throws(() => openPlannedEvent(sys, eventOf(malloc), 42, -1, null), { code: 'EINVAL' });
    assert.equal(sys.tracefs.ids.size, 0);
    assert.equal(sys.closed.length, sys.events.length);
  });

  test('that cannot be removed yet is removed with the next', () => {
    const sys = new FakeSys();
    const first = openPlannedEvent(sys, eventOf(malloc), 42, -1, null);
    sys.tracefs.refuse = (_, line) => (line?.startsWith('-') === true ? 'EBUSY' : null);
    first.close();
    sys.tracefs.refuse = () => null;
    assert.equal(sys.tracefs.ids.size, 1);
    openPlannedEvent(sys, eventOf(returned), 42, -1, null).close();
    assert.equal(sys.tracefs.ids.size, 0);
  });

  test('removes what ended processes left, and nothing else', () => {
    const sys = new FakeSys();
    const owner = thisOwner();
    const ended = groupOf({ ...owner, startTicks: '1' });
    const kept = [
      'probe_libc/malloc',
      `${groupOf({ ...owner, pid: 1, startTicks: '1', namespace: '5' })}x/y`,
      `${group}/other`,
    ];
    for (const name of [`${ended}/a`, ...kept, `${ended}/b`])
      sys.appendTracefs('uprobe_events', `p:${name} /bin/x:0x1`);
    openPlannedEvent(sys, eventOf(malloc), 42, -1, null).close();
    assert.deepEqual([...sys.tracefs.ids.keys()], kept);
  });

  test('of a process that ended a moment ago is tried again: the kernel still has its events', () => {
    const sys = new FakeSys();
    const ended = groupOf({ ...thisOwner(), startTicks: '1' });
    sys.appendTracefs('uprobe_events', `p:${ended}/a /bin/x:0x1`);
    sys.tracefs.refuse = (_, line) => (line === `-:${ended}/a` ? 'EBUSY' : null);
    const held = openPlannedEvent(sys, eventOf(malloc), 42, -1, null);
    assert.ok(sys.tracefs.ids.has(`${ended}/a`));
    sys.tracefs.refuse = () => null;
    held.close();
    // As at the end of this process, with the next probe.
    openPlannedEvent(sys, eventOf(returned), 42, -1, null).close();
    assert.equal(sys.tracefs.ids.size, 0);
  });

  test('on an old kernel is told to miss some', () => {
    const sys = new FakeSys();
    sys.refuseOpen = ({ attr }) => (attr.type === PERF_TYPE_SOFTWARE ? 'EINVAL' : null);
    const notes: Note[] = [];
    for (const task of [42, 43]) openPlannedEvent(sys, eventOf(malloc), task, -1, null, { notes }).close();
    assert.deepEqual(
      notes.map(({ kind }) => kind),
      ['probe-children'],
    );
  });

  test('without tracefs is refused with the reason; who may not probe at all is told that', () => {
    const sys = new FakeSys();
    for (const [errno, why, remedy] of [
      ['ENOENT', /not mounted/, /mount -t tracefs/],
      ['EROFS', /read-only/, /remount,rw/],
      ['EACCES', /only root/, /as root/],
      ['EINVAL', /EINVAL/, /-i/],
    ] as const) {
      sys.tracefs.refuse = () => errno;
      assert.throws(
        () => openPlannedEvent(sys, eventOf(malloc), 42, -1, null),
        (error: Error & { code: string; remedy: string }) => {
          assert.equal(error.code, 'ERR_PROBE_DEFINITION');
          assert.match(error.message, why);
          assert.match(error.remedy, remedy);
          assert.match(error.remedy, /inherit: false/);
          return true;
        },
      );
    }
    sys.refuseOpen = () => 'EACCES';
    assert.throws(
      () => openPlannedEvent(sys, eventOf(malloc), 42, -1, null),
      (error) => error instanceof SysError && error.code === 'EACCES',
    );
    assert.equal(sys.closed.length, sys.events.length);
  });
});

test('what nobody inherits (-i, whole CPUs, control groups) needs no tracefs', () => {
  const sys = new FakeSys();
  sys.tracefs.refuse = () => 'ENOENT';
  const PID_CGROUP = 4;
  openPlannedEvent(sys, eventOf(malloc, 0), 42, -1, null).close();
  openPlannedEvent(sys, eventOf(malloc), -1, 0, null).close();
  openPlannedEvent(sys, eventOf(malloc), 9, 0, null, { flags: PID_CGROUP }).close();
  assert.deepEqual(
    sys.events.map(({ attr }) => attr.type),
    [PMU, PMU, PMU],
  );
  for (const { attr } of sys.events) assert.notEqual(attr.config1, 0n);
});
