import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { CounterpointError } from '@counterpoint/core/base';
import { cannotLoad, clockEvent, makeMap, ringProgram, spin } from '../../../test/bpf-programs.ts';
import { liveHandles, realSys } from '../sys/index.ts';
import { attachToEvent, BpfRingBuffer, createMap, loadPrograms } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const skip = cannotLoad();
const PERIOD_NS = 100_000;
const sys = realSys;

describe('the ring buffer', { skip }, () => {
  test('records that were read and those that were lost are all that the program made', () => {
    using set = loadPrograms(sys, [ringProgram('perf-event', 4096)]);
    using ring = new BpfRingBuffer(sys, set.map('ring'));
    using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
    using _ = attachToEvent(sys, set.program('ring'), event);
    const times: number[] = [];
    const drain = () => {
      for (; ring.reader.next(); times.push(ring.reader.words[ring.reader.word]!)) {
        assert.equal(ring.reader.sizeBytes, 56);
      }
      ring.reader.commit();
    };
    sys.enable(event);
    // The ring has room for 64 records: some of these rounds overflow it.
    for (const ms of [2, 20, 2, 20]) {
      spin(ms);
      assert.equal(ring.wait(0), true);
      drain();
    }
    sys.disable(event);
    drain();
    assert.equal(ring.wait(0), false);
    const counters = set.map('counters');
    assert.equal(times.length, counters.counter(0));
    assert.ok(counters.counter(1) > 0, 'none was lost');
    const isSorted = times.every((time, index) => index === 0 || (time - times[index - 1]!) >>> 0 < 2 ** 31);
    assert.ok(isSorted);
  });

  test('the event loop is told', async () => {
    using set = loadPrograms(sys, [ringProgram('perf-event', 1 << 16)]);
    using ring = new BpfRingBuffer(sys, set.map('ring'));
    using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
    using _ = attachToEvent(sys, set.program('ring'), event);
    const woken = new Promise<void>((resolve) => {
      const watch = ring.watch(() => {
        watch.close();
        resolve();
      });
    });
    sys.enable(event);
    await woken;
    sys.disable(event);
    assert.ok(ring.reader.next());
  });

  test('a size that the kernel does not take is named before it is asked', () => {
    assert.throws(
      () => createMap(sys, makeMap('ring', 'ring-buffer', { maxEntries: 5000 }), 1),
      (error) => error instanceof CounterpointError && error.code === 'ERR_BPF_RING_SIZE',
    );
  });
});
