import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { MMAP_PAGE_INDEX, MMAP_PAGE_PMC_WIDTH } from '@counterpoint/core/abi';
import { encodeAttr } from '@counterpoint/core/records';
import { hardwareEvent } from '../../../test/raw-count.ts';
import { liveHandles, realSys } from '../../kernel/sys/index.ts';
import { counters, measure } from './index.ts';

writeFileSync('/proc/sys/kernel/perf_user_access', '1');
afterEach(() => assert.deepEqual(liveHandles(), []));

test('the kernel gives an index and a width of 32 bits where the driver’s bit is set', () => {
  const attr = { ...hardwareEvent('cycles'), config1: 2n };
  using fd = realSys.perfEventOpen(encodeAttr(attr), 0, -1, null);
  using page = realSys.mapEventPage(fd);
  const view = new DataView(page.buffer);
  assert.equal(view.getUint32(MMAP_PAGE_INDEX, true), 0);
  realSys.enable(fd);
  assert.notEqual(view.getUint32(MMAP_PAGE_INDEX, true), 0);
  assert.equal(view.getUint16(MMAP_PAGE_PMC_WIDTH, true), 32);
});

// A counter of 32 bits starts at -2^31 and overflows after two seconds at 1 GHz:
// the sum goes on through that.
test('a page read lies between the reads before and after it, through an overflow of the counter', () => {
  using own = counters('cycles');
  using kernel = counters('cycles', { access: 'read' });
  const [before, page, after] = [new Float64Array(4), new Float64Array(4), new Float64Array(4)];
  // No less than what the first had counted when the second began.
  own.readInto(page);
  const [, headStart, headStartNs] = page;
  let pages = 0;
  let rounds = 0;
  const end = performance.now() + 20_000;
  do {
    kernel.readInto(before);
    if (own.readInto(page) === 'page') pages++;
    kernel.readInto(after);
    rounds++;
    assert.ok(before[1]! <= page[1]! && page[1]! <= after[1]! + headStart!, `${before} ${page} ${after}`);
    assert.ok(before[2]! <= page[2]! && page[2]! <= after[2]! + headStartNs!, `${before} ${page} ${after}`);
    // Wall time: how long it may take.
  } while (page[1]! < 2 ** 31 + 1e8 && performance.now() < end);
  assert.ok(pages > rounds * 0.9, `${pages} of ${rounds} in user space`);
  assert.ok(page[1]! > 2 ** 31, `${page[1]} cycles`);
});

test('time of a reading is the time of the kernel’s records, and grows', () => {
  using own = counters('cycles');
  assert.equal(own.clock, 'perf');
  const times = [own.read().timeNs, own.read().timeNs, own.read().timeNs];
  assert.ok(times[0]! < times[1]! && times[1]! < times[2]!);
});

test('measure counts cycles by itself where there are no instructions: the default falls back to what is there', () => {
  const { counts, notes } = measure(() => 1);
  assert.deepEqual(Object.keys(counts), ['task-clock', 'page-faults', 'context-switches']);
  assert.ok(notes.some(({ kind, text }) => kind === 'event-dropped' && /instructions/.test(text)));
});
