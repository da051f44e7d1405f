import type { JitRecord } from '../code/jit/index.ts';

/** A jitdump of the records, as a runtime writes it: process 1234 on x86-64, times of the CPU by default. */
export function jitDumpBytes(
  records: readonly JitRecord[],
  littleEndian: boolean,
  hasArchTimes = true,
): Uint8Array<ArrayBuffer> {
  const writer = new Writer(littleEndian);
  writer.u32(0x4a695444, 1, 40, 62, 0, 1234).u64(5n, hasArchTimes ? 1n : 0n);
  for (const record of records) writer.record(record);
  return Uint8Array.from(writer.bytes);
}

class Writer {
  readonly bytes: number[] = [];
  readonly #littleEndian: boolean;

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian;
  }

  u32(...values: number[]): this {
    for (const value of values) this.#number(BigInt(value), 4);
    return this;
  }

  u64(...values: bigint[]): this {
    for (const value of values) this.#number(value, 8);
    return this;
  }

  record(record: JitRecord): void {
    const start = this.bytes.length;
    const types = { load: 0, move: 1, 'debug-info': 2, close: 3, unwinding: 4 };
    this.u32(record.kind === 'raw' ? record.type : types[record.kind], 0).u64(BigInt(record.time));
    if (record.kind === 'load') {
      this.u32(record.pid, record.tid).u64(
        record.address,
        record.address,
        BigInt(record.sizeBytes),
        record.codeIndex,
      );
      this.#text(record.name).bytes.push(...record.code);
    } else if (record.kind === 'move') {
      this.u32(record.pid, record.tid).u64(record.newAddress, record.oldAddress, record.newAddress);
      this.u64(record.sizeBytes, record.codeIndex);
    } else if (record.kind === 'debug-info') {
      this.u64(record.address, BigInt(record.lines.length));
      record.lines.forEach((line, index) => {
        this.u64(line.address).u32(line.line, line.discriminator);
        if (line.file === record.lines[index - 1]?.file) this.bytes.push(0xff, 0);
        else this.#text(line.file);
      });
    } else if (record.kind === 'unwinding') {
      this.u64(BigInt(record.data.length), BigInt(record.headerBytes), BigInt(record.mappedBytes));
      this.bytes.push(...record.data);
    } else if (record.kind === 'raw') this.bytes.push(...record.body);
    const size = new Writer(this.#littleEndian).u32(this.bytes.length - start).bytes;
    this.bytes.splice(start + 4, 4, ...size);
  }

  #text(text: string): this {
    this.bytes.push(...new TextEncoder().encode(text), 0);
    return this;
  }

  #number(value: bigint, size: number): void {
    const bytes = Array.from({ length: size }, (_, at) => Number((value >> BigInt(8 * at)) & 0xffn));
    this.bytes.push(...(this.#littleEndian ? bytes : bytes.reverse()));
  }
}
