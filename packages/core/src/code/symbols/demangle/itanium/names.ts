/**
 * Names: nested, local to a namespace, operators, constructors, lambdas (Itanium
 * C++ ABI 5.1.2, 5.1.4 to 5.1.7).
 */
import { readLocalName } from './encoding.ts';
import { readExpression } from './expressions.ts';
import {
  BINDING,
  branch,
  CAST,
  CONSTRUCTOR,
  CONVERSION,
  DESTRUCTOR,
  EXPRESSION,
  FRIEND,
  FUNCTION_QUALIFIER,
  IN_MODULE,
  LAMBDA,
  listed,
  MODULE,
  NAME,
  Node,
  numbered,
  OPERATOR,
  QUALIFIED,
  TAGGED,
  TEMPLATE,
  UNNAMED,
  VENDOR_OPERATOR,
  worded,
} from './node.ts';
import { OPERATOR_ROWS, OPERATORS } from './operators.ts';
import { MALFORMED, type Parser } from './parser.ts';
import { qualify, readQualifiers, readReferenceQualifier } from './qualifiers.ts';
import {
  readSubstitution,
  readTemplateArguments,
  readTemplateHead,
  readTemplateParameter,
} from './templates.ts';
import { readParameters, readType } from './types.ts';

/** GCC's name for an unnamed namespace starts so; what follows is `.`, `_` or `$`, then `N`. */
const ANONYMOUS_PREFIX = '_GLOBAL_';

/** <name>. `asType`: it names a class, which is then a candidate for substitution. */
export function readName(parser: Parser, asType: boolean): Node {
  parser.enter();
  let node: Node;
  let repeated = false;
  switch (parser.peek()) {
    case 'N':
      node = readNestedName(parser);
      break;
    case 'Z':
      node = readLocalName(parser);
      break;
    default: {
      let scope: Node | null = parser.accept('St') ? worded(NAME, 'std') : null;
      let module: Node | null = null;
      if (parser.peek() === 'S') {
        const substitution = readSubstitution(parser, false);
        if (substitution.kind === MODULE) module = substitution;
        else if (scope !== null) throw MALFORMED;
        else {
          scope = substitution;
          repeated = true;
        }
      }
      node = repeated ? scope! : readUnqualifiedName(parser, scope, module);
      if (parser.peek() === 'I') {
        if (!repeated) parser.substitutable(node);
        node = branch(TEMPLATE, node, readTemplateArguments(parser));
        repeated = false;
      }
    }
  }
  if (asType && !repeated) parser.substitutable(node);
  parser.leave();
  return node;
}

/** N [H] [<qualifiers>] [<& or &&>] <prefix> E; the qualifiers are those of a member function. */
function readNestedName(parser: Parser): Node {
  parser.expect('N');
  // The function takes its object as an explicit parameter; nothing of that is printed.
  parser.accept('H');
  const qualifiers = readQualifiers(parser);
  const reference = readReferenceQualifier(parser);
  const prefix = readPrefix(parser, true);
  parser.expect('E');
  const node = qualify(prefix, qualifiers, true);
  return reference === '' ? node : worded(FUNCTION_QUALIFIER, reference, node);
}

/** Scopes up to `E`. Each but the last is a candidate for substitution. */
export function readPrefix(parser: Parser, substitutable: boolean): Node {
  let scope: Node | null = null;
  for (;;) {
    const first = parser.peek();
    if (first === 'M') {
      // The member whose initialiser holds a lambda: it was made a candidate when it was read.
      parser.position++;
      continue;
    }
    if (first === 'S') {
      const substitution = readSubstitution(parser, true);
      if (substitution.kind !== MODULE) {
        if (scope !== null) throw MALFORMED;
        scope = substitution;
        continue;
      }
      scope = readUnqualifiedName(parser, scope, substitution);
    } else scope = readNextScope(parser, scope, first);
    if (parser.peek() === 'E') return scope;
    if (substitutable) parser.substitutable(scope);
  }
}

function readNextScope(parser: Parser, scope: Node | null, first: string): Node {
  if (first === 'I') {
    if (scope === null) throw MALFORMED;
    return branch(TEMPLATE, scope, readTemplateArguments(parser));
  }
  const isDecltype = first === 'D' && (parser.peek(1) === 'T' || parser.peek(1) === 't');
  if (first !== 'T' && !isDecltype) return readUnqualifiedName(parser, scope, null);
  if (scope !== null) throw MALFORMED;
  return isDecltype ? readType(parser) : readTemplateParameter(parser);
}

/** <unqualified-name> in `scope` and `module`, where they are known already. */
export function readUnqualifiedName(parser: Parser, scope: Node | null, outerModule: Node | null): Node {
  const module = parser.peek() === 'W' ? readModule(parser, outerModule) : outerModule;
  const isFriend = scope !== null && parser.peek() === 'F';
  if (isFriend) parser.position++;
  let node = parser.peekIsDigit() ? readSourceName(parser) : readBareName(parser);
  if (module !== null) node = branch(IN_MODULE, node, module);
  if (parser.peek() === 'B') node = readAbiTags(parser, node);
  if (isFriend) node = branch(FRIEND, node);
  return scope === null ? node : branch(QUALIFIED, scope, node);
}

/** Any but the common <length> and name. */
function readBareName(parser: Parser): Node {
  const first = parser.peek();
  if (first >= 'a' && first <= 'z') return readOperatorAsName(parser);
  switch (first) {
    case 'C':
      return readConstructor(parser);
    case 'D':
      return parser.peek(1) === 'C' ? readBinding(parser) : readDestructor(parser);
    case 'L': {
      // Internal linkage.
      parser.position++;
      const name = readSourceName(parser);
      skipDiscriminator(parser);
      return name;
    }
    case 'U':
      if (parser.accept('Ul')) return readLambda(parser);
      if (parser.accept('Ut')) {
        const node = numbered(UNNAMED, parser.index());
        return parser.substitutable(node);
      }
  }
  throw MALFORMED;
}

/** <length> and that many bytes. */
export function readSourceName(parser: Parser): Node {
  const length = parser.number();
  const start = parser.position;
  if (length <= 0 || start + length > parser.source.length) throw MALFORMED;
  parser.position = start + length;
  let text = parser.source.slice(start, start + length);
  if (text.startsWith(ANONYMOUS_PREFIX) && text.charAt(9) === 'N' && '._$'.includes(text.charAt(8)))
    text = '(anonymous namespace)';
  const name = worded(NAME, text);
  parser.lastName = name;
  return name;
}

/** W <name> and WP <name> (a partition), any number of them; each is a candidate. */
export function readModule(parser: Parser, outer: Node | null): Node | null {
  let module = outer;
  while (parser.accept('W')) {
    const separator = parser.accept('P') ? ':' : '.';
    module = parser.substitutable(worded(MODULE, separator, module, readSourceName(parser)));
  }
  return module;
}

function readOperatorAsName(parser: Parser): Node {
  const inExpression = parser.inExpression;
  // `on` says that even inside an expression a name follows, so that `cv` is a conversion function.
  if (parser.accept('on')) parser.inExpression = false;
  const operator = readOperator(parser);
  parser.inExpression = inExpression;
  if (operator.kind === OPERATOR && OPERATORS[operator.value]!.code === 'li')
    return listed(EXPRESSION, [readSourceName(parser)], operator);
  return operator;
}

/** An operator by its two letters; the letters of a cast or conversion are followed by its type. */
export function readOperator(parser: Parser): Node {
  const code = parser.source.slice(parser.position, parser.position + 2);
  parser.position += 2;
  if (code === 'cv') {
    const inConversion = parser.inConversion;
    const isConversion = !parser.inExpression;
    parser.inConversion = isConversion;
    const type = readType(parser);
    parser.inConversion = inConversion;
    return branch(isConversion ? CONVERSION : CAST, type);
  }
  const row = OPERATOR_ROWS.get(code);
  if (row !== undefined) return numbered(OPERATOR, row, OPERATORS[row]!.text);
  const operands = code.charCodeAt(1) - 0x30;
  if (code.charAt(0) === 'v' && operands >= 0 && operands <= 9)
    return branch(VENDOR_OPERATOR, readSourceName(parser), null, operands);
  throw MALFORMED;
}

/** C1 to C5, and CI1, CI2 <base>: a constructor inherited from a base class. */
function readConstructor(parser: Parser): Node {
  const lastName = parser.lastName;
  if (lastName === null) throw MALFORMED;
  parser.position++;
  const inherited = parser.accept('I');
  const kind = parser.next();
  if (kind < '1' || kind > '5') throw MALFORMED;
  if (!inherited) return branch(CONSTRUCTOR, lastName);
  readType(parser);
  return branch(CONSTRUCTOR, parser.lastName);
}

/** D0 to D2, D4, D5. */
function readDestructor(parser: Parser): Node {
  if (parser.lastName === null) throw MALFORMED;
  parser.position++;
  const kind = parser.next();
  if (kind < '0' || kind > '5' || kind === '3') throw MALFORMED;
  return branch(DESTRUCTOR, parser.lastName);
}

/** DC <name>* E */
function readBinding(parser: Parser): Node {
  parser.position += 2;
  const items: Node[] = [];
  do items.push(readSourceName(parser));
  while (!parser.accept('E'));
  return listed(BINDING, items);
}

/** Ul [<template head>] <parameters> [Q <constraint>] E [<number>] _ */
function readLambda(parser: Parser): Node {
  const head = readTemplateHead(parser);
  const items = readParameters(parser);
  const constraint = parser.accept('Q') ? readExpression(parser) : null;
  parser.expect('E');
  return new Node(LAMBDA, constraint, head, '', parser.index(), items);
}

/** B <name>, any number of times; they do not count as the last name. */
export function readAbiTags(parser: Parser, tagged: Node): Node {
  const lastName = parser.lastName;
  let node = tagged;
  while (parser.accept('B')) node = branch(TAGGED, node, readSourceName(parser));
  parser.lastName = lastName;
  return node;
}

/** _ <digit>, or __ <number> _ from 10 on: tells apart equal names in one function. Not printed. */
export function skipDiscriminator(parser: Parser): void {
  if (!parser.accept('_')) return;
  const isLong = parser.accept('_');
  const value = parser.number();
  if (value < 0) throw MALFORMED;
  if (isLong && value >= 10) parser.expect('_');
}
