import {
  PERF_RECORD_COMM,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_RECORD_SAMPLE,
} from '../format/abi/index.ts';
import { perf, TemporaryFolder } from './perf.ts';

/** Where the binary is mapped in the made-up recordings. */
const BASE = 0x1000_0000_0000n;

/**
 * What `perf script` calls addresses of a binary: a recording is made up in which the whole file is mapped
 * and each offset was hit once. Names come as `name+0xoffset`, or `[unknown]`.
 */
export function perfNamesOfFile(
  path: string,
  sizeBytes: number,
  offsets: number[],
  args: string[] = [],
): string[] {
  return perfNames(
    { start: BASE, size: BigInt(sizeBytes), pageOffset: 0n, path },
    offsets.map((offset) => BASE + BigInt(offset)),
    false,
    args,
  );
}

/** The same for the running kernel, by address. `textStart` is the address of `_text`. */
export function perfNamesOfKernel(textStart: bigint, addresses: bigint[]): string[] {
  const map = { start: textStart, size: 0x4000_0000n, pageOffset: textStart, path: '[kernel.kallsyms]_text' };
  return perfNames(map, addresses, true, []);
}

interface MadeUpMap {
  start: bigint;
  size: bigint;
  pageOffset: bigint;
  path: string;
}

function perfNames(map: MadeUpMap, ips: bigint[], isKernel: boolean, args: string[]): string[] {
  const folder = new TemporaryFolder();
  try {
    const path = folder.file('perf.data', madeUpRecording(map, ips, isKernel));
    const { stdout, stderr } = perf(['script', '-i', path, '-F', 'ip,sym,symoff', ...args]);
    const lines = stdout.split('\n').filter((line) => line.trim() !== '');
    if (lines.length !== ips.length)
      throw new Error(`perf gave ${lines.length} lines for ${ips.length}: ${stderr}`);
    return lines.map((line) => /^\s*[0-9a-f]+ (.*)$/.exec(line)![1]!);
  } finally {
    folder.remove();
  }
}

/**
 * PERFILE2 with one attr (cpu-clock; IP and TID), a COMM, a MMAP and the samples.
 * Independent of our own writer.
 */
function madeUpRecording(map: MadeUpMap, ips: bigint[], isKernel: boolean): Uint8Array {
  const misc = isKernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
  const pid = 4242;
  const path = new TextEncoder().encode(map.path);
  const pathSize = Math.ceil((path.length + 1) / 8) * 8;
  const commSize = 8 + 8 + 8;
  const mapSize = 8 + 8 + 24 + pathSize;
  const sampleSize = 8 + 16;
  const dataSize = commSize + mapSize + sampleSize * ips.length;
  const headerSize = 104;
  const attrSize = 64 + 16;
  const bytes = new Uint8Array(headerSize + attrSize + dataSize);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode('PERFILE2'));
  const sizes = [headerSize, attrSize, headerSize, attrSize, headerSize + attrSize, dataSize];
  sizes.forEach((value, index) => {
    view.setBigUint64(8 + index * 8, BigInt(value), true);
  });
  view.setUint32(headerSize, 1, true);
  view.setUint32(headerSize + 4, 64, true);
  view.setBigUint64(headerSize + 16, 1n, true);
  view.setBigUint64(headerSize + 24, 3n, true);
  let at = headerSize + attrSize;
  const record = (type: number, size: number): number => {
    view.setUint32(at, type, true);
    view.setUint16(at + 4, type === PERF_RECORD_COMM ? 0 : misc, true);
    view.setUint16(at + 6, size, true);
    at += size;
    return at - size + 8;
  };
  const comm = record(PERF_RECORD_COMM, commSize);
  view.setUint32(comm, pid, true);
  view.setUint32(comm + 4, pid, true);
  bytes.set(new TextEncoder().encode('made-up'), comm + 8);
  const mapped = record(PERF_RECORD_MMAP, mapSize);
  view.setUint32(mapped, isKernel ? 0xffff_ffff : pid, true);
  view.setUint32(mapped + 4, isKernel ? 0 : pid, true);
  view.setBigUint64(mapped + 8, map.start, true);
  view.setBigUint64(mapped + 16, map.size, true);
  view.setBigUint64(mapped + 24, map.pageOffset, true);
  bytes.set(path, mapped + 32);
  for (const ip of ips) {
    const sample = record(PERF_RECORD_SAMPLE, sampleSize);
    view.setBigUint64(sample, ip, true);
    view.setUint32(sample + 8, pid, true);
    view.setUint32(sample + 12, pid, true);
  }
  return bytes;
}
