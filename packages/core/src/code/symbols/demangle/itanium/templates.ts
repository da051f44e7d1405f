/**
 * Template parameters, arguments and heads, and the substitutions `S…` (Itanium C++
 * ABI 5.1.5.9, 5.1.5.10, 5.1.10).
 */
import { STANDARD_ABBREVIATIONS } from './builtin-types.ts';
import { readExpression, readPrimary } from './expressions.ts';
import { readAbiTags, readName } from './names.ts';
import {
  DECLARED_PARAMETER,
  listed,
  NAME,
  Node,
  numbered,
  STANDARD,
  TEMPLATE_ARGUMENTS,
  TEMPLATE_HEAD,
  TEMPLATE_PARAMETER,
  worded,
} from './node.ts';
import { MALFORMED, type Parser } from './parser.ts';
import { readType } from './types.ts';

/** T_, T0_, … and TL<level>__ for the parameters of an enclosing lambda's head (its level is not printed). */
export function readTemplateParameter(parser: Parser): Node {
  parser.expect('T');
  if (parser.accept('L')) {
    parser.number();
    parser.expect('_');
  }
  return numbered(TEMPLATE_PARAMETER, parser.index());
}

/** I <argument>* E, or J for a pack. */
export function readTemplateArguments(parser: Parser): Node {
  if (!parser.accept('I') && !parser.accept('J')) throw MALFORMED;
  return readArgumentsToEnd(parser);
}

/**
 * <argument>* [Q <constraint>] E. A constructor after them is still that of the template: the last name is
 * kept. The constraint only tells overloads apart and is not printed.
 */
export function readArgumentsToEnd(parser: Parser): Node {
  const lastName = parser.lastName;
  const items: Node[] = [];
  while (!parser.accept('E')) {
    items.push(readTemplateArgument(parser));
    if (!parser.accept('Q')) continue;
    readExpression(parser);
    parser.expect('E');
    break;
  }
  parser.lastName = lastName;
  return listed(TEMPLATE_ARGUMENTS, items);
}

/** <template-arg>: a type, X <expression> E, a literal or a pack. */
export function readTemplateArgument(parser: Parser): Node {
  // Clang puts the declaration before the argument where the argument alone would be ambiguous.
  if (startsDeclaredParameter(parser)) readDeclaredParameter(parser);
  switch (parser.peek()) {
    case 'X': {
      parser.position++;
      const expression = readExpression(parser);
      parser.expect('E');
      return expression;
    }
    case 'L':
      return readPrimary(parser);
    case 'I':
    case 'J': {
      parser.enter();
      const pack = readTemplateArguments(parser);
      parser.leave();
      return pack;
    }
    default:
      return readType(parser);
  }
}

/** The parameters that a lambda declares itself (`[]<typename T>(T) {}`) and what they require, or null. */
export function readTemplateHead(parser: Parser): Node | null {
  const items: Node[] = [];
  while (startsDeclaredParameter(parser)) items.push(readDeclaredParameter(parser));
  if (items.length === 0) return null;
  return listed(TEMPLATE_HEAD, items, parser.accept('Q') ? readExpression(parser) : null);
}

function startsDeclaredParameter(parser: Parser): boolean {
  if (parser.peek() !== 'T') return false;
  const letter = parser.peek(1);
  return letter === 'y' || letter === 'n' || letter === 't' || letter === 'p' || letter === 'k';
}

/** Ty | Tk <concept> | Tn <type> | Tt <parameter>* E | Tp <parameter>; `text` is how GCC numbers its kind. */
function readDeclaredParameter(parser: Parser): Node {
  parser.enter();
  parser.position++;
  let declared: Node;
  switch (parser.next()) {
    case 'y':
      declared = worded(DECLARED_PARAMETER, '$T');
      break;
    case 'k':
      declared = worded(DECLARED_PARAMETER, '$T', readName(parser, true));
      break;
    case 'n':
      declared = worded(DECLARED_PARAMETER, '$N', readType(parser));
      break;
    case 't': {
      const items: Node[] = [];
      while (!parser.accept('E')) {
        if (!startsDeclaredParameter(parser)) throw MALFORMED;
        items.push(readDeclaredParameter(parser));
      }
      declared = new Node(DECLARED_PARAMETER, null, null, '$TT', 0, items);
      break;
    }
    case 'p': {
      if (!startsDeclaredParameter(parser)) throw MALFORMED;
      const { left, text, items } = readDeclaredParameter(parser);
      declared = new Node(DECLARED_PARAMETER, left, null, text, 1, items);
      break;
    }
    default:
      throw MALFORMED;
  }
  parser.leave();
  return declared;
}

/**
 * S_ and S<base 36>_ repeat something already read; S and a letter abbreviate the standard library.
 * `isPrefix`: a constructor may follow, and `std::string::string` would not be its name.
 */
export function readSubstitution(parser: Parser, isPrefix: boolean): Node {
  parser.expect('S');
  const first = parser.next();
  if (first === '_' || (first >= '0' && first <= '9') || (first >= 'A' && first <= 'Z')) {
    let id = 0;
    if (first !== '_') {
      parser.position--;
      id = readBase36(parser) + 1;
    }
    const node = parser.substitutions[id];
    if (node === undefined) throw MALFORMED;
    return node;
  }
  const standard = STANDARD_ABBREVIATIONS.get(first);
  if (standard === undefined) throw MALFORMED;
  if (standard.className !== '') parser.lastName = worded(NAME, standard.className);
  const following = parser.peek();
  const inFull = parser.verbose || (isPrefix && (following === 'C' || following === 'D'));
  const node = worded(STANDARD, inFull ? standard.full : standard.short);
  if (following !== 'B') return node;
  return parser.substitutable(readAbiTags(parser, node));
}

function readBase36(parser: Parser): number {
  let id = 0;
  for (;;) {
    const digit = parser.next();
    if (digit === '_') return id;
    if (digit >= '0' && digit <= '9') id = id * 36 + digit.charCodeAt(0) - 0x30;
    else if (digit >= 'A' && digit <= 'Z') id = id * 36 + digit.charCodeAt(0) - 0x41 + 10;
    else throw MALFORMED;
    if (id > parser.substitutions.length) throw MALFORMED;
  }
}
