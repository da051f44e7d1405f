import { encodeUtf8 } from '../../../base/index.ts';
import { ByteWriter } from '../byte-writer.ts';

/**
 * Wire types of protocol buffers (encoding guide, "Message Structure"): the low three bits of a field's tag.
 */
const WIRE_VARINT = 0;
const WIRE_BYTES = 2;

const TWO_28 = 0x1000_0000;

/**
 * Fields of a protobuf message, in the order they are written. A zero or empty
 * field is left out, as proto3 does.
 */
export class MessageWriter {
  readonly out = new ByteWriter();

  clear(): void {
    this.out.clear();
  }

  /** A non-negative whole number below 2^53. */
  number(field: number, value: number): void {
    if (value !== 0) this.given(field, value);
  }

  /** As `number`, and a zero is written, too: a proto2 reader tells it from a field that is not there. */
  given(field: number, value: number): void {
    varint(this.out, field * 8 + WIRE_VARINT);
    varint(this.out, value);
  }

  /** An unsigned 64-bit value as two halves. */
  uint64(field: number, lo: number, hi: number): void {
    if (hi < 0x20_0000) {
      this.number(field, hi * 0x1_0000_0000 + lo);
      return;
    }
    varint(this.out, field * 8 + WIRE_VARINT);
    let value = (BigInt(hi) << 32n) | BigInt(lo);
    for (; value >= 0x80n; value >>= 7n) this.out.byte(Number(value & 0x7fn) | 0x80);
    this.out.byte(Number(value));
  }

  flag(field: number, value: boolean): void {
    if (value) this.number(field, 1);
  }

  /** Bytes, an embedded message or packed numbers. */
  bytes(field: number, bytes: Uint8Array): void {
    varint(this.out, field * 8 + WIRE_BYTES);
    varint(this.out, bytes.length);
    this.out.raw(bytes);
  }

  message(field: number, message: MessageWriter): void {
    this.bytes(field, message.out.view());
  }

  /** A string may be empty and is written all the same: string tables count on it. */
  string(field: number, text: string): void {
    this.bytes(field, encodeUtf8(text));
  }
}

/** LEB128 of a non-negative whole number below 2^53. */
export function varint(out: ByteWriter, value: number): void {
  let rest = value;
  while (rest >= TWO_28) {
    out.byte((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  let low = rest | 0;
  for (; low >= 0x80; low >>>= 7) out.byte((low & 0x7f) | 0x80);
  out.byte(low);
}
