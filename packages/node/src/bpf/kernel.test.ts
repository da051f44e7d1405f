import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, test } from 'node:test';
import { BPF_F_MMAPABLE, MMAP_PAGE_DATA_HEAD } from '@counterpoint/core/abi';
import { CounterpointError } from '@counterpoint/core/base';
import { liveHandles, realSys, SysError } from '../sys/index.ts';
import {
  cannotLoad,
  clockEvent,
  countingProgram,
  countOf,
  EXIT,
  makeMap,
  makeProgram,
  returns,
  ringProgram,
  spin,
} from '../test/bpf-programs.ts';
import {
  attachToEvent,
  attachToRawTracepoint,
  BpfAssembler,
  BpfRingBuffer,
  createMap,
  indexKey,
  listLinks,
  listMaps,
  listPrograms,
  loadPrograms,
  mapInfo,
  possibleCpus,
  probeFeatures,
  r0,
  r6,
  VerifierError,
  verifierLog,
} from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const skip = cannotLoad();
const PERIOD_NS = 100_000;
const sys = realSys;

describe('programs on perf events', { skip }, () => {
  for (const [result, what] of [
    [0, 'drops the record'],
    [1, 'keeps the record'],
  ] as const) {
    test(`one that returns ${result} runs at every overflow and ${what}`, () => {
      using set = loadPrograms(sys, [countingProgram('perf-event', result)]);
      using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
      using ring = sys.mmap(event, sys.pageSizeBytes() * 9);
      using _ = attachToEvent(sys, set.program('count'), event);
      sys.enable(event);
      spin(20);
      sys.disable(event);
      const runs = set.map('counters').counter(0);
      const overflows = Math.floor(countOf(event) / PERIOD_NS);
      // A timer that came late makes one overflow of several.
      assert.ok(runs > 10 && runs <= overflows, `${runs} runs, ${overflows} periods`);
      const headBytes = new BigUint64Array(ring.buffer, MMAP_PAGE_DATA_HEAD, 1)[0];
      assert.equal(headBytes, result === 0 ? 0n : BigInt(runs * 24));
      assert.equal(sys.waitReadable(event, 0), result !== 0);
    });
  }

  test('children of an inherited event run it, too', async () => {
    using set = loadPrograms(sys, [countingProgram('perf-event', 0)]);
    const child = spawn('sh', [
      '-c',
      'read go; sh -c "i=0; while [ \\$i -lt 30000 ]; do i=\\$((i+1)); done"; true',
    ]);
    using event = sys.perfEventOpen(
      clockEvent(PERIOD_NS, { inherit: 1, enableOnExec: 1 }),
      child.pid!,
      -1,
      null,
    );
    using _ = attachToEvent(sys, set.program('count'), event);
    child.stdin.end('go\n');
    await once(child, 'exit');
    assert.ok(set.map('counters').counter(0) > 20);
  });

  test('an event takes one program, and another one when that is taken out', () => {
    using set = loadPrograms(sys, [
      countingProgram('perf-event', 0),
      countingProgram('perf-event', 0, 'other'),
    ]);
    using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
    const first = attachToEvent(sys, set.program('count'), event);
    assert.throws(
      () => attachToEvent(sys, set.program('other'), event),
      (error) =>
        error instanceof CounterpointError && error.code === 'ERR_BPF_ATTACH' && /EEXIST/.test(error.message),
    );
    first.close();
    attachToEvent(sys, set.program('other'), event).close();
  });

  test('a program of another type is refused with what fits', () => {
    using set = loadPrograms(sys, [countingProgram('tracepoint', 1)]);
    using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
    assert.throws(
      () => attachToEvent(sys, set.program('count'), event),
      (error) => error instanceof CounterpointError && /perf-event programs/.test(error.remedy),
    );
  });

  test('its runs are counted and timed while somebody asks', () => {
    using set = loadPrograms(sys, [countingProgram('perf-event', 0)]);
    using event = sys.perfEventOpen(clockEvent(PERIOD_NS), 0, -1, null);
    using _ = attachToEvent(sys, set.program('count'), event);
    using _statistics = sys.bpfEnableStats();
    sys.enable(event);
    spin(10);
    sys.disable(event);
    const { runCount, runTimeNs, name, type } = set.program('count').info();
    assert.equal(runCount, set.map('counters').counter(0));
    assert.ok(runTimeNs > 0);
    assert.deepEqual([name, type], ['count', 'perf-event']);
  });
});

test('a raw tracepoint runs a program until it is taken out', { skip }, async () => {
  using set = loadPrograms(sys, [countingProgram('raw-tracepoint', 0)]);
  const attachment = attachToRawTracepoint(sys, set.program('count'), 'sched_switch');
  await new Promise((resolve) => setTimeout(resolve, 10));
  attachment.close();
  assert.ok(set.map('counters').counter(0) > 0);
  assert.throws(
    () => attachToRawTracepoint(sys, set.program('count'), 'no_such_tracepoint'),
    (error) => error instanceof CounterpointError && error.code === 'ERR_NO_TRACEPOINT',
  );
});

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

describe('maps', { skip }, () => {
  const cpus = possibleCpus();
  // A table of the recently used forgets before it is full.
  const LRU_SAFE: Record<string, number> = { 'lru-hash': 8000, 'lru-per-cpu-hash': 8000 };

  test('elements are written, found, listed, removed', () => {
    using map = createMap(sys, makeMap('pairs', 'hash', { maxEntries: 100 }), cpus.length);
    assert.equal(map.lookup(indexKey(1)), null);
    for (let index = 0; index < 100; index++) map.update(indexKey(index), new Uint8Array(8).fill(index));
    assert.deepEqual([...map.lookup(indexKey(7))!], new Array(8).fill(7));
    assert.equal(map.insert(indexKey(7), new Uint8Array(8)), false);
    assert.throws(
      () => map.update(indexKey(100), new Uint8Array(8)),
      (error) => error instanceof SysError && error.code === 'E2BIG',
    );
    assert.equal(new Set([...map.keys()].map((key) => key[0])).size, 100);
    assert.equal(map.delete(indexKey(7)), true);
    assert.equal(map.delete(indexKey(7)), false);
    assert.throws(() => map.lookup(new Uint8Array(3)), /a key of 3 bytes where it has 4/);
  });

  for (const type of [
    'hash',
    'per-cpu-hash',
    'lru-hash',
    'lru-per-cpu-hash',
    'array',
    'per-cpu-array',
  ] as const) {
    test(`batches of a ${type} give every element once, whatever their size`, () => {
      using map = createMap(sys, makeMap('all', type, { maxEntries: LRU_SAFE[type] ?? 1000 }), cpus.length);
      const value = new Uint8Array(map.valueBytes);
      const words = new BigUint64Array(value.buffer);
      for (let index = 0; index < 1000; index++) {
        words.forEach((_, copy) => {
          words[copy] = BigInt(index * 10 + copy);
        });
        map.update(indexKey(index), value);
      }
      const isArray = type.endsWith('array');
      for (const size of [1, 37, 4096]) {
        const found = new Map<number, number>();
        for (const { count, keys, values } of map.batches('lookup', size)) {
          const keyWords = new Uint32Array(keys.buffer);
          const valueWords = new BigUint64Array(values.buffer);
          for (let index = 0; index < count; index++)
            found.set(keyWords[index]!, Number(valueWords[(index + 1) * map.copies - 1]));
        }
        assert.equal(found.size, 1000);
        for (const [key, last] of found) assert.equal(last, key * 10 + map.copies - 1);
      }
      if (isArray) return;
      let taken = 0;
      for (const { count } of map.batches('lookup-and-delete', 64)) taken += count;
      assert.equal(taken, 1000);
      assert.deepEqual([...map.keys()], []);
    });
  }

  test('an array that may be mapped is read where it lies', () => {
    const definition = makeMap('mapped', 'array', { maxEntries: 600, flags: BPF_F_MMAPABLE });
    using map = createMap(sys, definition, cpus.length);
    using values = map.mapValues();
    map.update(indexKey(599), new Uint8Array(8).fill(7));
    assert.equal(new BigUint64Array(values.buffer)[599], 0x0707_0707_0707_0707n);
    using other = createMap(sys, makeMap('other', 'hash'), cpus.length);
    assert.throws(() => other.mapValues(), /"other" \(hash\) cannot be mapped/);
  });

  test('a program reads the counter of an event in an array of events', () => {
    const events = makeMap('events', 'perf-event-array', { valueSizeBytes: 4, maxEntries: cpus.length });
    const seen = makeMap('seen', 'array');
    const asm = new BpfAssembler({ name: 'reader', type: 'perf-event' });
    asm.call('perf_event_read', events, 0);
    asm.move(r6, r0);
    asm.mapUpdate(seen, 0, r6);
    asm.dropRecord();
    using set = loadPrograms(sys, [asm.assemble()]);
    using counted = sys.perfEventOpen(clockEvent(1_000_000_000, { disabled: 0 }), -1, 0, null);
    set.map('events').putDescriptor(0, counted);
    using event = sys.perfEventOpen(clockEvent(PERIOD_NS), -1, 0, null);
    using _ = attachToEvent(sys, set.program('reader'), event);
    sys.enable(event);
    // CPU 0's clock runs whoever uses it.
    for (const until = performance.now() + 5000; set.map('seen').counter(0) === 0; )
      assert.ok(performance.now() < until, 'it never ran');
    sys.disable(event);
    assert.ok(set.map('seen').counter(0) <= countOf(counted));
    assert.equal(set.map('events').delete(indexKey(0)), true);
  });

  test('types without batches are read one by one', () => {
    const definition = makeMap('stacks', 'stack-trace', { valueSizeBytes: 64, maxEntries: 16 });
    using map = createMap(sys, definition, cpus.length);
    assert.deepEqual([...map.batches()], []);
  });

  test('the kernel lists them as they were made', () => {
    using map = createMap(sys, makeMap('a name of twenty', 'per-cpu-hash', { maxEntries: 9 }), cpus.length);
    const { id, ...rest } = mapInfo(sys, map.fd);
    assert.deepEqual(rest, {
      name: 'a_name_of_twent',
      type: 'per-cpu-hash',
      keySizeBytes: 4,
      valueSizeBytes: 8,
      maxEntries: 9,
      flags: 0,
    });
    assert.ok(listMaps(sys).some((one) => one.id === id));
  });
});

describe('what the verifier refuses', { skip }, () => {
  const refused = (...slots: Parameters<typeof makeProgram>[2]): VerifierError => {
    try {
      loadPrograms(sys, [makeProgram('bad', 'perf-event', slots)]).close();
    } catch (error) {
      if (error instanceof VerifierError) return error;
      throw error;
    }
    throw new Error('the verifier accepted it');
  };

  test('names the line, the instruction, the reason and what was known', () => {
    const error = refused(returns(0), [0x79, 0, 2, 0, 0], EXIT);
    assert.equal(error.verdict.instruction, 1);
    assert.equal(error.line?.line, 2);
    assert.match(
      error.message,
      /^format\.ts:2:3: .*"bad" at instruction 1, \(79\) r0 = \*\(u64 \*\)\(r2 \+0\): R2 !read_ok/,
    );
    assert.match(error.verdict.registers ?? '', /R1=ctx/);
    assert.match(error.remedy, /no value on every way/);
  });

  test('what is wrong before any path is followed has its line, too', () => {
    const outside = refused(returns(0), [0x05, 0, 0, 5, 0], EXIT);
    assert.deepEqual([outside.verdict.instruction, outside.line?.line], [1, 2]);
    const unreachable = refused(returns(0), EXIT, returns(1), EXIT);
    assert.deepEqual([unreachable.verdict.instruction, unreachable.line?.line], [2, 3]);
    assert.match(unreachable.remedy, /No way leads there/);
    const context = refused([0x79, 0, 1, 4000, 0], EXIT);
    assert.deepEqual([context.verdict.instruction, context.line?.line], [0, 1]);
    assert.match(context.remedy, /No field/);
  });

  test('a log of many instructions is read whole', () => {
    const nothing: [number, number, number, number, number] = [0xb7, 3, 0, 0, 1];
    const error = refused(...new Array(40_000).fill(nothing), [0x79, 0, 9, 0, 0], EXIT);
    assert.equal(error.verdict.instruction, 40_000);
    assert.ok(error.log.length > 1 << 20);
  });

  test('leaves nothing behind', async () => {
    const name = `left_${process.pid}`;
    const good = makeProgram('good', 'perf-event', [returns(0), EXIT], [makeMap(name, 'hash')]);
    const bad = makeProgram('bad', 'perf-event', [EXIT]);
    assert.throws(() => loadPrograms(sys, [good, bad]), VerifierError);
    await goes(() => listMaps(sys).some((map) => map.name === name));
  });

  test('lists what it accepts when it is asked', () => {
    const { log, isAccepted } = verifierLog(sys, countingProgram('perf-event', 0));
    assert.equal(isAccepted, true);
    assert.match(log, /5: \(85\) call bpf_map_lookup_elem#1/);
  });
});

test('two maps of one name must be one', () => {
  const program = (maxEntries: number, name: string) =>
    makeProgram(name, 'perf-event', [returns(0), EXIT], [makeMap('same', 'hash', { maxEntries })]);
  assert.throws(
    () => loadPrograms(sys, [program(1, 'a'), program(2, 'b')]),
    (error) => error instanceof CounterpointError && error.code === 'ERR_BPF_MAP_CLASH',
  );
  assert.throws(() => loadPrograms(sys, [program(1, 'a'), program(1, 'a')]), /two programs are called "a"/);
});

test('this kernel is probed by what it does', { skip }, () => {
  const features = probeFeatures(sys)!;
  for (const type of ['hash', 'per-cpu-hash', 'stack-trace', 'ring-buffer'] as const)
    assert.ok(features.mapTypes.has(type), type);
  assert.ok(features.programTypes.has('perf-event'));
});

/** The kernel frees after a grace period. */
async function goes(isThere: () => boolean): Promise<void> {
  for (const until = performance.now() + 5000; isThere(); ) {
    assert.ok(performance.now() < until, 'it is still there');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// Other programs of this machine come and go: what is looked for has a name of its own.
const LEFT = `left_${process.pid}`;
const HOLDER = `
import { realSys } from '../sys/index.ts';
import { clockEvent, EXIT, makeMap, makeProgram, returns } from '../test/bpf-programs.ts';
import { attachToEvent, loadPrograms } from './index.ts';
const maps = [makeMap('${LEFT}', 'hash')];
const set = loadPrograms(realSys, [makeProgram('${LEFT}', 'perf-event', [returns(0), EXIT], maps)]);
const event = realSys.perfEventOpen(clockEvent(1_000_000), 0, -1, null);
attachToEvent(realSys, set.program('${LEFT}'), event);
realSys.enable(event);
console.log('attached');
setInterval(() => {}, 1000);
`;

test('a process that is killed leaves no program, map or link', { skip, timeout: 30_000 }, async () => {
  const programs = () => listPrograms(sys).filter(({ name }) => name === LEFT);
  const maps = () => listMaps(sys).filter(({ name }) => name === LEFT);
  const child = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), '--conditions=counterpoint-source', '--input-type=module', '-'],
    { cwd: import.meta.dirname, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const exited = once(child, 'exit');
  try {
    child.stdin.end(HOLDER);
    await Promise.race([once(child.stdout, 'data'), exited]);
    assert.deepEqual([programs().length, maps().length], [1, 1]);
    const { id } = programs()[0]!;
    const links = () => listLinks(sys).filter(({ programId }) => programId === id);
    assert.deepEqual(
      links().map(({ type }) => type),
      ['perf-event'],
    );
    child.kill('SIGKILL');
    await exited;
    await goes(() => programs().length + maps().length + links().length > 0);
  } finally {
    child.kill('SIGKILL');
  }
});
