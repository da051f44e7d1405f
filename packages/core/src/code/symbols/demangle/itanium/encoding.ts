/**
 * What a mangled name as a whole can be (Itanium C++ ABI 5.1.2, 5.1.4, 5.1.6, and what GCC and Clang add).
 */
import { readExpression } from './expressions.ts';
import { readModule, readName, skipDiscriminator } from './names.ts';
import {
  branch,
  CLONE,
  CONSTRAINED,
  CONSTRUCTOR,
  CONVERSION,
  DEFAULT_ARGUMENT,
  DESTRUCTOR,
  FUNCTION,
  FUNCTION_QUALIFIER,
  LAMBDA,
  LOCAL,
  listed,
  NAME,
  type Node,
  PAIR,
  QUALIFIED,
  SPECIAL,
  TEMPLATE,
  TYPED,
  UNNAMED,
  worded,
} from './node.ts';
import { MALFORMED, type Parser } from './parser.ts';
import { readTemplateArgument } from './templates.ts';
import { readBareFunction, readType } from './types.ts';

/** Z <encoding>, the whole or inside of another name. */
export function readMangledName(parser: Parser): Node {
  parser.expect('Z');
  return readEncoding(parser);
}

/** <encoding>: a special name, a function with its parameters, or the name of data. */
function readEncoding(parser: Parser): Node {
  parser.enter();
  const first = parser.peek();
  const encoding = first === 'G' || first === 'T' ? readSpecialName(parser) : readFunctionOrData(parser);
  parser.leave();
  return encoding;
}

/**
 * The same without parameters: they are not even read, so what is wrong with them does not matter. The
 * qualifiers of a member function go with them.
 */
export function readEncodingWithoutParameters(parser: Parser): Node {
  parser.expect('Z');
  const first = parser.peek();
  if (first === 'G' || first === 'T') return readSpecialName(parser);
  const name = withoutFunctionQualifiers(readName(parser, false));
  return name.kind === LOCAL ? branch(LOCAL, name.left, withoutFunctionQualifiers(name.right!)) : name;
}

function withoutFunctionQualifiers(name: Node): Node {
  let node = name;
  while (node.kind === FUNCTION_QUALIFIER) node = node.left!;
  return node;
}

function readFunctionOrData(parser: Parser): Node {
  const name = readName(parser, false);
  const following = parser.peek();
  let encoding = name;
  if (following !== '' && following !== 'E' && following !== 'Q' && following !== '.')
    encoding = branch(TYPED, name, readBareFunction(parser, hasResult(name)));
  return parser.accept('Q') ? branch(CONSTRAINED, encoding, readExpression(parser)) : encoding;
}

/** Templates carry their result type; constructors, destructors and conversion functions never do. */
function hasResult(name: Node): boolean {
  switch (name.kind) {
    case LOCAL:
      return hasResult(name.right!);
    case DEFAULT_ARGUMENT:
    case FUNCTION_QUALIFIER:
      return hasResult(name.left!);
    case TEMPLATE:
      return !isSpecialMember(name.left!);
    default:
      return false;
  }
}

function isSpecialMember(name: Node): boolean {
  switch (name.kind) {
    case QUALIFIED:
    case LOCAL:
      return isSpecialMember(name.right!);
    case CONSTRUCTOR:
    case DESTRUCTOR:
    case CONVERSION:
      return true;
    default:
      return false;
  }
}

/** Z <encoding> E <name> [<discriminator>], Z … E s (a string literal), Z … E d [<number>] _ <name> */
export function readLocalName(parser: Parser): Node {
  const around = withoutResult(readMangledName(parser));
  parser.expect('E');
  if (parser.accept('s')) {
    skipDiscriminator(parser);
    return branch(LOCAL, around, worded(NAME, 'string literal'));
  }
  // Default arguments count from the last parameter.
  const argument = parser.accept('d') ? parser.index() : -1;
  const name = readName(parser, false);
  // Lambdas and unnamed types have numbers of their own.
  if (name.kind !== LAMBDA && name.kind !== UNNAMED) skipDiscriminator(parser);
  return branch(LOCAL, around, argument < 0 ? name : branch(DEFAULT_ARGUMENT, name, null, argument));
}

/** The result of the function around a local entity would read as if it were that of the entity. */
function withoutResult(encoding: Node): Node {
  const type = encoding.kind === TYPED ? encoding.right! : encoding;
  if (type.kind !== FUNCTION || type.left === null) return encoding;
  return branch(TYPED, encoding.left, listed(FUNCTION, type.items));
}

/** Letters after T: what is said about the type or name that follows. */
const ABOUT_TYPE: ReadonlyMap<string, string> = new Map([
  ['V', 'vtable for '],
  ['T', 'VTT for '],
  ['I', 'typeinfo for '],
  ['S', 'typeinfo name for '],
  ['F', 'typeinfo fn for '],
  ['J', 'java Class for '],
]);

function readSpecialName(parser: Parser): Node {
  const family = parser.next();
  const letter = parser.next();
  return family === 'T' ? readTypeSpecial(parser, letter) : readObjectSpecial(parser, letter);
}

function readTypeSpecial(parser: Parser, letter: string): Node {
  const aboutType = ABOUT_TYPE.get(letter);
  if (aboutType !== undefined) return worded(SPECIAL, aboutType, readType(parser));
  switch (letter) {
    case 'h':
    case 'v':
      skipCallOffset(parser, letter);
      return worded(
        SPECIAL,
        letter === 'h' ? 'non-virtual thunk to ' : 'virtual thunk to ',
        readEncoding(parser),
      );
    case 'c':
      skipCallOffset(parser, parser.next());
      skipCallOffset(parser, parser.next());
      return worded(SPECIAL, 'covariant return thunk to ', readEncoding(parser));
    case 'C': {
      const derived = readType(parser);
      parser.number();
      parser.expect('_');
      const base = readType(parser);
      return worded(SPECIAL, 'construction vtable for ', worded(PAIR, '-in-', base, derived));
    }
    case 'H':
      return worded(SPECIAL, 'TLS init function for ', readName(parser, false));
    case 'W':
      return worded(SPECIAL, 'TLS wrapper function for ', readName(parser, false));
    case 'A':
      return worded(SPECIAL, 'template parameter object for ', readTemplateArgument(parser));
    default:
      throw MALFORMED;
  }
}

function readObjectSpecial(parser: Parser, letter: string): Node {
  switch (letter) {
    case 'V':
      return worded(SPECIAL, 'guard variable for ', readName(parser, false));
    case 'R': {
      const name = readName(parser, false);
      // Numbered in base 36 and ended by `_`, which old GCC left out; binutils prints
      // the decimal digits of it.
      const sequence = String(parser.number());
      while (isSequenceLetter(parser.peek())) parser.position++;
      parser.accept('_');
      return worded(SPECIAL, 'reference temporary #', worded(PAIR, ' for ', worded(NAME, sequence), name));
    }
    case 'A':
      return worded(SPECIAL, 'hidden alias for ', readEncoding(parser));
    case 'T':
      return parser.next() === 'n'
        ? worded(SPECIAL, 'non-transaction clone for ', readEncoding(parser))
        : worded(SPECIAL, 'transaction clone for ', readEncoding(parser));
    case 'I': {
      const module = readModule(parser, null);
      if (module === null) throw MALFORMED;
      return worded(SPECIAL, 'initializer for module ', module);
    }
    default:
      throw MALFORMED;
  }
}

/** h <number> _ or v <number> _ <number> _: how a thunk moves `this`. */
function skipCallOffset(parser: Parser, letter: string): void {
  if (letter !== 'h' && letter !== 'v') throw MALFORMED;
  parser.number();
  if (letter === 'v') {
    parser.expect('_');
    parser.number();
  }
  parser.expect('_');
}

/**
 * What compilers add to the name of a copy of a function: `.isra.0`,
 * `.part.1.constprop.2`, `.cold`, `.llvm.123`.
 *
 *   _Z1fv .part.1 .cold .123      a word, then numbers; each piece is one clone of the one before
 */
export function readCloneSuffixes(parser: Parser, original: Node): Node {
  let node = original;
  while (parser.peek() === '.' && isWordCharacter(parser.peek(1))) {
    const start = parser.position++;
    while (isWordCharacter(parser.peek())) parser.position++;
    while (parser.peek() === '.' && isDigit(parser.peek(1))) {
      parser.position++;
      while (parser.peekIsDigit()) parser.position++;
    }
    node = worded(CLONE, parser.source.slice(start, parser.position), node);
  }
  return node;
}

function isSequenceLetter(letter: string): boolean {
  return (letter >= 'A' && letter <= 'Z') || isDigit(letter);
}

function isWordCharacter(letter: string): boolean {
  return (letter >= 'a' && letter <= 'z') || letter === '_' || isDigit(letter);
}

function isDigit(letter: string): boolean {
  return letter >= '0' && letter <= '9';
}
