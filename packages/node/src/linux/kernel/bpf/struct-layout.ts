/**
 * A key, value or record that a program writes and TypeScript reads: fields in order,
 * each at its natural alignment.
 *
 *   const Key = bpfStruct({ pid: 'u32', mode: 'u32', address: 'u64', comm: 16 });
 *   in the program  asm.store(Key.at(r7).address, r1)      after it  Key.read(bytes, 0).address
 */
import { CounterpointError, checkArgument } from '@counterpoint/core/base';
import { type MemoryOperand, memory, type Register } from './operands.ts';

const SIZES = { u8: 1, u16: 2, u32: 4, u64: 8, i8: 1, i16: 2, i32: 4, i64: 8 } as const;

/** A number of the kernel, or a number of bytes. */
export type StructFieldType = 'u8' | 'u16' | 'u32' | 'u64' | 'i8' | 'i16' | 'i32' | 'i64' | number;
/** The fields of a struct by name, in their order in memory. */
export type StructFields = Readonly<Record<string, StructFieldType>>;

/** A field of a struct. */
export interface StructField {
  /** Its type, such as `u32`. */
  readonly type: StructFieldType;
  /** Its place in the struct. */
  readonly offsetBytes: number;
  /** Its size. */
  readonly sizeBytes: number;
}

/** What a field reads as: 64 bits as a bigint, fewer as a number, bytes as a view of the source. */
export type StructValue<T extends StructFieldType> = T extends 'u64' | 'i64'
  ? bigint
  : T extends number
    ? Uint8Array
    : number;

/** A struct as C lays it out: each field at a multiple of its size. */
export interface StructLayout<F extends StructFields> {
  /** Size of the struct. */
  readonly sizeBytes: number;
  /** The fields, by name. */
  readonly fields: { readonly [K in keyof F]: StructField };
  /** The fields of such a struct at a register and an offset. */
  at(base: Register, offsetBytes?: number): { readonly [K in keyof F]: MemoryOperand };
  /** The fields of such a struct in bytes that came from the kernel. */
  read(bytes: Uint8Array, offsetBytes?: number): { [K in keyof F]: StructValue<F[K]> };
}

/** Lay out a struct; a hole between fields is refused, since what is in it would be part of a key. */
export function bpfStruct<const F extends StructFields>(types: F): StructLayout<F> {
  const isRight = typeof types === 'object' && types !== null && Object.keys(types).length > 0;
  checkArgument(isRight, 'bpfStruct()', 'the fields', types, "an object of types by name, { pid: 'u32' }");
  const fields: Record<string, StructField> = {};
  let offsetBytes = 0;
  for (const [name, type] of Object.entries(types)) {
    const sizeBytes = typeof type === 'number' ? type : SIZES[type];
    if (!Number.isInteger(sizeBytes) || sizeBytes < 1)
      throw new CounterpointError(
        'ERR_BPF_STRUCT',
        `the field ${name} has the type ${String(type)}`,
        `Types are ${Object.keys(SIZES).join(', ')}, or a number of bytes.`,
      );
    const past = typeof type === 'number' ? 0 : offsetBytes % sizeBytes;
    if (past !== 0)
      throw new CounterpointError(
        'ERR_BPF_STRUCT',
        `the field ${name} (${type}) at offset ${offsetBytes} would leave a hole of ${sizeBytes - past} bytes before it`,
        `Put the larger fields first, or name the hole: unused: ${sizeBytes - past}.`,
      );
    fields[name] = { type, offsetBytes, sizeBytes };
    offsetBytes += sizeBytes;
  }
  // Looked up once: `read` runs for every element of a map.
  const entries = Object.entries(fields);
  return {
    sizeBytes: offsetBytes,
    fields: fields as { [K in keyof F]: StructField },
    at: (base, at = 0) =>
      mapFields(entries, (field) =>
        memory(base, at + field.offsetBytes, field.sizeBytes, isSignedType(field.type)),
      ) as { [K in keyof F]: MemoryOperand },
    read: (bytes, at = 0) => {
      const view = new DataView(bytes.buffer, bytes.byteOffset + at, offsetBytes);
      return mapFields(entries, (field) => readField(view, field)) as { [K in keyof F]: StructValue<F[K]> };
    },
  };
}

function mapFields<T>(
  entries: readonly (readonly [string, StructField])[],
  convert: (field: StructField) => T,
): Record<string, T> {
  const mapped: Record<string, T> = {};
  for (const [name, field] of entries) mapped[name] = convert(field);
  return mapped;
}

function isSignedType(type: StructFieldType): boolean {
  return typeof type === 'string' && type.startsWith('i');
}

function readField(
  view: DataView,
  { type, offsetBytes, sizeBytes }: StructField,
): number | bigint | Uint8Array {
  switch (type) {
    case 'u8':
      return view.getUint8(offsetBytes);
    case 'i8':
      return view.getInt8(offsetBytes);
    case 'u16':
      return view.getUint16(offsetBytes, true);
    case 'i16':
      return view.getInt16(offsetBytes, true);
    case 'u32':
      return view.getUint32(offsetBytes, true);
    case 'i32':
      return view.getInt32(offsetBytes, true);
    case 'u64':
      return view.getBigUint64(offsetBytes, true);
    case 'i64':
      return view.getBigInt64(offsetBytes, true);
    default:
      return new Uint8Array(view.buffer, view.byteOffset + offsetBytes, sizeBytes);
  }
}
