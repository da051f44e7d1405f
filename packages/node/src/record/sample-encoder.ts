/** Samples of formats as PERF_RECORD_SAMPLE, as the kernel would have written them for their event. */
import {
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_REGS_ABI_64,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  RECORD_HEADER_SIZE,
} from '@counterpoint/core/abi';
import { BodyWriter, encodeRecord, SampleLayout } from '@counterpoint/core/records';
import type { FormatSample } from '../sampling/index.ts';
import type { SessionEvent } from '../session/index.ts';

/** In the kernel's order; each is 8 bytes, and a call chain its length and its frames. */
const PLAIN_FIELDS = [
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_CALLCHAIN,
] as const;

/** What the size field of a record's header can say. */
const MOST_RECORD_BYTES = 0xffff;

/** Records one after the other, until they are taken. */
export class SampleBuffer {
  /** Where the next word of the record goes that was begun last. */
  #put = 0;
  view = new DataView(new ArrayBuffer(1 << 17));
  length = 0;

  /** Room for so much more; where it begins. */
  reserve(sizeBytes: number): number {
    const at = this.length;
    this.length += sizeBytes;
    if (this.length > this.view.byteLength) {
      const larger = new Uint8Array(Math.max(this.length, 2 * this.view.byteLength));
      larger.set(new Uint8Array(this.view.buffer, 0, at));
      this.view = new DataView(larger.buffer);
    }
    return at;
  }

  beginRecord(misc: number, sizeBytes: number): void {
    this.#put = this.reserve(sizeBytes);
    this.pair(PERF_RECORD_SAMPLE, misc | (sizeBytes << 16));
  }

  word(value: bigint): void {
    this.view.setBigUint64(this.#put, value, true);
    this.#put += 8;
  }

  pair(first: number, second: number): void {
    this.view.setUint32(this.#put, first, true);
    this.view.setUint32(this.#put + 4, second, true);
    this.#put += 8;
  }

  /** A copy: what is written to a stream is read later. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.view.buffer.slice(0, this.length));
    this.length = 0;
    return bytes;
  }
}

/** For one event. */
export class SampleEncoder {
  readonly #layout: SampleLayout;
  readonly #isPlain: boolean;
  readonly #idOfCpu: bigint[] = [];
  readonly #id: bigint;

  constructor({ attr, instances }: SessionEvent) {
    this.#layout = new SampleLayout(attr);
    const plain = PLAIN_FIELDS.reduce((bits, bit) => bits | bit, 0);
    this.#isPlain = (attr.sampleType & ~BigInt(plain)) === 0n;
    for (const { cpu, id } of instances) if (cpu >= 0) this.#idOfCpu[cpu] = id;
    this.#id = instances[0]!.id;
  }

  encode(buffer: SampleBuffer, sample: FormatSample): void {
    const id = this.#idOfCpu[sample.cpu] ?? this.#id;
    // The highest bit, without a bigint of its own.
    const misc =
      sample.ip < 0n || sample.ip > MOST_USER_ADDRESS ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    if (this.#isPlain) this.#encodePlain(buffer, sample, id, misc);
    else this.#encodeAny(buffer, sample, id, misc);
  }

  /** The usual fields: each a store. `#encodeAny` writes the same bytes, fifteen times slower. */
  #encodePlain(buffer: SampleBuffer, sample: FormatSample, id: bigint, misc: number): void {
    const type = this.#layout.sampleType;
    const { callchain } = sample;
    const hasChain = (type & PERF_SAMPLE_CALLCHAIN) !== 0;
    const chainLength = hasChain && callchain !== undefined ? callchain.length : 0;
    const sizeBytes = RECORD_HEADER_SIZE + 8 * (bitCount(type) + chainLength);
    if (sizeBytes > MOST_RECORD_BYTES)
      throw new RangeError(`a sample of ${sizeBytes} bytes is larger than a record`);
    buffer.beginRecord(misc, sizeBytes);
    if ((type & PERF_SAMPLE_IDENTIFIER) !== 0) buffer.word(id);
    if ((type & PERF_SAMPLE_IP) !== 0) buffer.word(sample.ip);
    if ((type & PERF_SAMPLE_TID) !== 0) buffer.pair(sample.pid, sample.tid);
    if ((type & PERF_SAMPLE_TIME) !== 0) buffer.word(sample.timeNs);
    if ((type & PERF_SAMPLE_ADDR) !== 0) buffer.word(sample.address ?? 0n);
    if ((type & PERF_SAMPLE_ID) !== 0) buffer.word(id);
    if ((type & PERF_SAMPLE_STREAM_ID) !== 0) buffer.word(id);
    if ((type & PERF_SAMPLE_CPU) !== 0) buffer.pair(sample.cpu, 0);
    if ((type & PERF_SAMPLE_PERIOD) !== 0) buffer.word(sample.period);
    if (!hasChain) return;
    buffer.pair(chainLength, 0);
    for (let index = 0; index < chainLength; index++) buffer.word(callchain![index]!);
  }

  #encodeAny(buffer: SampleBuffer, sample: FormatSample, id: bigint, misc: number): void {
    const {
      ip,
      pid,
      tid,
      cpu,
      timeNs: time,
      period,
      address = 0n,
      weight = 0n,
      callchain,
      registers,
    } = sample;
    const fields = {
      ...{ identifier: id, id, streamId: id, ip: BigInt.asUintN(64, ip), pid, tid, cpu, time, period },
      ...{ addr: address, weight, callchain: [...(callchain ?? [])] },
      ...(registers === undefined
        ? {}
        : { interruptRegisters: { abi: PERF_SAMPLE_REGS_ABI_64, registers: [...registers] } }),
    };
    const writer = new BodyWriter();
    const tail = new Uint8Array(0);
    encodeRecord(writer, { type: PERF_RECORD_SAMPLE, misc, sample: fields, tail }, this.#layout);
    const bytes = writer.take();
    const at = buffer.reserve(bytes.length);
    new Uint8Array(buffer.view.buffer).set(bytes, at);
  }
}

const MOST_USER_ADDRESS = 0x7fff_ffff_ffff_ffffn;

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits >>> 0; rest !== 0; rest &= rest - 1) count++;
  return count;
}
