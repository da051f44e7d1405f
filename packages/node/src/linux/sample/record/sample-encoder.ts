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
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  RECORD_HEADER_SIZE,
} from '@counterpoint/core/abi';
import { BodyWriter, encodeRecord, SampleLayout } from '@counterpoint/core/records';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import {
  chainLength,
  type FormatSample,
  ownMark,
  rowStart,
  type SampleRows,
  sampleOfRow,
  timeOfRow,
} from '../formats/index.ts';

/** In the kernel's order; each is 8 bytes: a call chain has frames behind its length, and no stack is 0. */
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
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
] as const;

/** What the size field of a record's header can say. */
const MOST_RECORD_BYTES = 0xffff;

/** Records one after the other, until they are taken. */
export class SampleBuffer {
  /** Where the next word of the record goes that was begun last. */
  #put = 0;
  view = new DataView(new ArrayBuffer(1 << 17));
  /** The same memory, in words of 32 bits. */
  #words = new Uint32Array(this.view.buffer);
  length = 0;

  /** Room for so much more; where it begins. */
  reserve(sizeBytes: number): number {
    const at = this.length;
    this.length += sizeBytes;
    if (this.length > this.view.byteLength) {
      const larger = new Uint8Array(Math.max(8 * Math.ceil(this.length / 8), 2 * this.view.byteLength));
      larger.set(new Uint8Array(this.view.buffer, 0, at));
      this.view = new DataView(larger.buffer);
      this.#words = new Uint32Array(larger.buffer);
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
    const at = this.#put >>> 2;
    this.#words[at] = first;
    this.#words[at + 1] = second;
    this.#put += 8;
  }

  /** Copy `count` words of 64 bits, from the `from`-th word of 32 bits on. */
  copy(source: Uint32Array, from: number, count: number): void {
    const at = this.#put >>> 2;
    for (let index = 0; index < 2 * count; index++) this.#words[at + index] = source[from + index]!;
    this.#put += 8 * count;
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

  constructor({ attr, instances }: SampledEvent) {
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
    if (this.#isPlain && sample.user === undefined) this.#encodePlain(buffer, sample, id, misc);
    else this.#encodeAny(buffer, sample, id, misc);
  }

  /** The n-th of many. */
  encodeRow(buffer: SampleBuffer, rows: SampleRows, index: number): void {
    const id = this.#idOfCpu[rows.cpu] ?? this.#id;
    if (this.#isPlain) this.#encodePlainRow(buffer, rows, index, id);
    else this.encode(buffer, sampleOfRow(rows, index));
  }

  #encodePlainRow(buffer: SampleBuffer, rows: SampleRows, index: number, id: bigint): void {
    const type = this.#layout.sampleType;
    const { words, at, chains, cpu } = rows;
    const start = rowStart(rows, index);
    const hasChain = (type & PERF_SAMPLE_CALLCHAIN) !== 0;
    const fromChain = hasChain && chains !== undefined && at.chain !== undefined;
    const chainPlace = fromChain ? words[start + at.chain]! : 0;
    const length = fromChain ? chainLength(chains, chainPlace) : 0;
    const ipLo = words[start + at.ip]!;
    const ipHi = words[start + at.ip + 1]!;
    buffer.beginRecord(
      ipHi > MOST_USER_HIGH_HALF ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
      checkedSize(type, length),
    );
    if ((type & PERF_SAMPLE_IDENTIFIER) !== 0) buffer.word(id);
    if ((type & PERF_SAMPLE_IP) !== 0) buffer.pair(ipLo, ipHi);
    if ((type & PERF_SAMPLE_TID) !== 0) buffer.pair(words[start + at.pid]!, words[start + at.tid]!);
    if ((type & PERF_SAMPLE_TIME) !== 0) {
      if (at.timeNs === undefined || rows.timesNs !== undefined) buffer.word(timeOfRow(rows, index));
      else buffer.copy(words, start + at.timeNs, 1);
    }
    if ((type & PERF_SAMPLE_ADDR) !== 0) buffer.pair(0, 0);
    if ((type & PERF_SAMPLE_ID) !== 0) buffer.word(id);
    if ((type & PERF_SAMPLE_STREAM_ID) !== 0) buffer.word(id);
    if ((type & PERF_SAMPLE_CPU) !== 0) buffer.pair(cpu, 0);
    if ((type & PERF_SAMPLE_PERIOD) !== 0) buffer.copy(words, start + at.period, 1);
    if (hasChain) this.#putChain(buffer, rows, { ip: [ipLo, ipHi], place: chainPlace, length, fromChain });
    putNoUserStack(buffer, type);
  }

  #putChain(
    buffer: SampleBuffer,
    { chains }: SampleRows,
    of: { ip: readonly [lo: number, hi: number]; place: number; length: number; fromChain: boolean },
  ): void {
    const {
      ip: [ipLo, ipHi],
      place: chainPlace,
      length,
      fromChain,
    } = of;
    buffer.pair(length, 0);
    if (!fromChain || chains === undefined) return;
    const mark = ownMark(ipHi);
    const first = chainPlace + 1;
    const isOwnFirst = chainPlace === 0 || (length > 1 && chains[2 * first] === mark);
    if (isOwnFirst) {
      buffer.pair(mark, 0xffff_ffff);
      buffer.pair(ipLo, ipHi);
    }
    const head = isOwnFirst ? 2 : 0;
    if (length > head) buffer.copy(chains, 2 * (first + head), length - head);
  }

  /** The usual fields: each a store. `#encodeAny` writes the same bytes, fifteen times slower. */
  #encodePlain(buffer: SampleBuffer, sample: FormatSample, id: bigint, misc: number): void {
    const type = this.#layout.sampleType;
    const { callchain } = sample;
    const hasChain = (type & PERF_SAMPLE_CALLCHAIN) !== 0;
    const chainLength = hasChain && callchain !== undefined ? callchain.length : 0;
    buffer.beginRecord(misc, checkedSize(type, chainLength));
    if ((type & PERF_SAMPLE_IDENTIFIER) !== 0) buffer.word(id);
    if ((type & PERF_SAMPLE_IP) !== 0) buffer.word(sample.ip);
    if ((type & PERF_SAMPLE_TID) !== 0) buffer.pair(sample.pid, sample.tid);
    if ((type & PERF_SAMPLE_TIME) !== 0) buffer.word(sample.timeNs);
    if ((type & PERF_SAMPLE_ADDR) !== 0) buffer.word(sample.address ?? 0n);
    if ((type & PERF_SAMPLE_ID) !== 0) buffer.word(id);
    if ((type & PERF_SAMPLE_STREAM_ID) !== 0) buffer.word(id);
    if ((type & PERF_SAMPLE_CPU) !== 0) buffer.pair(sample.cpu, 0);
    if ((type & PERF_SAMPLE_PERIOD) !== 0) buffer.word(sample.period);
    if (hasChain) buffer.pair(chainLength, 0);
    for (let index = 0; index < chainLength; index++) buffer.word(callchain![index]!);
    putNoUserStack(buffer, type);
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
      user,
    } = sample;
    const fields = {
      ...{ identifier: id, id, streamId: id, ip: BigInt.asUintN(64, ip), pid, tid, cpu, time, period },
      ...{ addr: address, weight, callchain: [...(callchain ?? [])] },
      ...(registers === undefined
        ? {}
        : { interruptRegisters: { abi: PERF_SAMPLE_REGS_ABI_64, registers: [...registers] } }),
      ...(user === undefined
        ? {}
        : {
            userRegisters: { abi: PERF_SAMPLE_REGS_ABI_64, registers: [...user.registers] },
            userStack: { bytes: user.stack, dynamicSize: user.stack.length },
          }),
    };
    const writer = new BodyWriter();
    const tail = new Uint8Array(0);
    encodeRecord(writer, { type: PERF_RECORD_SAMPLE, misc, sample: fields, tail }, this.#layout);
    const bytes = writer.take();
    const at = buffer.reserve(bytes.length);
    new Uint8Array(buffer.view.buffer).set(bytes, at);
  }
}

/** Registers of no kind, and no bytes. */
function putNoUserStack(buffer: SampleBuffer, type: number): void {
  if ((type & PERF_SAMPLE_REGS_USER) !== 0) buffer.word(0n);
  if ((type & PERF_SAMPLE_STACK_USER) !== 0) buffer.word(0n);
}

const MOST_USER_ADDRESS = 0x7fff_ffff_ffff_ffffn;
const MOST_USER_HIGH_HALF = 0x7fff_ffff;

/** Of a record of plain fields. */
function checkedSize(type: number, chainLength: number): number {
  const sizeBytes = RECORD_HEADER_SIZE + 8 * (bitCount(type) + chainLength);
  if (sizeBytes > MOST_RECORD_BYTES)
    throw new RangeError(`a sample of ${sizeBytes} bytes is larger than a record`);
  return sizeBytes;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits >>> 0; rest !== 0; rest &= rest - 1) count++;
  return count;
}
