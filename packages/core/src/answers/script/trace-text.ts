import { textUpToNul, toDecimal, toHex } from '../../base/index.ts';
import type { TracepointField, TracepointFormat } from '../../file-formats/perfdata/index.ts';

/**
 * The fields of a raw tracepoint record as `name=value`, in the format's order, without those that every
 * tracepoint has. Text is text, pointers and flags are hex, other numbers decimal.
 */
export function traceText(
  view: DataView,
  offset: number,
  size: number,
  format: TracepointFormat,
  le: boolean,
): string {
  const words: string[] = [];
  for (const field of format.fields) {
    if (field.isCommon) continue;
    words.push(`${field.name}=${fieldText(view, offset, size, field, le)}`);
  }
  return words.join(' ');
}

/** A field as text. */
export function fieldText(
  view: DataView,
  offset: number,
  size: number,
  field: TracepointField,
  le: boolean,
): string {
  if (field.offset + field.size > size) return '?';
  const at = offset + field.offset;
  if (field.dynamic !== null) {
    const { from, length } = dynamicRange(view, offset, field, le);
    return bytesText(view, offset + from, Math.min(length, size - from), field.type);
  }
  if (field.arrayLength !== null) return bytesText(view, at, field.size, field.type);
  return numberText(view, at, field, le);
}

/**
 * Where a field's text or array lies, from the record's start: as the record
 * says, which may be beyond its end.
 */
export function dynamicRange(
  view: DataView,
  offset: number,
  field: TracepointField,
  le: boolean,
): { from: number; length: number } {
  const word = view.getUint32(offset + field.offset, le);
  const from = (word & 0xffff) + (field.dynamic === 'relative' ? field.offset + field.size : 0);
  return { from, length: word >>> 16 };
}

function bytesText(view: DataView, at: number, length: number, type: string): string {
  if (length <= 0 || at + length > view.byteLength) return '';
  const bytes = new Uint8Array(view.buffer, view.byteOffset + at, length);
  if (/\bchar\b/.test(type)) {
    return textUpToNul(bytes);
  }
  // As libtraceevent prints it, which perf uses (tep_print_field_content).
  return `ARRAY[${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(', ')}]`;
}

function numberText(view: DataView, at: number, field: TracepointField, le: boolean): string {
  const isPointer = field.type.includes('*');
  switch (field.size) {
    case 1:
      return String(field.isSigned ? view.getInt8(at) : view.getUint8(at));
    case 2:
      return String(field.isSigned ? view.getInt16(at, le) : view.getUint16(at, le));
    case 4:
      return String(field.isSigned ? view.getInt32(at, le) : view.getUint32(at, le));
    case 8: {
      const lo = view.getUint32(at + (le ? 0 : 4), le);
      const hi = view.getUint32(at + (le ? 4 : 0), le);
      if (isPointer) return `0x${toHex(lo, hi)}`;
      return field.isSigned ? String(view.getBigInt64(at, le)) : toDecimal(lo, hi);
    }
    default:
      return bytesText(view, at, field.size, field.type);
  }
}
