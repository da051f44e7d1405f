import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { cannotLoad, clockEvent, countingProgram, makeMap, spin } from '../../../test/bpf-programs.ts';
import { until } from '../../../test/until-told.ts';
import { liveHandles, realSys } from '../sys/index.ts';
import {
  attachToEvent,
  attachToRawTracepoint,
  listLinks,
  listMaps,
  listPrograms,
  loadPrograms,
  missingCapabilities,
  openRingBuffer,
  possibleCpus,
  probeFeatures,
  verifierLog,
} from './on-this-kernel.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

describe('what is public, on the kernel that runs', { skip: cannotLoad() }, () => {
  test('a program is loaded, listed with its map, attached, and gone', async () => {
    const set = loadPrograms([countingProgram('raw-tracepoint', 0)]);
    const names = () => [listPrograms(), listMaps()].map((all) => all.map(({ name }) => name));
    const [programs, maps] = names();
    assert.ok(programs!.includes('count') && maps!.includes('counters'));
    // Those of any other program are none of this test's.
    const { id } = set.program('count').info();
    const links = () => listLinks().filter(({ programId }) => programId === id);
    assert.deepEqual(links(), []);
    const attachment = attachToRawTracepoint(set.program('count'), 'sched_switch');
    assert.equal(links().length, 1);
    assert.ok(await until(() => set.map('counters').counter(0) > 0));
    attachment.close();
    assert.ok(set.map('counters').counter(0) > 0);
    set.close();
  });

  test('it runs at each overflow of an event', () => {
    using set = loadPrograms([countingProgram('perf-event', 0)]);
    using event = realSys.perfEventOpen(clockEvent(100_000), 0, -1, null);
    using _ = attachToEvent(set.program('count'), event);
    realSys.enable(event);
    spin(20);
    realSys.disable(event);
    assert.ok(set.map('counters').counter(0) > 10);
  });

  test('rings, rights, features, CPUs and the verifier’s listing are asked of it', () => {
    const sizes = { keySizeBytes: 0, valueSizeBytes: 0, maxEntries: 4096 };
    using set = loadPrograms([], { maps: [makeMap('ring', 'ring-buffer', sizes)] });
    using ring = openRingBuffer(set.map('ring'));
    assert.equal(ring.reader.next(), false);
    assert.deepEqual(missingCapabilities(), []);
    assert.ok(probeFeatures()!.programTypes.has('perf-event'));
    assert.ok(possibleCpus().length > 0);
    const { log, isAccepted } = verifierLog(countingProgram('perf-event', 0));
    assert.ok(isAccepted && log.includes('exit'));
  });
});
