/**
 * Promise: records of 64 bytes go from rings to a file of tmpfs at 1 GB/s, all of them looked at. The peer is
 * `writev` of the same bytes and nothing else: memory of a virtual machine may come from its host at the
 * first touch, and then both are slow.
 *
 *   npm run bench stream
 *
 * The rings are played: as soon as one is read, it is full again. All else is the recorder's own: the reader,
 * the file's output, and the scan that counts samples and losses.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  MMAP_PAGE_DATA_HEAD,
  MMAP_PAGE_DATA_OFFSET,
  MMAP_PAGE_DATA_SIZE,
  PERF_RECORD_SAMPLE,
  PERF_TYPE_SOFTWARE,
} from '../packages/core/src/format/abi/index.ts';
import { makeAttr } from '../packages/core/src/format/records/index.ts';
import { ForwardRing, mappedRing, RecordScan } from '../packages/core/src/format/ring/index.ts';
import type { SampledEvents } from '../packages/node/src/linux/kernel/perf-events/index.ts';
import { realSys } from '../packages/node/src/linux/kernel/sys/index.ts';
import { RingReader } from '../packages/node/src/linux/sample/reader/index.ts';
import { FileOutput } from '../packages/node/src/linux/sample/record/file-output.ts';
import { secondsOfWritev } from './measure.ts';

const RINGS = 2;
const RECORD_BYTES = 64;
const ROUNDS = 5;
const TOTAL_BYTES = 1 << 30;
const PAGE_BYTES = realSys.pageSizeBytes();

/** A ring as the kernel leaves it when nobody reads: full of samples. */
function fullRing(sizeBytes: number): { ring: ForwardRing; refill(): void } {
  const { buffer } = realSys.mapAnonymous(PAGE_BYTES + sizeBytes);
  const page = new DataView(buffer);
  page.setBigUint64(MMAP_PAGE_DATA_OFFSET, BigInt(PAGE_BYTES), true);
  page.setBigUint64(MMAP_PAGE_DATA_SIZE, BigInt(sizeBytes), true);
  for (let at = 0; at < sizeBytes; at += RECORD_BYTES) {
    page.setUint32(PAGE_BYTES + at, PERF_RECORD_SAMPLE, true);
    page.setUint16(PAGE_BYTES + at + 6, RECORD_BYTES, true);
    page.setUint32(PAGE_BYTES + at + 8, at, true);
  }
  const head = new BigUint64Array(buffer, MMAP_PAGE_DATA_HEAD, 1);
  const ring = new ForwardRing(mappedRing(buffer, PAGE_BYTES));
  return { ring, refill: () => Atomics.store(head, 0, BigInt(ring.tail + sizeBytes)) };
}

type Played = ReturnType<typeof fullRing>;

/** Seconds, from rings to the end of the file. */
function recorded(played: readonly Played[], passes: number, path: string): number {
  const rings = played.map(({ ring }, cpu) => ({ ring, cpu, aux: null }));
  const sampled = { events: [], rings } as unknown as SampledEvents;
  const scan = new RecordScan([], () => {});
  const output = new FileOutput(path);
  output.begin([{ attr: makeAttr({ type: PERF_TYPE_SOFTWARE }), ids: [1n], name: 'cpu-clock' }]);
  using reader = new RingReader(realSys, sampled, scan, output, { flushIntervalMs: 0 });
  const began = performance.now();
  for (let pass = 0; pass < passes; pass++) {
    for (const { refill } of played) refill();
    reader.readNow();
  }
  const seconds = (performance.now() - began) / 1000;
  const wanted = (passes * played.length * played[0]!.ring.memory.data.length) / RECORD_BYTES;
  if (scan.samples !== wanted) throw new Error(`${scan.samples} samples of ${wanted} were counted`);
  return seconds;
}

function written(played: readonly Played[], passes: number, path: string): number {
  return secondsOfWritev(
    played.map(({ ring }) => ring.memory.data),
    passes,
    path,
  );
}

export function benchStream(): void {
  const folder = mkdtempSync('/dev/shm/counterpoint-bench-');
  const path = join(folder, 'stream.data');
  console.log(`stream: 1 GiB of ${RECORD_BYTES}-byte records to tmpfs`);
  try {
    for (const ringBytes of [512 << 10, 8 << 20]) {
      const played = Array.from({ length: RINGS }, () => fullRing(ringBytes));
      const passes = Math.ceil(TOTAL_BYTES / (RINGS * ringBytes));
      const pairs = Array.from({ length: ROUNDS }, () =>
        [recorded, written].map((way) => {
          const seconds = way(played, passes, path);
          rmSync(path);
          return TOTAL_BYTES / seconds / 1e9;
        }),
      );
      // The fastest of each: memory that the host must bring first only makes a round slower.
      const [ours, plain] = [0, 1].map((side) => Math.max(...pairs.map((pair) => pair[side]!)));
      console.log(
        `  ${RINGS} rings of ${ringBytes >> 10} KiB: ${ours!.toFixed(2)} GB/s (goal 1), writev alone ${plain!.toFixed(2)}: ${(ours! / plain!).toFixed(2)} times its rate`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
