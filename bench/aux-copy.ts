/**
 * Promise: a hardware trace goes from its AUX areas to a file of tmpfs at 1 GB/s, with one CPU at most. The
 * peer is `writev` of the same bytes and nothing else: memory of a virtual machine may come from its host at
 * the first touch, and then both are slow.
 *
 *   npm run bench aux
 *
 * The kernel is played: as soon as an area is read, its head is where the area is full again (all but the
 * byte that the kernel keeps free), and an AUX record is in the ring. All else is the recorder's own: the
 * areas, the reader, the file's output, and the scan of the records.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  MMAP_PAGE_AUX_HEAD,
  MMAP_PAGE_DATA_OFFSET,
  MMAP_PAGE_DATA_SIZE,
  PERF_RECORD_AUX,
  PERF_TYPE_SOFTWARE,
} from '../packages/core/src/format/abi/index.ts';
import {
  BodyWriter,
  encodeRecord,
  makeAttr,
  type PerfRecord,
} from '../packages/core/src/format/records/index.ts';
import {
  AuxDrain,
  ForwardRing,
  mappedAux,
  mappedRing,
  RecordScan,
  RingWriter,
  writtenRing,
} from '../packages/core/src/format/ring/index.ts';
import { AuxArea, type SampledEvents } from '../packages/node/src/linux/kernel/perf-events/index.ts';
import { realSys } from '../packages/node/src/linux/kernel/sys/index.ts';
import { RingReader } from '../packages/node/src/linux/sample/reader/index.ts';
import { FileOutput } from '../packages/node/src/linux/sample/record/file-output.ts';
import { tracePackets } from '../packages/node/src/test/aux-schedule.ts';
import { secondsOfWritev } from './measure.ts';

const CPUS = 2;
const ROUNDS = 5;
const TOTAL_BYTES = 1 << 30;
const RING_BYTES = 64 << 10;
const PAGE_BYTES = realSys.pageSizeBytes();

interface Played {
  cpu: number;
  mapping: { buffer: ArrayBuffer };
  ring: ForwardRing;
  aux: AuxArea;
  data: Uint8Array<ArrayBuffer>;
  refill(): void;
}

/** A CPU whose area is full of packets whenever somebody looks. */
function play(cpu: number, areaBytes: number, packets: Uint8Array): Played {
  const mapping = realSys.mapAnonymous(PAGE_BYTES + RING_BYTES);
  const page = new DataView(mapping.buffer);
  page.setBigUint64(MMAP_PAGE_DATA_OFFSET, BigInt(PAGE_BYTES), true);
  page.setBigUint64(MMAP_PAGE_DATA_SIZE, BigInt(RING_BYTES), true);
  const area = realSys.mapAnonymous(areaBytes);
  const data = new Uint8Array(area.buffer);
  for (let at = 0; at < areaBytes; at += packets.length) data.set(packets.subarray(0, areaBytes - at), at);
  const drain = new AuxDrain(mappedAux(mapping.buffer, data), { index: cpu, cpu, tid: -1 }, false);
  const sizes = { sizeBytes: areaBytes, enoughBytes: areaBytes, leastBytes: areaBytes };
  const aux = new AuxArea(area, drain, {
    ...sizes,
    overwrites: false,
    isSampled: false,
    takenBytes: Number.POSITIVE_INFINITY,
  });
  const head = new BigUint64Array(mapping.buffer, MMAP_PAGE_AUX_HEAD, 1);
  const records = new RingWriter(writtenRing(mapping.buffer), () => new Uint8Array());
  let end = 0;
  const refill = () => {
    const record = { auxOffset: BigInt(end), auxSize: BigInt(areaBytes - 1), flags: 0n };
    const writer = new BodyWriter();
    encodeRecord(
      writer,
      { type: PERF_RECORD_AUX, misc: 0, tail: new Uint8Array(), ...record } as PerfRecord,
      null,
    );
    records.write(writer.take());
    end += areaBytes - 1;
    Atomics.store(head, 0, BigInt(end));
  };
  return { cpu, mapping, ring: new ForwardRing(mappedRing(mapping.buffer, PAGE_BYTES)), aux, data, refill };
}

/** Seconds of the clock and of the CPU, from areas to the end of the file. */
function recorded(areaBytes: number, packets: Uint8Array, passes: number, path: string): [number, number] {
  const cpus = Array.from({ length: CPUS }, (_, cpu) => play(cpu, areaBytes, packets));
  const sampled = { events: [], rings: cpus, resumeTrace() {} } as unknown as SampledEvents;
  const scan = new RecordScan([], () => {});
  const output = new FileOutput(path);
  output.begin([{ attr: makeAttr({ type: PERF_TYPE_SOFTWARE }), ids: [1n], name: 'intel_pt//u' }]);
  using reader = new RingReader(realSys, sampled, scan, output, { flushIntervalMs: 0, traceClock: () => 1n });
  const began = performance.now();
  const cpuBegan = process.cpuUsage();
  for (let pass = 0; pass < passes; pass++) {
    for (const { refill } of cpus) refill();
    reader.readNow();
  }
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpuBegan);
  const taken = cpus.reduce((sum, { aux }) => sum + aux.drain.traceBytes, 0);
  if (taken !== passes * CPUS * (areaBytes - 1)) throw new Error(`${taken} bytes were taken`);
  for (const { aux, mapping } of cpus) {
    aux[Symbol.dispose]();
    (mapping as Disposable & typeof mapping)[Symbol.dispose]();
  }
  output.close();
  return [seconds, (user + system) / 1e6];
}

function written(areaBytes: number, passes: number, path: string): number {
  return secondsOfWritev(
    Array.from({ length: CPUS }, () => new Uint8Array(areaBytes).fill(1)),
    passes,
    path,
  );
}

export async function benchAux(): Promise<void> {
  const folder = mkdtempSync('/dev/shm/counterpoint-bench-');
  const path = join(folder, 'aux.data');
  const packets = await tracePackets(1 << 20, 1);
  console.log('aux: 1 GiB of trace from the areas of two CPUs to tmpfs');
  try {
    for (const areaBytes of [128 << 10, 4 << 20]) {
      const passes = Math.ceil(TOTAL_BYTES / (CPUS * areaBytes));
      const gigabytes = (passes * CPUS * areaBytes) / 1e9;
      const rounds = Array.from({ length: ROUNDS }, () => {
        const [seconds, cpuSeconds] = recorded(areaBytes, packets, passes, path);
        rmSync(path, { force: true });
        const peer = written(areaBytes, passes, path);
        rmSync(path, { force: true });
        return { rate: gigabytes / seconds, cpus: cpuSeconds / seconds, peer: gigabytes / peer };
      });
      const middle = (key: 'rate' | 'cpus' | 'peer') =>
        rounds.map((round) => round[key]).sort((a, b) => a - b)[ROUNDS >> 1]!;
      console.log(
        `  areas of ${areaBytes >> 10} KiB: ${middle('rate').toFixed(2)} GB/s with ${middle('cpus').toFixed(2)} CPUs (writev alone ${middle('peer').toFixed(2)} GB/s; promised 1 GB/s with one CPU)`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
