/** Expressions and literals (Itanium C++ ABI 5.1.6). */
import { D_BUILTIN_TYPES } from './builtin-types.ts';
import { readMangledName } from './encoding.ts';
import { readOperator, readPrefix, readSourceName, readUnqualifiedName } from './names.ts';
import {
  ARGUMENTS,
  ARRAY,
  branch,
  CAST,
  DESTRUCTOR,
  EXPANSION,
  EXPRESSION,
  FUNCTION_PARAMETER,
  INITIALIZER,
  LAMBDA,
  LITERAL,
  listed,
  Node,
  numbered,
  OPERATOR,
  REQUIREMENT,
  REQUIRES,
  STRING_LITERAL,
  SUBOBJECT,
  TEMPLATE,
  VENDOR_EXPRESSION,
  VENDOR_OPERATOR,
  worded,
} from './node.ts';
import { OPERATORS } from './operators.ts';
import { MALFORMED, type Parser, UNRESOLVED_PRESENT } from './parser.ts';
import { readQualifiers } from './qualifiers.ts';
import { readArgumentsToEnd, readTemplateArguments, readTemplateParameter } from './templates.ts';
import { readParameters, readType } from './types.ts';

/** <expression>, in a place where none surrounds it. */
export function readExpression(parser: Parser): Node {
  const outer = parser.inExpression;
  parser.inExpression = true;
  const expression = readOperand(parser);
  parser.inExpression = outer;
  return expression;
}

function readOperand(parser: Parser): Node {
  parser.enter();
  const node = readByFirstLetters(parser);
  parser.leave();
  return node;
}

function readByFirstLetters(parser: Parser): Node {
  const first = parser.peek();
  if (first === 'L') return readPrimary(parser);
  if (first === 'T') return readTemplateParameter(parser);
  if (parser.peekIsDigit()) return readSimpleName(parser);
  if (first === 'u') {
    parser.position++;
    const name = readSourceName(parser);
    return branch(VENDOR_EXPRESSION, name, readArgumentsToEnd(parser));
  }
  const second = parser.peek(1);
  switch (first + second) {
    case 'on':
      return readSimpleName(parser);
    case 'dn':
      parser.position += 2;
      return branch(DESTRUCTOR, parser.peekIsDigit() ? readSimpleName(parser) : readType(parser));
    case 'sr':
      parser.position += 2;
      return readUnresolvedName(parser);
    case 'sp':
      parser.position += 2;
      return branch(EXPANSION, readOperand(parser));
    case 'fp':
      return readFunctionParameter(parser);
    case 'fL':
      if (parser.peek(2) >= '0' && parser.peek(2) <= '9') return readFunctionParameter(parser);
      break;
    case 'il':
      parser.position += 2;
      return listed(INITIALIZER, readOperands(parser, 'E'));
    case 'tl': {
      parser.position += 2;
      const type = readType(parser);
      return listed(INITIALIZER, readOperands(parser, 'E'), type);
    }
    case 'so':
      return readSubobject(parser);
    case 'mc':
      return readMemberConversion(parser);
    case 'rq':
    case 'rQ':
      return readRequires(parser);
  }
  return readOperation(parser);
}

/** A name without scope, or with one already read before `.` or `->`. */
function readSimpleName(parser: Parser): Node {
  const name = readUnqualifiedName(parser, null, null);
  return parser.peek() === 'I' ? branch(TEMPLATE, name, readTemplateArguments(parser)) : name;
}

/**
 * After `sr`: a type and a name, or scopes, `E` and a name. Old compilers wrote `1A1x` where
 * `1AE1x` is right; both begin alike, so the right form is tried first and the whole name is read
 * again with the other if that fails.
 */
function readUnresolvedName(parser: Parser): Node {
  const first = parser.peek();
  const isScopes =
    parser.peekIsDigit() || (first >= 'a' && first <= 'z') || first === 'C' || first === 'U' || first === 'L';
  let scope: Node;
  if (isScopes && parser.unresolvedForm === UNRESOLVED_PRESENT) {
    parser.unresolvedSeen = true;
    scope = readPrefix(parser, false);
    parser.accept('E');
  } else scope = readType(parser);
  const name = readUnqualifiedName(parser, scope, null);
  return parser.peek() === 'I' ? branch(TEMPLATE, name, readTemplateArguments(parser)) : name;
}

/** fp [<qualifiers>] [<number>] _, fL <level> p …, and fpT for `this` */
function readFunctionParameter(parser: Parser): Node {
  parser.position++;
  if (parser.accept('L')) parser.number();
  parser.expect('p');
  if (parser.accept('T')) return numbered(FUNCTION_PARAMETER, 0);
  readQualifiers(parser);
  return numbered(FUNCTION_PARAMETER, parser.index() + 1);
}

function readOperands(parser: Parser, end: string): Node[] {
  const items: Node[] = [];
  while (!parser.accept(end)) items.push(readOperand(parser));
  return items;
}

function readOperation(parser: Parser): Node {
  const operator = readOperator(parser);
  if (operator.kind === CAST) {
    const operand = parser.accept('_') ? listed(ARGUMENTS, readOperands(parser, 'E')) : readOperand(parser);
    return listed(EXPRESSION, [operand], operator);
  }
  if (operator.kind === VENDOR_OPERATOR && operator.value <= 1) {
    return listed(EXPRESSION, operator.value === 0 ? [] : [readOperand(parser)], operator);
  }
  if (operator.kind !== OPERATOR) throw MALFORMED;
  const { code, operands } = OPERATORS[operator.value]!;
  switch (operands) {
    case 0:
      return listed(EXPRESSION, [], operator);
    case 1:
      return readUnary(parser, operator, code);
    case 2:
      return listed(EXPRESSION, readTwo(parser, code), operator);
    default:
      return listed(EXPRESSION, readThree(parser, code), operator);
  }
}

function readUnary(parser: Parser, operator: Node, code: string): Node {
  switch (code) {
    case 'st':
    case 'ti':
    case 'at':
      return listed(EXPRESSION, [readType(parser)], operator);
    case 'sP':
      return listed(EXPRESSION, [readArgumentsToEnd(parser)], operator);
    case 'pp':
    case 'mm': {
      // pp_ is the prefix form, pp the suffix.
      const isSuffix = !parser.accept('_');
      return listed(EXPRESSION, [readOperand(parser)], operator, isSuffix ? 1 : 0);
    }
    default:
      return listed(EXPRESSION, [readOperand(parser)], operator);
  }
}

function readTwo(parser: Parser, code: string): Node[] {
  switch (code) {
    case 'cc':
    case 'dc':
    case 'rc':
    case 'sc': {
      const type = readType(parser);
      return [type, readOperand(parser)];
    }
    case 'fl':
    case 'fr': {
      const operator = readOperator(parser);
      return [operator, readOperand(parser)];
    }
    case 'di': {
      const member = readUnqualifiedName(parser, null, null);
      return [member, readOperand(parser)];
    }
    case 'cl': {
      const callee = readOperand(parser);
      return [callee, listed(ARGUMENTS, readOperands(parser, 'E'))];
    }
    case 'dt':
    case 'pt': {
      const object = readOperand(parser);
      const following = parser.peek() + parser.peek(1);
      // Old names leave out the `on` before an operator's letters, so not any expression will do here.
      const isScoped = following === 'gs' || following === 'sr' || following === 'dn';
      return [object, isScoped ? readOperand(parser) : readSimpleName(parser)];
    }
    default: {
      const left = readOperand(parser);
      return [left, readOperand(parser)];
    }
  }
}

function readThree(parser: Parser, code: string): Node[] {
  if (code === 'nw' || code === 'na') return readNew(parser);
  const first = code === 'fL' || code === 'fR' ? readOperator(parser) : readOperand(parser);
  const second = readOperand(parser);
  return [first, second, readOperand(parser)];
}

/** [<placement>]* _ <type> and E, pi <argument>* E or il <argument>* E */
function readNew(parser: Parser): Node[] {
  const placement = listed(ARGUMENTS, readOperands(parser, '_'));
  const type = readType(parser);
  if (parser.accept('E')) return [placement, type];
  if (parser.accept('pi')) return [placement, type, listed(ARGUMENTS, readOperands(parser, 'E'))];
  if (parser.peek() === 'i' && parser.peek(1) === 'l') return [placement, type, readOperand(parser)];
  throw MALFORMED;
}

/** so <type> <expression> [<offset>] <union member>* [p] E */
function readSubobject(parser: Parser): Node {
  parser.position += 2;
  const type = readType(parser);
  const object = readOperand(parser);
  const offset = parser.number();
  while (parser.accept('_')) parser.number();
  parser.accept('p');
  parser.expect('E');
  return new Node(SUBOBJECT, object, type, '', offset, []);
}

/** mc <type> <expression> [<offset>] E: a pointer to member converted to another class's */
function readMemberConversion(parser: Parser): Node {
  parser.position += 2;
  const type = readType(parser);
  const operand = readOperand(parser);
  parser.number();
  parser.expect('E');
  return listed(EXPRESSION, [operand], branch(CAST, type));
}

/** rq <requirement>+ E and rQ <parameters> _ <requirement>+ E */
function readRequires(parser: Parser): Node {
  parser.position++;
  const parameters = parser.next() === 'Q' ? listed(ARGUMENTS, readParameters(parser, '_')) : null;
  if (parameters !== null) parser.expect('_');
  const items: Node[] = [];
  do items.push(readRequirement(parser));
  while (!parser.accept('E'));
  return listed(REQUIRES, items, parameters);
}

/** X <expression> [N] [R <concept>] | T <type> | Q <constraint> */
function readRequirement(parser: Parser): Node {
  switch (parser.next()) {
    case 'X': {
      const expression = readOperand(parser);
      const isNoexcept = parser.accept('N');
      const constraint = parser.accept('R') ? readType(parser) : null;
      const text = isNoexcept || constraint !== null ? '{' : '';
      return new Node(REQUIREMENT, expression, constraint, text, isNoexcept ? 1 : 0, []);
    }
    case 'T':
      return worded(REQUIREMENT, 'typename ', readType(parser));
    case 'Q':
      return worded(REQUIREMENT, 'requires ', readOperand(parser));
    default:
      throw MALFORMED;
  }
}

/** L <type> <digits> E, L <mangled name> E, LDnE for nullptr, L <array type> E for a string. */
export function readPrimary(parser: Parser): Node {
  parser.expect('L');
  let node: Node;
  // Early GCC left out the underscore of the mangled name.
  if (parser.peek() === '_' || parser.peek() === 'Z') {
    parser.accept('_');
    node = readMangledName(parser);
  } else {
    const type = readType(parser);
    const isNegative = parser.accept('n');
    const start = parser.position;
    const end = parser.source.indexOf('E', start);
    if (end < 0) throw MALFORMED;
    parser.position = end;
    if (end > start) {
      const digits = parser.source.slice(start, end);
      node = new Node(LITERAL, type, null, digits, isNegative ? 1 : 0, []);
    } else if (type === D_BUILTIN_TYPES.get('n') || type.kind === LAMBDA) node = type;
    else if (type.kind === ARRAY) node = branch(STRING_LITERAL, type);
    else throw MALFORMED;
  }
  parser.expect('E');
  return node;
}
