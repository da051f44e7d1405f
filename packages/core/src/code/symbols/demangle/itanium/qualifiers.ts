/**
 * const, volatile, restrict, and what only functions have: noexcept, throw, & and &&
 * (Itanium C++ ABI 5.1.5.1, 5.1.5.3).
 */
import { readExpression } from './expressions.ts';
import { ARGUMENTS, FUNCTION_QUALIFIER, listed, type Node, QUALIFIER, worded } from './node.ts';
import type { Parser } from './parser.ts';
import { readParameters } from './types.ts';

export interface Qualifier {
  readonly text: string;
  readonly operand: Node | null;
  /** Only functions have it, so it is one of a function wherever it stands. */
  readonly ofFunction: boolean;
}

const NO_QUALIFIERS: readonly Qualifier[] = [];
const RESTRICT: Qualifier = { text: ' restrict', operand: null, ofFunction: false };
const VOLATILE: Qualifier = { text: ' volatile', operand: null, ofFunction: false };
const CONST: Qualifier = { text: ' const', operand: null, ofFunction: false };

/** Any number, in the order in which they stand. */
export function readQualifiers(parser: Parser): readonly Qualifier[] {
  let qualifiers: Qualifier[] | null = null;
  for (;;) {
    const qualifier = readQualifier(parser);
    if (qualifier === null) return qualifiers ?? NO_QUALIFIERS;
    if (qualifiers === null) qualifiers = [qualifier];
    else qualifiers.push(qualifier);
  }
}

function readQualifier(parser: Parser): Qualifier | null {
  switch (parser.peek()) {
    case 'r':
      parser.position++;
      return RESTRICT;
    case 'V':
      parser.position++;
      return VOLATILE;
    case 'K':
      parser.position++;
      return CONST;
    default:
      return startsFunctionQualifier(parser) ? readFunctionQualifier(parser) : null;
  }
}

export function startsFunctionQualifier(parser: Parser): boolean {
  if (parser.peek() !== 'D') return false;
  const letter = parser.peek(1);
  return letter === 'x' || letter === 'o' || letter === 'O' || letter === 'w';
}

/** Dx, Do, DO <expression> E, Dw <type>+ E */
function readFunctionQualifier(parser: Parser): Qualifier {
  parser.position++;
  let text = ' noexcept';
  let operand: Node | null = null;
  switch (parser.next()) {
    case 'x':
      text = ' transaction_safe';
      break;
    case 'O':
      operand = readExpression(parser);
      parser.expect('E');
      break;
    case 'w':
      text = ' throw';
      operand = listed(ARGUMENTS, readParameters(parser));
      parser.expect('E');
      break;
  }
  return { text, operand, ofFunction: true };
}

/** The first qualifier is the outermost. */
export function qualify(base: Node, qualifiers: readonly Qualifier[], isFunction: boolean): Node {
  let node = base;
  for (let i = qualifiers.length - 1; i >= 0; i--) {
    const { text, operand, ofFunction } = qualifiers[i]!;
    node = worded(isFunction || ofFunction ? FUNCTION_QUALIFIER : QUALIFIER, text, node, operand);
  }
  return node;
}

/** R or O before what follows the function; '' for none. */
export function readReferenceQualifier(parser: Parser): string {
  if (parser.accept('R')) return ' &';
  return parser.accept('O') ? ' &&' : '';
}
