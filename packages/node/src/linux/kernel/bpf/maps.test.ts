import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { BPF_F_MMAPABLE } from '@counterpoint/core/abi';
import { cannotLoad, clockEvent, countOf, makeMap } from '../../../test/bpf-programs.ts';
import { liveHandles, realSys, SysError } from '../sys/index.ts';
import {
  attachToEvent,
  BpfAssembler,
  createMap,
  indexKey,
  listMaps,
  loadPrograms,
  mapInfo,
  possibleCpus,
  r0,
  r6,
} from './index.ts';

afterEach(() => assert.deepEqual(liveHandles(), []));

const skip = cannotLoad();
const PERIOD_NS = 100_000;
const sys = realSys;

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
    assert.throws(() => map.lookup(new Uint8Array(3)), /a key of 3 bytes instead of 4/);
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
