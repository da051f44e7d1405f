/** Constants in generic arguments and array lengths (the "const" rules of the v0 symbol format). */
import { basicTypeName, readList, readPath } from './v0.ts';
import { INVALID, type V0Reader } from './v0-reader.ts';

/** `inExpression`: no braces are needed around what is more than a literal. */
export function readConst(reader: V0Reader, inExpression: boolean): void {
  reader.enter();
  const tag = reader.next();
  switch (tag) {
    case 'p':
      reader.write('_');
      break;
    case 'h':
    case 't':
    case 'm':
    case 'y':
    case 'o':
    case 'j':
      writeTyped(reader, tag, unsigned(reader));
      break;
    case 'a':
    case 's':
    case 'l':
    case 'x':
    case 'n':
    case 'i': {
      const sign = reader.accept('n') ? '-' : '';
      writeTyped(reader, tag, sign + unsigned(reader));
      break;
    }
    case 'b': {
      const digits = reader.hexDigits();
      if (digits !== '0' && digits !== '1') throw INVALID;
      writeTyped(reader, tag, digits === '1' ? 'true' : 'false');
      break;
    }
    case 'c':
      writeTyped(reader, tag, character(reader));
      break;
    case 'B':
      reader.backReference(() => readConst(reader, inExpression));
      break;
    case 'R':
      if (reader.accept('e')) {
        // The literal itself is a reference.
        reader.write(stringLiteral(reader));
        break;
      }
      readInBraces(reader, inExpression, tag);
      break;
    default:
      readInBraces(reader, inExpression, tag);
  }
  reader.leave();
}

function writeTyped(reader: V0Reader, tag: string, text: string): void {
  reader.write(reader.verbose ? `${text}: ${basicTypeName(tag)}` : text);
}

function readInBraces(reader: V0Reader, inExpression: boolean, tag: string): void {
  if (!inExpression) reader.write('{');
  readCompound(reader, tag);
  if (!inExpression) reader.write('}');
}

function readCompound(reader: V0Reader, tag: string): void {
  const readItem = () => readConst(reader, true);
  switch (tag) {
    case 'e':
      reader.write(`*${stringLiteral(reader)}`);
      break;
    case 'R':
      reader.write('&');
      readItem();
      break;
    case 'Q':
      reader.write('&mut ');
      readItem();
      break;
    case 'A':
      reader.write('[');
      readList(reader, ', ', readItem);
      reader.write(']');
      break;
    case 'T': {
      reader.write('(');
      const count = readList(reader, ', ', readItem);
      reader.write(count === 1 ? ',)' : ')');
      break;
    }
    case 'V':
      readPath(reader, true);
      readFields(reader, readItem);
      break;
    default:
      throw INVALID;
  }
}

/** U: no fields; T <const>* E: a tuple's; S (<identifier> <const>)* E: named ones. */
function readFields(reader: V0Reader, readItem: () => void): void {
  switch (reader.next()) {
    case 'U':
      break;
    case 'T':
      reader.write('(');
      readList(reader, ', ', readItem);
      reader.write(')');
      break;
    case 'S':
      reader.write(' { ');
      readList(reader, ', ', () => {
        reader.optionalInteger62('s');
        reader.write(`${reader.identifier()}: `);
        readItem();
      });
      reader.write(' }');
      break;
    default:
      throw INVALID;
  }
}

/** Decimal up to 64 bits, hex beyond, as the standard library's backtraces have it. */
function unsigned(reader: V0Reader): string {
  const digits = reader.hexDigits().replace(/^0+/, '');
  if (digits.length > 16) return `0x${digits}`;
  return digits.length <= 13 ? String(Number.parseInt(digits || '0', 16)) : BigInt(`0x${digits}`).toString();
}

function character(reader: V0Reader): string {
  const digits = reader.hexDigits().replace(/^0+/, '');
  const code = Number.parseInt(digits || '0', 16);
  if (digits.length > 6 || !isScalar(code)) throw INVALID;
  return `'${escapeIn(code, "'")}'`;
}

/** Two hex digits for each byte of UTF-8. */
function stringLiteral(reader: V0Reader): string {
  const digits = reader.hexDigits();
  if (digits.length % 2 !== 0) throw INVALID;
  const bytes = new Uint8Array(digits.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw INVALID;
  }
  let literal = '';
  for (const letter of text) literal += escapeIn(letter.codePointAt(0)!, '"');
  return `"${literal}"`;
}

function isScalar(code: number): boolean {
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

const ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x00, '\\0'],
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0d, '\\r'],
  [0x5c, '\\\\'],
]);

/**
 * As Rust's `escape_debug` for what can be told without Unicode's tables: control characters and the quote.
 */
function escapeIn(code: number, quote: string): string {
  const named = ESCAPES.get(code);
  if (named !== undefined) return named;
  const letter = String.fromCodePoint(code);
  if (letter === quote) return `\\${quote}`;
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ? `\\u{${code.toString(16)}}` : letter;
}
