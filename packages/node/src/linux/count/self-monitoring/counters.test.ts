import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, test } from 'node:test';
import { isMainThread, parentPort } from 'node:worker_threads';
import {
  MMAP_CAP_USER_RDPMC,
  MMAP_CAP_USER_TIME,
  MMAP_CAP_USER_TIME_ZERO,
  PERF_TYPE_HARDWARE,
  PERF_TYPE_SOFTWARE,
} from '@counterpoint/core/abi';
import { makeAttr } from '@counterpoint/core/records';
import { EventPage } from '../../../test/event-page.ts';
import { startWorker } from '../../../test/worker.ts';
import { systemEventLookup } from '../../kernel/local-pmus/index.ts';
import { paranoidLevel } from '../../kernel/probe/index.ts';
import { FakeSys } from '../../kernel/sys/fake-sys.ts';
import { liveHandles, realSys, type Sys } from '../../kernel/sys/index.ts';
import { scale } from './counters.ts';
import { counters } from './index.ts';
import { openCounters } from './open-counters.ts';
import { userAccess } from './user-access.ts';

/** Touch fresh memory: a page fault each, in this thread. */
function fault(pages: number): void {
  const memory = realSys.mapAnonymous(pages * 4096);
  const bytes = new Uint8Array(memory.buffer);
  for (let page = 0; page < pages; page++) bytes[page * 4096] = 1;
  memory.close();
}

function canOpen(): string | false {
  try {
    counters('task-clock').close();
    return false;
  } catch (error) {
    return `no perf events here: ${(error as Error).message}`;
  }
}

if (isMainThread) tests();
else {
  using own = counters('page-faults');
  const before = own.read().counts[0]!.value;
  fault(300);
  parentPort!.postMessage(Number(own.read().counts[0]!.value - before));
}

function tests(): void {
  const skip = canOpen();
  const skipStub =
    skip || (process.arch === 'x64' || process.arch === 'arm64' ? false : `no stub for ${process.arch}`);
  afterEach(() => assert.deepEqual(liveHandles(), []));

  describe('counters of this thread, on the real kernel', { skip }, () => {
    test('count what happens, in one group, by read(2)', () => {
      using own = counters(['task-clock', 'page-faults', 'context-switches']);
      const before = own.read();
      fault(500);
      const after = own.read();
      assert.equal(after.source, 'read');
      assert.deepEqual(
        own.events.map(({ requestedName, group }) => [requestedName, group]),
        [
          ['task-clock', 0],
          ['page-faults', 0],
          ['context-switches', 0],
        ],
      );
      const grown = after.counts.map(({ value }, i) => value - before.counts[i]!.value);
      assert.ok(grown[0]! > 0n && grown[1]! >= 500n && grown[1]! < 1500n, `${grown}`);
      assert.ok(after.timeNs - before.timeNs >= grown[0]!);
      assert.ok(after.counts.every(({ value, scaled }) => scaled === value));
      const notes = own.notes.filter(({ kind }) => kind !== 'kernel-excluded');
      assert.deepEqual(notes, []);
    });

    test('the fast way gives the same as read(), into either array', () => {
      using own = counters('page-faults,context-switches');
      const floats = new Float64Array(7);
      const words = new BigUint64Array(7);
      own.readInto(floats);
      own.readInto(words);
      const { counts, timeNs } = own.read();
      const grows = [BigInt(floats[1]!), words[1]!, counts[0]!.value, words[1]! + 100n];
      assert.deepEqual(
        grows,
        [...grows].sort((a, b) => Number(a - b)),
      );
      assert.ok(floats[0]! > 0 && floats[0]! <= Number(words[0]) && words[0]! <= timeNs);
      assert.ok(floats[3]! > 0 && BigInt(floats[3]!) <= words[3]! && words[3]! <= counts[0]!.enabledNs);
      assert.deepEqual([words[3], words[4]], [words[5], words[6]]);
      const short = new Float64Array(3);
      own.readInto(short);
      assert.ok(short[1]! >= floats[1]! && short[1]! < floats[1]! + 100);
      assert.throws(() => own.readInto(new Float64Array(2)), { code: 'ERR_ARGUMENT' });
    });

    test('time is CLOCK_MONOTONIC where the page has none, and read as often as asked', () => {
      using own = counters('task-clock');
      const before = process.hrtime.bigint();
      const { timeNs } = own.read();
      if (own.clock === 'monotonic') assert.ok(before <= timeNs && timeNs <= process.hrtime.bigint());
    });

    test('a worker sees its own', async () => {
      using own = counters('page-faults');
      const before = own.read().counts[0]!.value;
      const worker = startWorker(import.meta.url);
      const theirs = await new Promise<number>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
      await worker.terminate();
      assert.ok(theirs >= 300 && theirs < 1000, `${theirs}`);
      const after = own.read().counts[0]!.value;
      fault(50);
      assert.ok(own.read().counts[0]!.value - after >= 50n);
      assert.ok(after >= before);
    });

    test('closed counters say so; closing twice is nothing', () => {
      const own = counters('task-clock');
      assert.equal(own.isOpen, true);
      own.close();
      own.close();
      assert.equal(own.isOpen, false);
      assert.throws(() => own.read(), { code: 'ERR_CLOSED' });
      assert.throws(() => own.readInto(new Float64Array(4)), { code: 'ERR_CLOSED' });
    });

    test('what cannot be opened leaves nothing open', () => {
      assert.throws(() => counters(['page-faults', 'no-such-event']), { code: 'ERR_EVENT_SYNTAX' });
      assert.throws(() => counters(['page-faults', 'duration_time']), { code: 'ERR_EVENT_OPTION' });
      assert.throws(() => counters([]), { code: 'ERR_NO_EVENTS' });
      const refuse: Sys = {
        ...realSys,
        mapEventPage: () => assert.fail('stop here'),
      };
      assert.throws(() => openCounters('page-faults', {}, { sys: refuse }), /stop here/);
    });

    test('many times over, nothing piles up', () => {
      for (let i = 0; i < 300; i++) {
        using own = counters('page-faults');
        own.read();
      }
    });
  });

  // Real software events, whose pages are replaced by ones that say there is a counter: the timer plays it.
  describe('counters with pages that allow a read', { skip: skipStub }, () => {
    const capabilities = BigInt(MMAP_CAP_USER_RDPMC | MMAP_CAP_USER_TIME | MMAP_CAP_USER_TIME_ZERO);

    function played(names: readonly string[], pages: readonly EventPage[]) {
      const waiting = [...pages];
      const sys: Sys = { ...realSys, mapEventPage: () => waiting.shift()!.mapping };
      return openCounters(names, {}, { sys, counterInstruction: 'clock' });
    }

    test('value, times and clock come from the page, without a system call', () => {
      using first = new EventPage({ capabilities, timeMult: 1n, enabled: 1000n, running: 500n });
      using second = new EventPage({ capabilities, timeMult: 1n, offset: 7n, enabled: 5n, running: 5n });
      using own = played(['page-faults', 'context-switches'], [first, second]);
      const { timeNs, source, counts } = own.read();
      assert.equal(source, 'page');
      assert.equal(own.clock, 'perf');
      assert.deepEqual(
        counts.map(({ enabledNs, runningNs }) => [enabledNs - timeNs, runningNs - timeNs]),
        [
          [1000n, 500n],
          [5n, 5n],
        ],
      );
      const floats = new Float64Array(3);
      assert.equal(own.readInto(floats), 'page');
      assert.ok(floats[0]! >= Number(timeNs) && floats[1]! >= Number(counts[0]!.value));
      assert.equal(counts[1]!.scaled, counts[1]!.value);
    });

    test('the fast way allocates nothing', () => {
      using page = new EventPage({ capabilities, timeMult: 1n });
      using own = played(['page-faults'], [page]);
      const [floats, words] = [new Float64Array(4), new BigUint64Array(4)];
      const reads = 20_000;
      const grown = () => {
        const before = process.memoryUsage().heapUsed;
        for (let i = 0; i < reads; i++) {
          own.readInto(floats);
          own.readInto(words);
        }
        return process.memoryUsage().heapUsed - before;
      };
      // The first rounds are interpreted and compiled; a collection in the middle would only make it less.
      const rounds = Array.from({ length: 6 }, grown).slice(2);
      assert.ok(Math.min(...rounds.map(Math.abs)) < reads, `${rounds} bytes for ${2 * reads} reads`);
    });

    test('without an index the kernel is asked, for all of the group', () => {
      using first = new EventPage({ capabilities, timeMult: 1n });
      using second = new EventPage({ capabilities, index: 0n });
      using own = played(['page-faults', 'context-switches'], [first, second]);
      const { source, counts } = own.read();
      assert.equal(source, 'read');
      assert.ok(counts[0]!.value < 1_000_000n, 'the real page faults, not the timer');
      second.set({ index: 1n });
      assert.equal(own.read().source, 'page');
      first.set({ lock: 1n });
      const before = own.read();
      assert.equal(before.source, 'read');
      assert.ok(before.timeNs > 0n);
    });

    test('where the page has no time, values are read there, and times by the kernel', () => {
      using page = new EventPage();
      using own = played(['page-faults'], [page]);
      assert.equal(own.clock, 'monotonic');
      assert.equal(own.readInto(new Float64Array(2)), 'page');
      assert.equal(own.readInto(new Float64Array(4)), 'read');
      assert.equal(own.read().source, 'read');
    });

    test('time goes on when a page loses it', () => {
      using page = new EventPage({ capabilities, timeMult: 1n, timeShift: 0n });
      using own = played(['page-faults'], [page]);
      const { timeNs } = own.read();
      page.set({ capabilities: 0n });
      const later = own.read();
      assert.equal(later.source, 'read');
      assert.ok(later.timeNs > timeNs - 1_000_000_000n && later.timeNs < timeNs + 60_000_000_000n);
    });

    test('access: read never maps a page', () => {
      const sys: Sys = { ...realSys, mapEventPage: () => assert.fail('not wanted') };
      using own = openCounters('page-faults', { access: 'read' }, { sys });
      assert.equal(own.read().source, 'read');
    });
  });

  describe('counters on a kernel by script', () => {
    const isHardware = (type: number) => type === PERF_TYPE_HARDWARE;

    test('events outside braces share a group while they fit', () => {
      const sys = new FakeSys();
      const opened = new Map<number, number>();
      sys.refuseOpen = ({ group }) => {
        if (group < 0) return null;
        const members = (opened.get(group) ?? 1) + 1;
        opened.set(group, members);
        return members > 2 ? 'EINVAL' : null;
      };
      sys.read = (_, into) => {
        new BigUint64Array(into.buffer).fill(5n);
        return into.length;
      };
      using own = openCounters(['cycles', 'instructions', 'branches', 'cache-misses'], {}, { sys });
      assert.deepEqual(
        own.events.map(({ group }) => group),
        [0, 0, 1, 1],
      );
      assert.deepEqual(
        own.notes.filter(({ kind }) => kind === 'group-split').map(({ text }) => text),
        ['branches does not fit into the group of cycles: it is counted in its own group'],
      );
      assert.deepEqual(
        sys.events.map(({ attr }) => attr.flags.disabled),
        sys.events.map(({ group }) => (group < 0 ? 1 : 0)),
      );
    });

    test('braces that do not fit are an error that names the event; with W they are taken apart', () => {
      const sys = new FakeSys();
      sys.refuseOpen = ({ group }) => (group < 0 ? null : 'EINVAL');
      assert.throws(() => openCounters('{cycles,branches}', {}, { sys }), {
        code: 'ERR_EVENT_GROUP',
        message: /^branches does not fit into the group of cycles/,
      });
      using own = openCounters('{cycles,branches}:W', {}, { sys });
      assert.deepEqual(
        own.events.map(({ group }) => group),
        [0, 1],
      );
    });

    test('a group that never runs is taken apart', () => {
      const sys = new FakeSys();
      // nr, enabled, running, values
      sys.read = (_, into) => {
        new BigUint64Array(into.buffer).set([2n, 100n, 0n]);
        return into.length;
      };
      using own = openCounters(['cycles', 'instructions'], {}, { sys });
      assert.deepEqual(
        own.events.map(({ group }) => group),
        [0, 1],
      );
      const { counts } = own.read();
      assert.deepEqual(
        counts.map(({ scaled }) => scaled),
        [null, null],
      );
      assert.ok(own.notes.some(({ text }) => text.includes('cannot run as a whole')));
    });

    test('a refused event is explained, and closes the others', () => {
      const sys = new FakeSys();
      sys.refuseOpen = ({ attr }) => (attr.config === 1n && isHardware(attr.type) ? 'ENOENT' : null);
      assert.throws(() => openCounters(['cycles', 'instructions'], {}, { sys }), {
        code: 'ERR_EVENT_UNSUPPORTED',
        message: /instructions/,
      });
      assert.equal(sys.closed.length, 1);
    });

    test('without rights for the kernel its part is left out, and said, also where then nothing is left', () => {
      const sys = new FakeSys();
      sys.refuseOpen = ({ attr }) => (attr.flags.excludeKernel === 0 ? 'EACCES' : null);
      const open = () => openCounters(['page-faults', 'context-switches'], {}, { sys });
      const level = paranoidLevel() ?? 0;
      if (level < 2) {
        assert.throws(open, { code: 'ERR_PERF_PERMISSION' });
        return;
      }
      using own = open();
      assert.deepEqual(
        own.events.map(({ requestedName, name }) => `${requestedName} ${name}`),
        ['page-faults page-faults:u', 'context-switches context-switches:u'],
      );
      assert.deepEqual(
        own.notes.map(({ kind, text }) => [kind, text.endsWith('so the count stays 0')]),
        [
          ['kernel-excluded', false],
          ['kernel-excluded', true],
        ],
      );
    });

    test('where pages or code are forbidden the kernel is asked, and a note says why', () => {
      const noPages = new FakeSys();
      noPages.refuseMmap = () => 'EPERM';
      using first = openCounters('cycles', {}, { sys: noPages });
      assert.match(first.notes[0]!.text, /perf_event_mlock_kb/);
      assert.equal(first.read().source, 'read');
      const noCode = new FakeSys();
      const page = new EventPage();
      const sys: Sys = Object.assign(noCode, { mapEventPage: () => page.mapping });
      using second = openCounters('cycles', {}, { sys });
      assert.match(second.notes[0]!.text, /may not run code that it made.*EACCES/);
      assert.equal(second.read().source, 'read');
      page.close();
    });

    test('events of the kernel among counters: all are read by the kernel, and a note says so', () => {
      const sys = new FakeSys();
      using own = openCounters(['cycles', 'page-faults'], {}, { sys });
      assert.ok(
        own.notes.some(
          ({ text }) => text.startsWith('the kernel gives cycles') || text.startsWith('page-faults'),
        ),
      );
    });

    test('a pinned group that lost its counter reads as not counted', () => {
      const sys = new FakeSys();
      sys.read = () => 0;
      using own = openCounters('cycles', {}, { sys });
      assert.deepEqual(
        own.read().counts.map(({ value, scaled }) => [value, scaled]),
        [[0n, null]],
      );
    });
  });

  describe('user access', () => {
    /** The sysfs of an arm64 machine, with the bits in other places than the real ones have. */
    function withArm<T>(run: (root: string) => T): T {
      const root = mkdtempSync(join(tmpdir(), 'counterpoint-sysfs-'));
      try {
        const pmu = join(root, 'bus/event_source/devices/armv8_test');
        mkdirSync(join(pmu, 'format'), { recursive: true });
        writeFileSync(join(pmu, 'type'), '8\n');
        writeFileSync(join(pmu, 'format/event'), 'config:0-15\n');
        writeFileSync(join(pmu, 'format/rdpmc'), 'config2:5\n');
        return run(root);
      } finally {
        rmSync(root, { recursive: true });
      }
    }

    test('is asked for by the bits that sysfs names, for the PMU and the generic types, and can be taken back', () => {
      withArm((root) => {
        const access = userAccess(systemEventLookup(root), 1);
        const [own, generic, software] = [8, PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE].map((type) =>
          makeAttr({ type }),
        );
        assert.deepEqual([own!, generic!, software!].map(access.request), [true, true, false]);
        assert.deepEqual([own!.config2, generic!.config2, software!.config2], [32n, 32n, 0n]);
        access.withdraw(own!);
        assert.equal(own!.config2, 0n);
      });
    });

    test('is not asked for where the kernel has no such setting, or forbids it', () => {
      withArm((root) => {
        const lookup = systemEventLookup(root);
        const attr = makeAttr({ type: PERF_TYPE_HARDWARE });
        assert.equal(userAccess(lookup, null).request(attr), false);
        const forbidden = userAccess(lookup, 0);
        assert.equal(forbidden.request(attr), false);
        assert.match(forbidden.obstacle!, /sysctl kernel\.perf_user_access=1/);
        assert.equal(attr.config2, 0n);
      });
    });

    test('is given up where the kernel refuses the bits', () => {
      withArm((root) => {
        const sys = new FakeSys();
        sys.refuseOpen = ({ attr }) => (attr.config2 === 0n ? null : 'EINVAL');
        using own = openCounters(
          'cycles',
          {},
          { sys, lookup: systemEventLookup(root), userAccessSetting: 1 },
        );
        assert.equal(sys.events[0]!.attr.config2, 0n);
        assert.match(own.notes[0]!.text, /cycles has no counter that a program may read/);
      });
    });
  });

  test('scaling: the whole time for the part', () => {
    assert.equal(scale(10n, 100n, 50n), 20n);
    assert.equal(scale(10n, 100n, 100n), 10n);
    assert.equal(scale(0n, 0n, 0n), null);
    assert.equal(scale(2n ** 63n, 3n, 1n), 3n * 2n ** 63n);
  });
}
