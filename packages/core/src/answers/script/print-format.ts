import { decodeUtf8 } from '../../base/index.ts';
import type { TracepointField, TracepointFormat } from '../../file-formats/perfdata/index.ts';
import type { CodeForm } from './code-names.ts';
import { plainConversion, rememberedByField } from './plain-conversion.ts';
import { type Expression, type NamedValue, parsePrintFormat } from './print-format-parser.ts';
import type { RawRecord, RecordPrinter } from './raw-record.ts';
import { dynamicRange, fieldText } from './trace-text.ts';

/** What an expression comes to; null is not known. Numbers are the 64 bits, as unsigned. */
type Value = bigint | string | null;
type Evaluator = (record: RawRecord) => Value;

/** What stands for an address of the kernel's code. */
export type CodeNamer = (address: bigint, form: CodeForm) => string;

/**
 * A printer from a tracepoint's `print fmt:`, or null where that holds what is not understood here: whoever
 * asks prints the fields by name then. `kernelTexts` are texts of the kernel by their address. What only the
 * running kernel knows (its own variables) is printed as `?`, and code addresses as `codeName` says.
 */
export function compilePrintFormat(
  format: TracepointFormat,
  kernelTexts: ReadonlyMap<bigint, string> = new Map(),
  codeName: CodeNamer = (address) => `0x${address.toString(16)}`,
): RecordPrinter | null {
  const parsed = parsePrintFormat(format.printFormat);
  if (parsed === null) return null;
  const pieces = conversions(parsed.text, kernelTexts, codeName);
  if (pieces === null) return null;
  const wanted = pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? 0 : 1 + piece.stars), 0);
  if (wanted > parsed.arguments.length) return null;
  const fields = new Map(format.fields.map((field) => [field.name, field]));
  const values: Evaluator[] = [];
  for (const argument of parsed.arguments) {
    const value = compile(argument, fields);
    if (value === null) return null;
    values.push(value);
  }
  let next = 0;
  const printers = pieces.map((piece): string | RecordPrinter => {
    if (typeof piece === 'string') return piece;
    const first = next;
    next += 1 + piece.stars;
    const general: RecordPrinter = (record) => {
      let at = first;
      return piece.print(() => values[at++]!(record));
    };
    if (piece.stars > 0 || piece.facts === null) return general;
    const argument = parsed.arguments[first]!;
    return (
      plainConversion(piece.facts, argument, fields) ??
      rememberedByField(general, argument, fields) ??
      general
    );
  });
  return (record) => {
    let text = '';
    for (const printer of printers) text += typeof printer === 'string' ? printer : printer(record);
    return text;
  };
}

const MASK = 0xffff_ffff_ffff_ffffn;
const signed = (value: bigint) => BigInt.asIntN(64, value);

/** Null where the expression needs what the record has not. */
function compile(expression: Expression, fields: ReadonlyMap<string, TracepointField>): Evaluator | null {
  switch (expression.kind) {
    case 'number': {
      const value = expression.value & MASK;
      return () => value;
    }
    case 'text':
      return () => expression.value;
    case 'unknown':
      return () => null;
    case 'field': {
      const field = fields.get(expression.name);
      return field === undefined ? null : fieldValue(field);
    }
    case 'element': {
      const field = fields.get(expression.name);
      return field === undefined ? null : elementValue(field, expression.index);
    }
    case 'dynamic-text': {
      const field = fields.get(expression.name);
      if (field?.dynamic == null) return null;
      return ({ view, offset, size, le }) => fieldText(view, offset, size, field, le);
    }
    case 'dynamic-length': {
      const field = fields.get(expression.name);
      if (field?.dynamic == null) return null;
      return ({ view, offset, size, le }) =>
        field.offset + 4 > size ? null : BigInt(dynamicRange(view, offset, field, le).length);
    }
    case 'unary':
    case 'cast': {
      const of = compile(expression.of, fields);
      if (of === null) return null;
      const change = expression.kind === 'cast' ? castTo(expression) : UNARY[expression.operator]!;
      return (record) => {
        const value = of(record);
        return typeof value === 'bigint' ? change(value) & MASK : value;
      };
    }
    case 'binary':
      return compileBinary(expression, fields);
    case 'choice': {
      const test = compile(expression.test, fields);
      const then = compile(expression.then, fields);
      const otherwise = compile(expression.otherwise, fields);
      if (test === null || then === null || otherwise === null) return null;
      return (record) => {
        const value = test(record);
        if (value === null) return null;
        return value === 0n ? otherwise(record) : then(record);
      };
    }
    case 'flags':
    case 'symbol': {
      const of = compile(expression.of, fields);
      const rows = constantRows(expression.rows);
      if (of === null || rows === null) return null;
      const name =
        expression.kind === 'symbol'
          ? (value: bigint) => symbolName(value, rows)
          : (value: bigint) => flagNames(value, rows, expression.separator);
      return (record) => {
        const value = of(record);
        return typeof value === 'bigint' ? name(value) : value;
      };
    }
  }
}

function castTo({ bits, isSigned }: { bits: number; isSigned: boolean }): (value: bigint) => bigint {
  return isSigned ? (value) => BigInt.asIntN(bits, value) : (value) => BigInt.asUintN(bits, value);
}

const UNARY: Readonly<Record<string, (value: bigint) => bigint>> = {
  '-': (value) => -value,
  '+': (value) => value,
  '!': (value) => (value === 0n ? 1n : 0n),
  '~': (value) => ~value,
};

const BINARY: Readonly<Record<string, (left: bigint, right: bigint) => bigint | boolean | null>> = {
  '||': (left, right) => left !== 0n || right !== 0n,
  '&&': (left, right) => left !== 0n && right !== 0n,
  '|': (left, right) => left | right,
  '^': (left, right) => left ^ right,
  '&': (left, right) => left & right,
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': (left, right) => left < right,
  '>': (left, right) => left > right,
  '<=': (left, right) => left <= right,
  '>=': (left, right) => left >= right,
  '<<': (left, right) => (right > 63n ? null : left << right),
  '>>': (left, right) => (right > 63n ? null : left >> right),
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => (right === 0n ? null : left / right),
  '%': (left, right) => (right === 0n ? null : left % right),
};

const SIGN_MATTERS: ReadonlySet<string> = new Set(['<', '>', '<=', '>=', '/', '%', '>>']);

/** Whether an expression is unsigned and of 64 bits; narrower ones keep their value as signed 64 bits. */
function isUnsigned(expression: Expression, fields: ReadonlyMap<string, TracepointField>): boolean {
  switch (expression.kind) {
    case 'number':
      return expression.isUnsigned || expression.value >= 2n ** 63n;
    case 'cast':
      return expression.bits === 64 && !expression.isSigned;
    case 'field': {
      const field = fields.get(expression.name);
      return field !== undefined && field.size === 8 && !field.isSigned;
    }
    case 'unary':
      return expression.operator !== '!' && isUnsigned(expression.of, fields);
    case 'binary':
      return (
        ARITHMETIC.has(expression.operator) &&
        (isUnsigned(expression.left, fields) ||
          (expression.operator !== '<<' &&
            expression.operator !== '>>' &&
            isUnsigned(expression.right, fields)))
      );
    case 'choice':
      return isUnsigned(expression.then, fields) || isUnsigned(expression.otherwise, fields);
    default:
      return false;
  }
}

const ARITHMETIC: ReadonlySet<string> = new Set(['|', '^', '&', '<<', '>>', '+', '-', '*', '/', '%']);

function compileBinary(
  { operator, left, right }: Extract<Expression, { kind: 'binary' }>,
  fields: ReadonlyMap<string, TracepointField>,
): Evaluator | null {
  const one = compile(left, fields);
  const other = compile(right, fields);
  if (one === null || other === null) return null;
  const combine = BINARY[operator]!;
  // Order and division depend on the sign; of two 64-bit operands in C one unsigned makes both so.
  const asSigned = !isUnsigned(left, fields) && (operator === '>>' || !isUnsigned(right, fields));
  const operand = SIGN_MATTERS.has(operator) && asSigned ? signed : (value: bigint) => value;
  return (record) => {
    const a = one(record);
    const b = other(record);
    if (typeof a !== 'bigint' || typeof b !== 'bigint') return null;
    const result = combine(operand(a), operand(b));
    if (typeof result === 'boolean') return result ? 1n : 0n;
    return result === null ? null : result & MASK;
  };
}

/** A field as number or text; null for arrays of anything but characters. */
function fieldValue(field: TracepointField): Evaluator | null {
  const isText = field.arrayLength !== null || field.dynamic !== null;
  if (isText && !/\bchar\b/.test(field.type)) return null;
  if (isText) return ({ view, offset, size, le }) => fieldText(view, offset, size, field, le);
  const { size: width, isSigned } = field;
  if (width !== 1 && width !== 2 && width !== 4 && width !== 8) return null;
  return integerAt(field.offset, width, isSigned);
}

/** An element of an array of numbers of fixed length. */
function elementValue(
  { offset, size, arrayLength, isSigned }: TracepointField,
  index: number,
): Evaluator | null {
  if (arrayLength === null || index >= arrayLength) return null;
  const width = size / arrayLength;
  return width === 1 || width === 2 || width === 4 || width === 8
    ? integerAt(offset + index * width, width, isSigned)
    : null;
}

function integerAt(fieldOffset: number, width: 1 | 2 | 4 | 8, isSigned: boolean): Evaluator {
  return ({ view, offset, size, le }) => {
    if (fieldOffset + width > size) return null;
    const at = offset + fieldOffset;
    const value =
      width === 8
        ? view.getBigUint64(at, le)
        : BigInt(
            width === 4 ? view.getUint32(at, le) : width === 2 ? view.getUint16(at, le) : view.getUint8(at),
          );
    return isSigned ? BigInt.asIntN(width * 8, value) & MASK : value;
  };
}

interface Row {
  /** Null where only the kernel's headers say it: no value has this name. */
  value: bigint | null;
  name: string;
}

const NO_RECORD: RawRecord = {
  view: /* @__PURE__ */ new DataView(/* @__PURE__ */ new ArrayBuffer(0)),
  offset: 0,
  size: 0,
  le: true,
};

function constantRows(rows: readonly NamedValue[]): Row[] | null {
  const found: Row[] = [];
  for (const { value, name } of rows) {
    const number = compile(value, new Map())?.(NO_RECORD);
    if (number === undefined || typeof number === 'string') return null;
    found.push({ value: number, name });
  }
  return found;
}

function symbolName(value: bigint, rows: readonly Row[]): string {
  return rows.find((row) => row.value === value)?.name ?? `0x${value.toString(16)}`;
}

function flagNames(value: bigint, rows: readonly Row[], separator: string): string {
  const names: string[] = [];
  let left = value;
  for (const row of rows) {
    if (row.value === null) continue;
    if (row.value === 0n) {
      if (value === 0n) return row.name;
      continue;
    }
    if ((left & row.value) !== row.value) continue;
    names.push(row.name);
    left &= ~row.value;
  }
  if (left !== 0n) names.push(`0x${left.toString(16)}`);
  return names.join(separator);
}

interface Conversion {
  /** Null: it has a way of its own, which must see each value. */
  facts: ConversionFacts | null;
  /** Width and precision that are arguments. */
  stars: number;
  print(take: () => Value): string;
}

const CONVERSION = /%(?:%|([-+ #0]*)(\*|\d{1,3})?(?:\.(\*|\d{0,3}))?(hh|h|ll|l|L|z|j|t|q)?([a-zA-Z]))/g;

/** The kernel's pointers to code, by the letter behind `%p`. `%pF` and `%pf` are of old kernels. */
const CODE_FORMS: Readonly<Record<string, CodeForm>> = {
  S: 'offset',
  F: 'offset',
  B: 'offset',
  s: 'function',
  f: 'function',
};

/** A printf format in pieces, or null where a conversion is not known. */
function conversions(
  text: string,
  kernelTexts: ReadonlyMap<bigint, string>,
  codeName: CodeNamer,
): (string | Conversion)[] | null {
  const pieces: (string | Conversion)[] = [];
  let end = 0;
  for (const match of text.matchAll(CONVERSION)) {
    pieces.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[0] === '%%') {
      pieces.push('%');
      continue;
    }
    const [, flags = '', width, precision, length = '', letter = ''] = match;
    const codeForm = letter === 'p' ? CODE_FORMS[text[end] ?? ''] : undefined;
    if (codeForm !== undefined) {
      end++;
      pieces.push(codeConversion(codeForm, width, precision, codeName));
      continue;
    }
    // The kernel's other pointer formats (%pI4, %pU, %pM) print what the pointer leads to.
    if (letter === 'p' && /^[a-zA-Z]/.test(text.slice(end))) return null;
    if (!'diuxXocsp'.includes(letter)) return null;
    pieces.push(conversion({ flags, width, precision, length, letter }, kernelTexts));
  }
  pieces.push(text.slice(end));
  const isWhole = pieces.every((piece) => typeof piece !== 'string' || piece === '%' || !piece.includes('%'));
  return isWhole ? pieces : null;
}

interface ConversionFacts {
  flags: string;
  width: string | undefined;
  precision: string | undefined;
  length: string;
  letter: string;
}

/** As libtraceevent prints it, which perf uses: no width is heeded. */
function codeConversion(
  form: CodeForm,
  width: string | undefined,
  precision: string | undefined,
  codeName: CodeNamer,
): Conversion {
  const stars = (width === '*' ? 1 : 0) + (precision === '*' ? 1 : 0);
  return {
    facts: null,
    stars,
    print(take) {
      for (let star = 0; star < stars; star++) take();
      const value = take();
      return typeof value === 'bigint' ? codeName(value, form) : (value ?? '?');
    },
  };
}

const LENGTH_BITS: Readonly<Record<string, number>> = { hh: 8, h: 16, '': 32 };

function conversion(facts: ConversionFacts, kernelTexts: ReadonlyMap<bigint, string>): Conversion {
  const { flags, width, precision, length, letter } = facts;
  const bits = LENGTH_BITS[length] ?? 64;
  return {
    facts,
    stars: (width === '*' ? 1 : 0) + (precision === '*' ? 1 : 0),
    print(take) {
      const number = (given: string | undefined) =>
        given === '*' ? Number(signed(asNumber(take()))) : given === undefined ? -1 : Number(given);
      const wantedWidth = Math.min(Math.max(number(width), 0), 999);
      const wantedPrecision = number(precision);
      const taken = take();
      const value = letter === 's' && typeof taken === 'bigint' ? (kernelTexts.get(taken) ?? taken) : taken;
      const isText = letter === 's' || letter === 'c' || typeof value !== 'bigint';
      const text = isText
        ? plainText(value, letter, wantedPrecision)
        : numberText(value, facts, bits, wantedPrecision);
      if (flags.includes('-')) return text.padEnd(wantedWidth);
      if (!flags.includes('0') || isText || wantedPrecision >= 0) return text.padStart(wantedWidth);
      const sign = /^(?:[-+ ]|0[xX])?/.exec(text)![0];
      return sign + text.slice(sign.length).padStart(wantedWidth - sign.length, '0');
    },
  };
}

function asNumber(value: Value): bigint {
  return typeof value === 'bigint' ? value : 0n;
}

function plainText(value: Value, letter: string, precision: number): string {
  if (value === null) return '?';
  if (typeof value === 'string') return precision >= 0 ? value.slice(0, precision) : value;
  // A pointer to text that is in the kernel.
  return letter === 'c' ? String.fromCharCode(Number(value & 0xffn)) : `0x${value.toString(16)}`;
}

function numberText(
  value: bigint,
  { flags, letter }: ConversionFacts,
  bits: number,
  precision: number,
): string {
  if (letter === 'p') return value === 0n ? '(nil)' : `0x${value.toString(16)}`;
  const isSigned = letter === 'd' || letter === 'i';
  const number = isSigned ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
  const base = letter === 'x' || letter === 'X' ? 16 : letter === 'o' ? 8 : 10;
  let digits = (number < 0n ? -number : number).toString(base).padStart(Math.max(precision, 0), '0');
  if (letter === 'X') digits = digits.toUpperCase();
  const prefix =
    flags.includes('#') && number !== 0n ? (base === 16 ? `0${letter}` : base === 8 ? '0' : '') : '';
  const sign =
    number < 0n ? '-' : !isSigned ? '' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
  return sign + prefix + digits;
}

/** The `printk_formats` of a recording: `0xADDRESS : "text"`, one a line. */
export function parseKernelTexts(bytes: Uint8Array): Map<bigint, string> {
  const texts = new Map<bigint, string>();
  for (const line of decodeUtf8(bytes).split('\n')) {
    const match = /^0x([0-9a-fA-F]{1,16}) : "(.*)"$/.exec(line);
    if (match !== null) texts.set(BigInt(`0x${match[1]}`), match[2]!.replace(/\\n$/, ''));
  }
  return texts;
}
