import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CACHE_NAMES, CACHE_OPERATIONS, CACHE_RESULTS } from '../../format/abi/index.ts';
import { type AttrFlags, makeAttr } from '../../format/records/index.ts';
import { cacheName, eventNameFromAttr } from './attr-name.ts';

/**
 * [type, config, flags, name]; what `perf evlist` 6.1 prints for such an event once
 * EVENT_DESC is cut from the file.
 */
const NAMES: readonly (readonly [number, bigint, Partial<AttrFlags>, string])[] = [
  [1, 0n, { excludeGuest: 1 }, 'cpu-clock'],
  [1, 0n, { excludeKernel: 1, excludeHv: 1, excludeGuest: 1 }, 'cpu-clock:uH'],
  [1, 0n, { excludeKernel: 1, excludeHv: 1 }, 'cpu-clock:u'],
  [1, 0n, { excludeUser: 1, excludeHv: 1 }, 'cpu-clock:k'],
  [1, 0n, { excludeUser: 1, excludeKernel: 1 }, 'cpu-clock:h'],
  [1, 0n, { excludeHv: 1, excludeGuest: 1 }, 'cpu-clock:kuH'],
  [1, 0n, { excludeHost: 1 }, 'cpu-clock:G'],
  [1, 0n, {}, 'cpu-clock:HG'],
  [1, 0n, { excludeKernel: 1, excludeHv: 1, excludeHost: 1 }, 'cpu-clock:uG'],
  [1, 0n, { preciseIp: 1, excludeGuest: 1 }, 'cpu-clock:pH'],
  [1, 0n, { preciseIp: 3, excludeGuest: 1 }, 'cpu-clock:pppH'],
  [1, 0n, { excludeKernel: 1, excludeHv: 1, preciseIp: 2, excludeGuest: 1 }, 'cpu-clock:uppH'],
  [1, 0n, { preciseIp: 1 }, 'cpu-clock:p'],
  [1, 1n, { excludeGuest: 1 }, 'task-clock'],
  [1, 2n, { excludeGuest: 1 }, 'page-faults'],
  [1, 3n, { excludeGuest: 1 }, 'context-switches'],
  [1, 99n, { excludeGuest: 1 }, 'unknown-software'],
  [0, 0n, { excludeGuest: 1 }, 'cycles'],
  [0, 9n, { excludeGuest: 1 }, 'ref-cycles'],
  [0, 10n, { excludeGuest: 1 }, 'unknown-hardware'],
  [0, (4n << 32n) | 1n, { excludeGuest: 1 }, 'instructions'],
  [2, 311n, { excludeGuest: 1 }, 'unknown tracepoint'],
  [3, 0x1_0000n, { excludeGuest: 1 }, 'L1-dcache-load-misses'],
  [3, 0x0102n, { excludeGuest: 1 }, 'LLC-stores'],
  [3, 0x0104n, { excludeGuest: 1 }, 'invalid-cache'],
  [3, 0x0007n, { excludeGuest: 1 }, 'unknown-ext-hardware-cache-type'],
  [3, 0x0300n, { excludeGuest: 1 }, 'unknown-ext-hardware-cache-op'],
  [3, 0x2_0000n, { excludeGuest: 1 }, 'unknown-ext-hardware-cache-result'],
  [4, 0x1a8n, { excludeGuest: 1 }, 'raw 0x1a8'],
  [4, 0xffff_ffff_ffff_ffffn, { excludeGuest: 1, excludeHv: 1 }, 'raw 0xffffffffffffffff:kuH'],
  [123, 0n, { excludeGuest: 1 }, 'unknown attr type: 123'],
];

test('events without a name are named as perf names them', () => {
  for (const [type, config, flags, name] of NAMES) {
    assert.equal(eventNameFromAttr(makeAttr({ type, config, flags })), name);
  }
  const watch = makeAttr({
    type: 5,
    config1: 0x1000n,
    config2: 8n,
    breakpointType: 3,
    flags: { excludeGuest: 1 },
  });
  assert.equal(eventNameFromAttr(watch), 'mem:0x1000:rw');
});

test('every cache event that exists has a name of its own', () => {
  const names = new Set<string>();
  let valid = 0;
  for (let cache = 0; cache < CACHE_NAMES.length; cache++) {
    for (let operation = 0; operation < CACHE_OPERATIONS.length; operation++) {
      for (let result = 0; result < CACHE_RESULTS.length; result++) {
        const name = cacheName(BigInt(cache | (operation << 8) | (result << 16)));
        if (name === 'invalid-cache') continue;
        valid++;
        names.add(name);
      }
    }
  }
  assert.equal(valid, 32);
  assert.equal(names.size, 32);
});
