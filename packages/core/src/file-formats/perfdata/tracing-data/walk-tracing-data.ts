import { decodeUtf8, toFloat } from '../../../base/index.ts';
import { formatHead } from './format-text.ts';
import type { TracingParts } from './tracing-parts.ts';

export const MAGIC = /* @__PURE__ */ Uint8Array.of(
  0x17,
  0x08,
  0x44,
  0x74,
  0x72,
  0x61,
  0x63,
  0x69,
  0x6e,
  0x67,
);
/** The system of ftrace's own events. The blob does not name it. */
export const FTRACE = 'ftrace';
const FIRST_VERSION_WITH_COMMAND_NAMES = 0.6;

/** Receives the blocks of a blob in their order. Bytes are borrowed from the blob. */
export interface TracingVisitor {
  /** The name of a system, whose formats follow. Formats before the first system are ftrace's own. */
  system(name: string): void;
  /** The text of a format. */
  format(text: string): void;
  /** Any other block. */
  part?<K extends Exclude<keyof TracingParts, 'ftraceFormats' | 'systems'>>(
    key: K,
    value: TracingParts[K],
  ): void;
}

/**
 * The names of the tracepoints by id, as `system:name`: all that is needed of a blob to name events.
 * `isWhole` is false if something was damaged.
 */
export function tracepointNames(bytes: Uint8Array): { names: Map<number, string>; isWhole: boolean } {
  const names = new Map<number, string>();
  let prefix = FTRACE;
  let isGood = true;
  const isWalked = walkTracingData(bytes, {
    system(name) {
      prefix = name;
    },
    format(text) {
      const head = formatHead(text.split('\n'));
      if (head === null) isGood = false;
      else names.set(head.id, `${prefix}:${head.name}`);
    },
  });
  return { names, isWhole: isWalked && isGood };
}

/** Walks a blob, and stops for good at the first block that is not whole: then it answers false. */
export function walkTracingData(bytes: Uint8Array, visitor: TracingVisitor): boolean {
  const reader = new PartReader(bytes);
  if (!MAGIC.every((byte, at) => bytes[at] === byte)) return false;
  reader.take(MAGIC.length);
  const part: NonNullable<TracingVisitor['part']> = (key, value) => visitor.part?.(key, value);
  const version = reader.name();
  part('version', version);
  reader.littleEndian = reader.take(1)[0] !== 1;
  part('littleEndian', reader.littleEndian);
  part('longSize', reader.take(1)[0] ?? 8);
  part('pageSize', reader.u32());
  part('headerPage', reader.namedText('header_page'));
  part('headerEvent', reader.namedText('header_event'));
  reader.texts(visitor);
  for (let left = reader.u32(); left > 0 && !reader.isDamaged; left--) {
    visitor.system(reader.name());
    reader.texts(visitor);
  }
  part('kallsyms', reader.take(reader.u32()));
  part('printkFormats', reader.take(reader.u32()));
  if (Number.parseFloat(version) >= FIRST_VERSION_WITH_COMMAND_NAMES)
    part('savedCommandNames', reader.take(reader.u64()));
  return !reader.isDamaged;
}

/** Reads pieces in their order. After the first that is not whole, everything is empty. */
class PartReader {
  isDamaged = false;
  littleEndian = true;
  #pos = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  take(size: number): Uint8Array {
    if (this.isDamaged || size > this.#bytes.length - this.#pos) {
      this.isDamaged = true;
      return new Uint8Array();
    }
    this.#pos += size;
    return this.#bytes.subarray(this.#pos - size, this.#pos);
  }

  u32(): number {
    const at = this.#pos;
    return this.take(4).length === 4 ? this.#view.getUint32(at, this.littleEndian) : 0;
  }

  u64(): number {
    const first = this.u32();
    const second = this.u32();
    return this.littleEndian ? toFloat(first, second) : toFloat(second, first);
  }

  name(): string {
    const end = this.#bytes.indexOf(0, this.#pos);
    const text = decodeUtf8(this.take((end < 0 ? this.#bytes.length : end) - this.#pos));
    this.take(1);
    return text;
  }

  namedText(expected: string): string {
    if (this.name() !== expected) this.isDamaged = true;
    return this.#text();
  }

  texts({ format }: Pick<TracingVisitor, 'format'>): void {
    for (let left = this.u32(); left > 0 && !this.isDamaged; left--) {
      const text = this.#text();
      if (!this.isDamaged) format(text);
    }
  }

  #text(): string {
    return decodeUtf8(this.take(this.u64()));
  }
}
