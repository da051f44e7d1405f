import { DamageLog, memorySource } from '../base/index.ts';
import { readFileHeader } from '../file-formats/perfdata/reader/file-header.ts';
import {
  FEATURE_TRACING_DATA,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_TRACING_DATA,
  PIPE_HEADER_SIZE,
} from '../format/abi/index.ts';

/**
 * The same recording as `perf record -o -` writes it: each attr as a HEADER_ATTR record, with its ids; trace
 * metadata; then the records, as they stand in the file. Null for what is a pipe already.
 */
export async function pipeTwin(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer> | null> {
  const view = new DataView(bytes.buffer);
  const le = bytes[0] === 0x50;
  if (Number(view.getBigUint64(8, le)) === PIPE_HEADER_SIZE) return null;
  const header = await readFileHeader(memorySource(bytes), le, new DamageLog());
  const entrySize = Number(view.getBigUint64(16, le));
  const pieces: Uint8Array[] = [bytes.slice(0, 8), word(16n, le)];
  for (const { ids, fileOffset } of header.attrs) {
    const stated = view.getUint32(fileOffset + 4, le) || 64;
    const attr = bytes.slice(fileOffset, fileOffset + Math.min(stated, entrySize - 16));
    pieces.push(record(PERF_RECORD_HEADER_ATTR, [attr, ...ids.map((id) => word(BigInt(id), le))], le));
  }
  const tracing = header.features.find(({ bit }) => bit === FEATURE_TRACING_DATA);
  if (tracing !== undefined) {
    const size = Math.ceil(tracing.size / 8) * 8;
    const padded = new Uint8Array(size);
    padded.set(bytes.subarray(tracing.offset, tracing.offset + tracing.size));
    const sizeWord = word(BigInt(tracing.size), le);
    pieces.push(
      record(PERF_RECORD_HEADER_TRACING_DATA, [le ? sizeWord.slice(0, 4) : sizeWord.slice(4)], le),
      padded,
    );
  }
  const { offset, size } = header.data;
  pieces.push(bytes.slice(offset, offset + size));
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

function word(value: bigint, le: boolean): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, le);
  return bytes;
}

function record(type: number, pieces: Uint8Array[], le: boolean): Uint8Array {
  const body = Uint8Array.from(pieces.flatMap((piece) => [...piece]));
  const bytes = new Uint8Array(8 + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, type, le);
  view.setUint16(6, bytes.length, le);
  bytes.set(body, 8);
  return bytes;
}
