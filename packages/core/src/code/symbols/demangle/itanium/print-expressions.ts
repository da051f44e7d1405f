/**
 * Expressions, with the parentheses that GCC's library puts around every operand that is not a plain name.
 */
import { LITERAL_BOOL, LITERAL_FLOAT, LITERAL_SUFFIXED, LITERAL_SUFFIXES } from './builtin-types.ts';
import {
  BUILTIN,
  CAST,
  EXPANSION,
  EXPRESSION,
  FUNCTION,
  FUNCTION_PARAMETER,
  INITIALIZER,
  NAME,
  type Node,
  OPERATOR,
  QUALIFIED,
  TYPED,
} from './node.ts';
import { OPERATORS } from './operators.ts';
import { printConversionType } from './print-names.ts';
import type { Printer } from './printer.ts';
import { findPack } from './template-scope.ts';

export function printExpression(printer: Printer, node: Node): void {
  const operator = node.left!;
  const code = operator.kind === OPERATOR ? OPERATORS[operator.value]!.code : '';
  const [first, second, third] = node.items;
  if (first === undefined) writeOperator(printer, operator);
  else if (code === 'nw' || code === 'na') printNew(printer, operator, node.items);
  else if (code === 'fl' || code === 'fr' || code === 'fL' || code === 'fR')
    printFold(printer, code, node.items);
  else if (code === 'di' || code === 'dx' || code === 'dX') printDesignated(printer, code, node.items);
  else if (second === undefined) printUnary(printer, node, operator, code, first);
  else if (third === undefined) printBinary(printer, operator, code, first, second);
  else {
    printOperand(printer, first);
    writeOperator(printer, operator);
    printOperand(printer, second);
    printer.write(' : ');
    printOperand(printer, third);
  }
}

function printUnary(printer: Printer, node: Node, operator: Node, code: string, first: Node): void {
  let operand = first;
  switch (code) {
    case 'ad':
      // The address of a member function: without its parameters.
      if (operand.kind === TYPED && operand.left!.kind === QUALIFIED && operand.right!.kind === FUNCTION)
        operand = operand.left!;
      break;
    case 'sZ':
      printer.write(String(findPack(printer, operand)?.items.length ?? 0));
      return;
    case 'sP':
      printer.write(String(argumentCount(printer, operand)));
      return;
    case 'gs':
      printer.write('::');
      printer.print(operand);
      return;
    case 'st':
    case 'ti':
    case 'nx':
      printer.write(operator.text);
      printInParentheses(printer, operand);
      return;
  }
  if (node.value === 1) {
    printOperand(printer, operand);
    writeOperator(printer, operator);
    return;
  }
  if (operator.kind === CAST) {
    printer.write('(');
    printConversionType(printer, operator);
    printer.write(')');
  } else writeOperator(printer, operator);
  printOperand(printer, operand);
}

/** The number of template arguments, with the packs in them counted out. */
function argumentCount(printer: Printer, list: Node): number {
  let count = 0;
  for (const item of list.items) {
    printer.step();
    if (item.kind === EXPANSION) count += findPack(printer, item.left)?.items.length ?? 0;
    else count++;
  }
  return count;
}

function printBinary(printer: Printer, operator: Node, code: string, left: Node, right: Node): void {
  switch (code) {
    case 'cc':
    case 'dc':
    case 'rc':
    case 'sc':
      printer.write(`${operator.text}<`);
      printer.print(left);
      printer.write('>(');
      printer.print(right);
      printer.write(')');
      return;
    case 'cl':
      // Of a function called by name only the name, not its type.
      printOperand(printer, left.kind === TYPED ? left.left! : left);
      printOperand(printer, right);
      return;
    case 'ix':
      printOperand(printer, left);
      printer.write('[');
      printer.print(right);
      printer.write(']');
      return;
    case 'gt':
      // Else it would end the template arguments.
      printer.write('(');
      printOperand(printer, left);
      printer.write('>');
      printOperand(printer, right);
      printer.write(')');
      return;
    default:
      printOperand(printer, left);
      writeOperator(printer, operator);
      printOperand(printer, right);
  }
}

function printNew(printer: Printer, operator: Node, [placement, type, initializer]: readonly Node[]): void {
  printer.write(`${operator.text} `);
  if (placement!.items.length > 0) {
    printOperand(printer, placement!);
    printer.write(' ');
  }
  printer.print(type!);
  if (initializer !== undefined) printOperand(printer, initializer);
}

/** (... + x), (x + ...), (init + ... + x): the pack stands whole. */
function printFold(printer: Printer, code: string, [operator, first, second]: readonly Node[]): void {
  const { packIndex } = printer;
  printer.packIndex = -1;
  printer.write('(');
  if (code === 'fl') {
    printer.write('...');
    writeOperator(printer, operator!);
    printOperand(printer, first!);
  } else {
    printOperand(printer, first!);
    writeOperator(printer, operator!);
    printer.write('...');
    if (code !== 'fr') {
      writeOperator(printer, operator!);
      printOperand(printer, second!);
    }
  }
  printer.write(')');
  printer.packIndex = packIndex;
}

/** .member=value, [index]=value, [first ... last]=value; designators in a row share one `=`. */
function printDesignated(printer: Printer, code: string, [first, second, third]: readonly Node[]): void {
  printer.write(code === 'di' ? '.' : '[');
  printer.print(first!);
  if (code === 'dX') {
    printer.write(' ... ');
    printer.print(second!);
  }
  if (code !== 'di') printer.write(']');
  const value = code === 'dX' ? third! : second!;
  if (isDesignated(value)) printer.print(value);
  else {
    printer.write('=');
    printOperand(printer, value);
  }
}

function isDesignated(node: Node): boolean {
  if (node.kind !== EXPRESSION || node.left!.kind !== OPERATOR) return false;
  const { code } = OPERATORS[node.left!.value]!;
  return code === 'di' || code === 'dx' || code === 'dX';
}

function writeOperator(printer: Printer, operator: Node): void {
  if (operator.kind === OPERATOR) printer.write(operator.text);
  else printer.print(operator);
}

/** In parentheses, unless nothing could go wrong without. */
export function printOperand(printer: Printer, node: Node): void {
  switch (node.kind) {
    case NAME:
    case QUALIFIED:
    case INITIALIZER:
    case FUNCTION_PARAMETER:
      printer.print(node);
      break;
    default:
      printInParentheses(printer, node);
  }
}

function printInParentheses(printer: Printer, node: Node): void {
  printer.write('(');
  printer.print(node);
  printer.write(')');
}

export function printArguments(printer: Printer, node: Node): void {
  printer.printList(node.items);
}

export function printInitializer(printer: Printer, node: Node): void {
  if (node.left !== null) printer.print(node.left);
  printer.write('{');
  printer.printList(node.items);
  printer.write('}');
}

/** Writes a literal as C++ does if its type has a suffix. Otherwise it is a cast of the digits. */
export function printLiteral(printer: Printer, node: Node): void {
  const type = node.left!;
  const style = type.kind === BUILTIN ? type.value : 0;
  const digits = node.value === 1 ? `-${node.text}` : node.text;
  if (style >= LITERAL_SUFFIXED) {
    printer.write(digits + LITERAL_SUFFIXES[style - LITERAL_SUFFIXED]!);
    return;
  }
  if (style === LITERAL_BOOL && (digits === '0' || digits === '1')) {
    printer.write(digits === '0' ? 'false' : 'true');
    return;
  }
  printer.write('(');
  printer.print(type);
  printer.write(')');
  if (style !== LITERAL_FLOAT) printer.write(digits);
  else printer.write(node.value === 1 ? `-[${node.text}]` : `[${node.text}]`);
}

export function printStringLiteral(printer: Printer, node: Node): void {
  printer.write('"<');
  printer.print(node.left);
  printer.write('>"');
}

export function printVendorExpression(printer: Printer, node: Node): void {
  printer.print(node.left);
  printInParentheses(printer, node.right!);
}

export function printFunctionParameter(printer: Printer, node: Node): void {
  printer.write(node.value === 0 ? 'this' : `{parm#${node.value}}`);
}

export function printDecltype(printer: Printer, node: Node): void {
  printer.write('decltype (');
  printer.print(node.left);
  printer.write(')');
}

/**
 * The pattern for each element of the pack; as it stands with `...` where the pack
 * is one of function parameters.
 */
export function printExpansion(printer: Printer, node: Node): void {
  const pack = printer.lambdaParameters > 0 ? null : findPack(printer, node.left);
  if (pack === null) {
    printOperand(printer, node.left!);
    printer.write('...');
    return;
  }
  const { length } = pack.items;
  for (let i = 0; i < length; i++) {
    printer.packIndex = i;
    printer.print(node.left);
    if (i < length - 1) printer.write(', ');
  }
}

export function printSizedType(printer: Printer, node: Node): void {
  printer.write(node.text);
  printInParentheses(printer, node.left!);
}

/** A constrained `auto`, or one argument of a vendor's type. */
export function printConceptThenWord(printer: Printer, node: Node): void {
  printer.print(node.left);
  printer.write(node.text);
}

export function printVendorType(printer: Printer, node: Node): void {
  printer.print(node.left);
  if (node.right !== null) printInParentheses(printer, node.right);
}

export function printSubobject(printer: Printer, node: Node): void {
  printOperand(printer, node.left!);
  printer.write('.<');
  printer.print(node.right);
  printer.write(` at offset ${node.value}>`);
}

export function printRequires(printer: Printer, node: Node): void {
  printer.write('requires ');
  if (node.left !== null) {
    printInParentheses(printer, node.left);
    printer.write(' ');
  }
  printer.write('{ ');
  for (const item of node.items) {
    printer.print(item);
    printer.write('; ');
  }
  printer.write('}');
}

/** expression, { expression } noexcept -> concept, typename T, requires C */
export function printRequirement(printer: Printer, node: Node): void {
  const isCompound = node.text === '{';
  printer.write(isCompound ? '{' : node.text);
  printer.print(node.left);
  if (isCompound) printer.write('}');
  if (node.value === 1) printer.write(' noexcept');
  if (node.right === null) return;
  printer.write(' -> ');
  printer.print(node.right);
}
