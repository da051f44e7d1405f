import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { PERF_RECORD_SAMPLE, PERF_TYPE_SOFTWARE } from '@counterpoint/core/abi';
import { parseEvents } from '@counterpoint/core/events';
import { makeAttr } from '@counterpoint/core/records';
import { RecordScan } from '@counterpoint/core/ring';
import { noOwnFaults, touchPages } from '../../../test/own-faults.ts';
import { systemEventLookup } from '../../kernel/local-pmus/index.ts';
import {
  openSampledEvents,
  type PlannedEvent,
  planEvents,
  planOpen,
  type SampledEvents,
  type SamplingOptions,
} from '../../kernel/perf-events/index.ts';
import { type FakeRing, FakeSys } from '../../kernel/sys/fake-sys.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { RingReader, type RoundSink } from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const event: PlannedEvent = {
  requestedName: 'cpu-clock',
  name: 'cpu-clock',
  attr: makeAttr({ type: PERF_TYPE_SOFTWARE }),
  leader: null,
  cpus: null,
  mostPrecise: false,
  tracepoint: null,
  changes: [],
  isSideband: false,
};

function record(fill: number, words = 1): Uint8Array {
  const bytes = new Uint8Array(8 + words * 8).fill(fill);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, PERF_RECORD_SAMPLE, true);
  view.setUint16(4, 0, true);
  view.setUint16(6, bytes.length, true);
  return bytes;
}

class Setup implements Disposable {
  readonly sys = new FakeSys();
  readonly sampled: SampledEvents;
  readonly kernel: FakeRing[];
  readonly scan = new RecordScan([], () => {});
  readonly reader: RingReader;

  constructor(sink: RoundSink, flushIntervalMs = 0) {
    const plan = planOpen([event], { tasks: [1], cpus: [0, 1] }, 1);
    this.sampled = openSampledEvents(this.sys, plan, { paranoid: 2 });
    this.kernel = [...this.sys.rings.values()];
    this.reader = new RingReader(this.sys, this.sampled, this.scan, sink, { flushIntervalMs });
    this.reader.start();
  }

  [Symbol.dispose](): void {
    this.reader[Symbol.dispose]();
    this.sampled.close();
  }
}

describe('RingReader', () => {
  test('a wake-up is one round over all rings, views of them, and the kernel gets its room back', () => {
    const rounds: number[][] = [];
    using setup = new Setup({
      writeRound(spans, sizeBytes) {
        assert.equal(
          spans.reduce((sum, span) => sum + span.length, 0),
          sizeBytes,
        );
        for (const span of spans)
          assert.ok(
            setup.kernel.some((ring) => ring.buffer === span.buffer),
            'no copy',
          );
        rounds.push(spans.map((span) => span[8]!));
      },
    });
    setup.kernel[0]!.write(record(1));
    setup.kernel[1]!.write(record(2));
    setup.kernel[0]!.write(record(1));
    setup.sys.wake();
    setup.sys.wake();
    assert.deepEqual(rounds, [[1, 2]]);
    assert.deepEqual(
      setup.kernel.map((ring) => ring.unreadBytes),
      [0, 0],
    );
    assert.deepEqual([setup.reader.wakeups, setup.reader.rounds, setup.scan.samples], [2, 1, 3]);
  });

  test('a batch that wraps comes in two spans', () => {
    const sizes: number[][] = [];
    using setup = new Setup({ writeRound: (spans) => void sizes.push(spans.map(({ length }) => length)) });
    const ring = setup.kernel[0]!;
    ring.write(record(1, 509));
    setup.sys.wake();
    ring.write(record(2, 3));
    setup.sys.wake();
    assert.deepEqual(sizes, [[4080], [16, 16]]);
  });

  test('a sink that is busy holds the rings: nothing is committed or overwritten until it is done', async () => {
    let release: () => void = () => {};
    let calls = 0;
    using setup = new Setup({
      writeRound: () => {
        calls++;
        return new Promise<void>((resolve) => {
          release = resolve;
        });
      },
    });
    const ring = setup.kernel[0]!;
    ring.write(record(1));
    setup.sys.wake();
    ring.write(record(2));
    setup.sys.wake();
    assert.equal(calls, 1);
    assert.equal(ring.unreadBytes, 32);
    release();
    await turn();
    assert.equal(ring.unreadBytes, 16);
    assert.equal(calls, 2, 'what came meanwhile is fetched without another announcement');
    release();
    await turn();
    assert.equal(ring.unreadBytes, 0);
  });

  test('a sink that fails ends the reading; what it did not take stays in the ring', async () => {
    using setup = new Setup({
      writeRound: () => {
        throw new Error('disk full');
      },
    });
    setup.kernel[0]!.write(record(1));
    setup.sys.wake();
    const end = await setup.reader.ended;
    assert.ok(end.reason === 'failed' && end.error instanceof Error && end.error.message === 'disk full');
    setup.sys.wake();
    assert.equal(setup.kernel[0]!.unreadBytes, 16);
    assert.equal(setup.reader.rounds, 1);
  });

  test('when every descriptor has hung up the target is gone', async () => {
    let bytes = 0;
    using setup = new Setup({ writeRound: (_, size) => void (bytes += size) });
    const [first, second] = setup.sys.events.map(({ fd }) => fd);
    let hasEnded = false;
    setup.reader.ended.then(() => {
      hasEnded = true;
    });
    setup.sys.wake([first!]);
    await turn();
    assert.equal(hasEnded, false);
    setup.kernel[1]!.write(record(3));
    setup.sys.wake([second!]);
    assert.deepEqual(await setup.reader.ended, { reason: 'hung-up' });
    assert.equal(bytes, 16);
    assert.deepEqual(setup.sys.controls, [`epollRemove ${first}`, `epollRemove ${second}`]);
  });

  test('finish takes the rest, also without a wake-up, and waits for a sink under way', async () => {
    const sizes: number[] = [];
    using setup = new Setup({
      writeRound: async (_, size) => {
        await turn();
        sizes.push(size);
      },
    });
    setup.kernel[0]!.write(record(1));
    setup.sys.wake();
    setup.kernel[0]!.write(record(2, 2));
    await setup.reader.finish();
    assert.deepEqual(sizes, [16, 24]);
    setup.kernel[0]!.write(record(2));
    setup.sys.wake();
    assert.deepEqual(sizes, [16, 24], 'nobody listens any more');
  });

  test('a timer flushes what no watermark announces', async () => {
    let bytes = 0;
    using setup = new Setup({ writeRound: (_, size) => void (bytes += size) }, 5);
    setup.kernel[0]!.write(record(1));
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(bytes, 16);
    assert.equal(setup.reader.wakeups, 0);
  });
});

test('a ring that is full before the event loop waits for it is read all the same', {
  skip: noOwnFaults,
}, async () => {
  const plan: SamplingOptions = {
    frequency: 1,
    period: 1n,
    isRateGiven: true,
    callchains: 'none',
    inherit: false,
    wholeCpus: false,
    enableOnExec: false,
    startsLater: false,
    levels: 'user',
  };
  const [faults] = planEvents(parseEvents('page-faults:u', systemEventLookup()), plan);
  faults!.attr.flags.watermark = 0;
  faults!.attr.wakeupEventsOrWatermark = 1;
  using sampled = openSampledEvents(realSys, planOpen([faults!], { tasks: [0], cpus: [-1] }, 1));
  let samples = 0;
  const scan = new RecordScan([PERF_RECORD_SAMPLE], () => samples++);
  using reader = new RingReader(realSys, sampled, scan, { writeRound: () => {} }, { flushIntervalMs: 0 });
  reader.start();
  sampled.enable();
  // More than a page has room for, so that nothing is written after it, and nothing is told.
  touchPages(500);
  sampled.disable();
  for (let tries = 0; samples === 0 && tries < 20; tries++) await turn();
  assert.ok(samples > 20 && samples < 500, `${samples} samples`);
});
