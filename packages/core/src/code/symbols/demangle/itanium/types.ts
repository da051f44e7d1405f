/** Types (Itanium C++ ABI 5.1.5). */
import { BUILTIN_TYPES, D_BUILTIN_TYPES, LITERAL_CAST, LITERAL_VOID } from './builtin-types.ts';
import { readExpression } from './expressions.ts';
import { readName, readSourceName } from './names.ts';
import {
  ARRAY,
  BUILTIN,
  branch,
  COMPLEX,
  CONSTRAINED_AUTO,
  DECLTYPE,
  EXPANSION,
  FUNCTION,
  FUNCTION_QUALIFIER,
  listed,
  MEMBER_POINTER,
  NAME,
  type Node,
  numbered,
  POINTER,
  REFERENCE,
  RVALUE_REFERENCE,
  SIZED_TYPE,
  SPECIAL,
  TEMPLATE,
  VECTOR,
  VENDOR_QUALIFIER,
  VENDOR_TYPE,
  worded,
} from './node.ts';
import { MALFORMED, type Parser } from './parser.ts';
import { qualify, readQualifiers, readReferenceQualifier, startsFunctionQualifier } from './qualifiers.ts';
import { readArgumentsToEnd, readTemplateArguments, readTemplateParameter } from './templates.ts';

/** <type>. Every type but a built-in one becomes a candidate for substitution. */
export function readType(parser: Parser): Node {
  const first = parser.peek();
  const builtin = BUILTIN_TYPES.get(first);
  if (builtin !== undefined) {
    parser.position++;
    return builtin;
  }
  parser.enter();
  const type = readCompoundType(parser, first);
  parser.leave();
  return type;
}

function readCompoundType(parser: Parser, first: string): Node {
  switch (first) {
    case 'r':
    case 'V':
    case 'K':
      return readQualifiedType(parser);
    case 'P':
      return readPointer(parser, POINTER);
    case 'R':
      return readPointer(parser, REFERENCE);
    case 'O':
      return readPointer(parser, RVALUE_REFERENCE);
    case 'C':
      parser.position++;
      return parser.substitutable(worded(COMPLEX, ' _Complex', readType(parser)));
    case 'G':
      parser.position++;
      return parser.substitutable(worded(COMPLEX, ' _Imaginary', readType(parser)));
    case 'F':
      return parser.substitutable(readFunction(parser));
    case 'A':
      return parser.substitutable(readArray(parser));
    case 'M': {
      parser.position++;
      const owner = readType(parser);
      return parser.substitutable(branch(MEMBER_POINTER, owner, readType(parser)));
    }
    case 'T':
      return readParameterType(parser);
    case 'D':
      return readDType(parser);
    case 'u':
      return parser.substitutable(readVendorType(parser));
    case 'U':
      return readVendorQualified(parser);
    default:
      return readName(parser, true);
  }
}

function readPointer(parser: Parser, kind: number): Node {
  parser.position++;
  return parser.substitutable(branch(kind, readType(parser)));
}

/**
 * Qualifiers and the type below them. Only the whole is a candidate, never the type with some of its
 * qualifiers. Before a function they are those of `this`, and the bare function is no candidate; its
 * `&` or `&&` prints after them.
 */
function readQualifiedType(parser: Parser): Node {
  const qualifiers = readQualifiers(parser);
  const isFunction = parser.peek() === 'F';
  let type = isFunction ? readFunction(parser) : readType(parser);
  let reference = '';
  if (type.kind === FUNCTION_QUALIFIER && (type.text === ' &' || type.text === ' &&')) {
    reference = type.text;
    type = type.left!;
  }
  type = qualify(type, qualifiers, isFunction);
  if (reference !== '') type = worded(FUNCTION_QUALIFIER, reference, type);
  return parser.substitutable(type);
}

/** F [Y] <result> <parameters> [<& or &&>] E; Y says extern "C", which is not printed. */
function readFunction(parser: Parser): Node {
  parser.expect('F');
  parser.accept('Y');
  const type = readBareFunction(parser, true);
  const reference = readReferenceQualifier(parser);
  parser.expect('E');
  return reference === '' ? type : worded(FUNCTION_QUALIFIER, reference, type);
}

/** [J] [<result>] <parameters>; J says that a result comes though the name would not have one. */
export function readBareFunction(parser: Parser, hasResult: boolean): Node {
  const result = parser.accept('J') || hasResult ? readType(parser) : null;
  return listed(FUNCTION, readParameters(parser), result);
}

/** At least one type; `void` alone means none. Ends before `end` or where no type can start. */
export function readParameters(parser: Parser, end = 'E'): Node[] {
  const items: Node[] = [];
  for (;;) {
    const first = parser.peek();
    if (first === '' || first === 'E' || first === end || first === '.' || first === 'Q') break;
    if ((first === 'R' || first === 'O') && parser.peek(1) === 'E') break;
    items.push(readType(parser));
  }
  if (items.length === 0) throw MALFORMED;
  return items.length === 1 && isVoid(items[0]!) ? [] : items;
}

function isVoid(type: Node): boolean {
  return type.kind === BUILTIN && type.value === LITERAL_VOID;
}

/** A [<digits> or <expression>] _ <element> */
function readArray(parser: Parser): Node {
  parser.expect('A');
  const size = readSize(parser);
  return branch(ARRAY, size, readType(parser));
}

/** A size and the `_` after it; null where it is left out. */
function readSize(parser: Parser): Node | null {
  if (parser.accept('_')) return null;
  let size: Node;
  if (parser.peekIsDigit()) {
    const start = parser.position;
    while (parser.peekIsDigit()) parser.position++;
    size = worded(NAME, parser.source.slice(start, parser.position));
  } else size = readExpression(parser);
  parser.expect('_');
  return size;
}

/** What Ts, Tu and Te put before a name. */
const ELABORATED: ReadonlyMap<string, string> = new Map([
  ['s', 'struct '],
  ['u', 'union '],
  ['e', 'enum '],
]);

/** T…, T… I … E (a template given as argument), and the elaborated Ts, Tu, Te <name>. */
function readParameterType(parser: Parser): Node {
  const keyword = ELABORATED.get(parser.peek(1));
  if (keyword !== undefined) {
    parser.position += 2;
    return parser.substitutable(worded(SPECIAL, keyword, readName(parser, false)));
  }
  const parameter = parser.substitutable(readTemplateParameter(parser));
  if (parser.peek() !== 'I') return parameter;
  if (!parser.inConversion)
    return parser.substitutable(branch(TEMPLATE, parameter, readTemplateArguments(parser)));
  // `operator T<…>`: the arguments are those of the type only if another list, the
  // operator's own, comes after.
  const { position } = parser;
  const count = parser.substitutions.length;
  const list = readTemplateArguments(parser);
  if (parser.peek() === 'I') return parser.substitutable(branch(TEMPLATE, parameter, list));
  parser.rewind(position, count);
  return parameter;
}

function readDType(parser: Parser): Node {
  if (startsFunctionQualifier(parser)) return readQualifiedType(parser);
  parser.position++;
  const letter = parser.next();
  const builtin = D_BUILTIN_TYPES.get(letter);
  if (builtin !== undefined) return builtin;
  switch (letter) {
    case 'T':
    case 't': {
      const type = branch(DECLTYPE, readExpression(parser));
      parser.expect('E');
      return parser.substitutable(type);
    }
    case 'p':
      return parser.substitutable(branch(EXPANSION, readType(parser)));
    case 'v': {
      const size = readSize(parser);
      if (size === null) throw MALFORMED;
      return parser.substitutable(branch(VECTOR, size, readType(parser)));
    }
    case 'F':
      return readFloatN(parser);
    case 'B':
      return parser.substitutable(worded(SIZED_TYPE, '_BitInt', readSize(parser)));
    case 'U':
      return parser.substitutable(worded(SIZED_TYPE, 'unsigned _BitInt', readSize(parser)));
    case 'k':
      return parser.substitutable(worded(CONSTRAINED_AUTO, ' auto', readName(parser, true)));
    case 'K':
      return parser.substitutable(worded(CONSTRAINED_AUTO, ' decltype(auto)', readName(parser, true)));
    default:
      throw MALFORMED;
  }
}

/** DF <bits> _, DF <bits> x, DF16b */
function readFloatN(parser: Parser): Node {
  const bits = parser.number();
  if (bits < 0) throw MALFORMED;
  const suffix = parser.next();
  if (suffix === 'b' && bits === 16) return numbered(BUILTIN, LITERAL_CAST, 'std::bfloat16_t');
  if (suffix !== '_' && suffix !== 'x') throw MALFORMED;
  return numbered(BUILTIN, LITERAL_CAST, `_Float${bits}${suffix === 'x' ? 'x' : ''}`);
}

/** u <name> [I <argument>* E] */
function readVendorType(parser: Parser): Node {
  parser.expect('u');
  const name = readSourceName(parser);
  return branch(VENDOR_TYPE, name, parser.accept('I') ? readArgumentsToEnd(parser) : null);
}

/** U <name> [<arguments>] <type>; Ul and Ut are the closure and unnamed types of the global namespace. */
function readVendorQualified(parser: Parser): Node {
  if (parser.peek(1) === 'l' || parser.peek(1) === 't') return readName(parser, true);
  parser.position++;
  const name = readSourceName(parser);
  const word = parser.peek() === 'I' ? branch(TEMPLATE, name, readTemplateArguments(parser)) : name;
  return parser.substitutable(branch(VENDOR_QUALIFIER, readType(parser), word));
}
