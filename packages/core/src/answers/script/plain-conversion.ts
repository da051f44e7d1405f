import { toBigInt, toDecimal, toHex } from '../../base/index.ts';
import type { TracepointField } from '../../file-formats/perfdata/index.ts';
import type { Expression } from './print-format-parser.ts';
import type { RawRecord, RecordPrinter } from './raw-record.ts';
import { fieldText } from './trace-text.ts';

/** A conversion of printf, as the format has it. */
interface PlainFacts {
  flags: string;
  width: string | undefined;
  precision: string | undefined;
  length: string;
  letter: string;
}

type Fields = ReadonlyMap<string, TracepointField>;

/** An integer of a record: of a field, or an element of an array of fixed length. */
interface IntegerPlace {
  offset: number;
  width: number;
  isSigned: boolean;
}

/** How the two halves of an integer of 64 bits, or a number that fits in one, become digits. */
type Digits = (lo: number, hi: number) => string;

const ALL_ONES = 0xffff_ffff;

/** By letter; what is printed is 64 bits wide, or as wide as an int. */
const DIGITS: Readonly<Record<string, { long: Digits; int: Digits }>> = {
  d: { long: signedDecimal, int: (lo) => String(lo | 0) },
  i: { long: signedDecimal, int: (lo) => String(lo | 0) },
  u: { long: toDecimal, int: (lo) => String(lo) },
  x: { long: toHex, int: (lo) => lo.toString(16) },
};

/**
 * A printer of a conversion that needs no `bigint`, which are most: a whole field or element, in a way
 * without precision. Null for all others.
 */
export function plainConversion(
  facts: PlainFacts,
  argument: Expression,
  fields: Fields,
): RecordPrinter | null {
  const { flags, width, precision, length, letter } = facts;
  if (width === '*' || precision !== undefined) return null;
  const text = letter === 's' && flags === '' && width === undefined ? textField(argument, fields) : null;
  if (text !== null) return ({ view, offset, size, le }) => fieldText(view, offset, size, text, le);
  const digits = DIGITS[letter];
  const place = integerPlace(argument, fields);
  const isInt = length === '';
  if (digits === undefined || place === null || length.startsWith('h')) return null;
  const padded = padding(flags, Number(width ?? 0));
  if (padded === null) return null;
  const print = printInteger(place, isInt ? digits.int : digits.long);
  return width === undefined ? print : (record) => padded(print(record));
}

function signedDecimal(lo: number, hi: number): string {
  if (hi === ALL_ONES && lo >= 0x8000_0000) return String(lo | 0);
  return hi < 0x8000_0000 ? toDecimal(lo, hi) : String(BigInt.asIntN(64, toBigInt(lo, hi)));
}

/** What stands for an integer that the record is too short for. */
const UNKNOWN = '?';

function printInteger({ offset: fieldOffset, width, isSigned }: IntegerPlace, digits: Digits): RecordPrinter {
  const isWhole = ({ size }: RawRecord) => fieldOffset + width <= size;
  if (width === 8)
    return (record) => {
      if (!isWhole(record)) return UNKNOWN;
      const { view, le } = record;
      const at = record.offset + fieldOffset;
      return digits(view.getUint32(at + (le ? 0 : 4), le), view.getUint32(at + (le ? 4 : 0), le));
    };
  const read = NARROW[width]![isSigned ? 1 : 0];
  return (record) => {
    if (!isWhole(record)) return UNKNOWN;
    const value = read(record.view, record.offset + fieldOffset, record.le);
    return digits(value >>> 0, value < 0 ? ALL_ONES : 0);
  };
}

type Read = (view: DataView, at: number, le: boolean) => number;

/** By width in bytes: unsigned, signed. */
const NARROW: Readonly<Record<number, readonly [Read, Read]>> = {
  1: [(view, at) => view.getUint8(at), (view, at) => view.getInt8(at)],
  2: [(view, at, le) => view.getUint16(at, le), (view, at, le) => view.getInt16(at, le)],
  4: [(view, at, le) => view.getUint32(at, le), (view, at, le) => view.getInt32(at, le)],
};

function padding(flags: string, width: number): ((text: string) => string) | null {
  if (flags === '') return (text) => text.padStart(width);
  if (flags === '-') return (text) => text.padEnd(width);
  if (flags !== '0') return null;
  return (text) => {
    if (text === UNKNOWN) return text.padStart(width);
    return text.startsWith('-') ? `-${text.slice(1).padStart(width - 1, '0')}` : text.padStart(width, '0');
  };
}

function textField(argument: Expression, fields: Fields): TracepointField | null {
  if (argument.kind !== 'field' && argument.kind !== 'dynamic-text') return null;
  const field = fields.get(argument.name);
  if (field === undefined) return null;
  if (argument.kind === 'dynamic-text') return field.dynamic === null ? null : field;
  const isText = (field.arrayLength !== null || field.dynamic !== null) && /\bchar\b/.test(field.type);
  return isText ? field : null;
}

function integerPlace(argument: Expression, fields: Fields): IntegerPlace | null {
  // A value is 64 bits wide already.
  if (argument.kind === 'cast') return argument.bits === 64 ? integerPlace(argument.of, fields) : null;
  if (argument.kind !== 'field' && argument.kind !== 'element') return null;
  const field = fields.get(argument.name);
  if (field === undefined || field.dynamic !== null) return null;
  const { offset, size, arrayLength, isSigned } = field;
  if (argument.kind === 'field')
    return arrayLength === null && isInteger(size) ? { offset, width: size, isSigned } : null;
  if (arrayLength === null || argument.index >= arrayLength) return null;
  const width = size / arrayLength;
  return isInteger(width) ? { offset: offset + argument.index * width, width, isSigned } : null;
}

const isInteger = (width: number) => width === 1 || width === 2 || width === 4 || width === 8;

/** Far more than a state, flags or a reason have, and little memory. */
const MOST_REMEMBERED = 1024;

/**
 * The same printer, which works a text out once for each value: of an expression that looks at one integer of
 * at most 32 bits, or at one that is small. Null where it looks at anything else.
 */
export function rememberedByField(
  print: RecordPrinter,
  argument: Expression,
  fields: Fields,
): RecordPrinter | null {
  const looked = fieldsIn(argument, new Set());
  const [name] = looked;
  if (looked.size !== 1 || name === undefined) return null;
  const place = integerPlace({ kind: 'field', name }, fields);
  if (place === null) return null;
  const { offset, width } = place;
  const texts = new Map<number, string>();
  const read = width === 8 ? null : NARROW[width]![0];
  return (record) => {
    const { view, le } = record;
    const at = record.offset + offset;
    if (offset + width > record.size) return print(record);
    if (read === null && view.getUint32(at + (le ? 4 : 0), le) !== 0) return print(record);
    const value = read === null ? view.getUint32(at + (le ? 0 : 4), le) : read(view, at, le);
    let text = texts.get(value);
    if (text !== undefined) return text;
    text = print(record);
    if (texts.size < MOST_REMEMBERED) texts.set(value, text);
    return text;
  };
}

/** The names of all fields that an expression looks at, however. An element is told from its whole array. */
function fieldsIn(expression: Expression, into: Set<string>): Set<string> {
  switch (expression.kind) {
    case 'number':
    case 'text':
    case 'unknown':
      return into;
    case 'field':
      return into.add(expression.name);
    case 'element':
    case 'dynamic-text':
    case 'dynamic-length':
      return into.add(`${expression.name}[]`);
    case 'binary':
      return fieldsIn(expression.right, fieldsIn(expression.left, into));
    case 'choice':
      return fieldsIn(expression.otherwise, fieldsIn(expression.then, fieldsIn(expression.test, into)));
    default:
      return fieldsIn(expression.of, into);
  }
}
