/**
 * Types. C++ writes a declarator around the name and inside out, so pointers, arrays and
 * functions are put on a list of those that wait (`printer.pending`, innermost first) until the
 * type at the bottom has been written:
 *
 *   pointer to array 3 of int    print(pointer) -> print(array) -> print(int): "int"
 *                                array: something waits, so " (" the waiting "*" ")"  then " [3]"
 */
import {
  ARRAY,
  COMPLEX,
  FUNCTION,
  FUNCTION_QUALIFIER,
  LOCAL,
  MEMBER_POINTER,
  type Node,
  POINTER,
  QUALIFIER,
  REFERENCE,
  RVALUE_REFERENCE,
  TEMPLATE_PARAMETER,
  type TemplateScope,
  TYPED,
  VECTOR,
  VENDOR_QUALIFIER,
} from './node.ts';
import { MALFORMED } from './parser.ts';
import { printLocalPart } from './print-names.ts';
import type { Pending, Printer } from './printer.ts';
import { lookUpArgument } from './template-scope.ts';

/** A declarator that is written right after the type, unless that type found a better place. */
export function printDeclarator(printer: Printer, node: Node): void {
  printDeclaratorOf(printer, node, node.left);
}

/** The same for those whose inner type is the right child: members, vectors. */
export function printRightDeclarator(printer: Printer, node: Node): void {
  printDeclaratorOf(printer, node, node.right);
}

function printDeclaratorOf(printer: Printer, node: Node, inner: Node | null): void {
  const entry = printer.printBelow(node, inner);
  if (!entry.written) writeDeclarator(printer, node);
}

/**
 * const, volatile and restrict may come twice, once from an array and once from its elements: written once.
 */
export function printQualifier(printer: Printer, node: Node): void {
  for (let entry = printer.pending; entry !== null; entry = entry.next) {
    if (entry.written) continue;
    if (entry.node.kind !== QUALIFIER) break;
    if (entry.node.text === node.text) {
      printer.print(node.left);
      return;
    }
  }
  printDeclarator(printer, node);
}

/** A reference to a reference is one reference; `&&` only if both are. */
export function printReference(printer: Printer, node: Node): void {
  const outer = printer.templates;
  let target = node.left!;
  if (printer.lambdaParameters === 0 && target.kind === TEMPLATE_PARAMETER) {
    printer.templates = scopeForReference(printer, node, target);
    const argument = lookUpArgument(printer, target);
    if (argument === null) throw MALFORMED;
    target = argument;
  }
  if (target.kind === REFERENCE || target.kind === node.kind) printDeclaratorOf(printer, target, target.left);
  else printDeclaratorOf(printer, node, target.kind === RVALUE_REFERENCE ? target.left : node.left);
  printer.templates = outer;
}

/**
 * A parameter below a reference, met again through a substitution, stands for what it stood for the first
 * time, not for an argument of the template that the substitution happens to be in.
 */
function scopeForReference(printer: Printer, reference: Node, parameter: Node): TemplateScope | null {
  if (parameter.scope === undefined) {
    parameter.scope = printer.templates;
    return printer.templates;
  }
  const { path } = printer;
  for (let i = path.length - 1; i >= 0; i--) {
    // The last node of the path is this very visit of the reference.
    if (path[i] === parameter || (path[i] === reference && i < path.length - 1)) return printer.templates;
  }
  return parameter.scope;
}

export function printFunction(printer: Printer, node: Node): void {
  if (node.left !== null) {
    // The result may itself be a pointer to function, which is written around this one.
    const entry = printer.printBelow(node, node.left);
    if (entry.written) return;
    printer.write(' ');
  }
  writeFunction(printer, node, printer.pending);
}

export function printArray(printer: Printer, node: Node): void {
  const outer = printer.pending;
  const own: Pending = { next: outer, node, templates: printer.templates, written: false };
  printer.pending = own;
  // A qualified array is an array of qualified elements.
  const moved: Pending[] = [];
  for (let entry = outer; entry !== null && entry.node.kind === QUALIFIER; entry = entry.next) {
    if (entry.written) continue;
    entry.written = true;
    const copy: Pending = {
      next: printer.pending,
      node: entry.node,
      templates: entry.templates,
      written: false,
    };
    printer.pending = copy;
    moved.push(copy);
  }
  printer.print(node.right);
  printer.pending = outer;
  if (own.written) return;
  for (let i = moved.length - 1; i >= 0; i--) writeDeclarator(printer, moved[i]!.node);
  writeArray(printer, node, outer);
}

/**
 * Those that wait, the innermost first. `after` the parameters come the qualifiers of the function itself.
 */
export function writePending(printer: Printer, first: Pending | null, after: boolean): void {
  const outer = printer.templates;
  for (let entry = first; entry !== null; entry = entry.next) {
    if (entry.written || (!after && entry.node.kind === FUNCTION_QUALIFIER)) continue;
    entry.written = true;
    printer.templates = entry.templates;
    switch (entry.node.kind) {
      case FUNCTION:
        // These write what waits outside of them.
        writeFunction(printer, entry.node, entry.next);
        printer.templates = outer;
        return;
      case ARRAY:
        writeArray(printer, entry.node, entry.next);
        printer.templates = outer;
        return;
      case LOCAL:
        writeLocal(printer, entry.node);
        printer.templates = outer;
        return;
      default:
        writeDeclarator(printer, entry.node);
    }
    printer.templates = outer;
  }
}

/** A local name that waits for its function type: its qualifiers wait as entries of their own. */
function writeLocal(printer: Printer, node: Node): void {
  const { pending } = printer;
  printer.pending = null;
  printer.print(node.left);
  printer.pending = pending;
  printer.write('::');
  printLocalPart(printer, node.right!, true);
}

function writeFunction(printer: Printer, node: Node, waiting: Pending | null): void {
  let parenthesis = false;
  let space = false;
  for (let entry = waiting; entry !== null && !entry.written && !parenthesis; entry = entry.next) {
    switch (entry.node.kind) {
      case POINTER:
      case REFERENCE:
      case RVALUE_REFERENCE:
        parenthesis = true;
        break;
      case QUALIFIER:
      case VENDOR_QUALIFIER:
      case COMPLEX:
      case MEMBER_POINTER:
        parenthesis = true;
        space = true;
    }
  }
  if (parenthesis) {
    if (printer.last !== '(' && printer.last !== '*') space = true;
    if (space && printer.last !== ' ') printer.write(' ');
    printer.write('(');
  }
  const { pending } = printer;
  printer.pending = null;
  writePending(printer, waiting, false);
  printer.write(parenthesis ? ')(' : '(');
  printer.printList(node.items);
  printer.write(')');
  writePending(printer, waiting, true);
  printer.pending = pending;
}

function writeArray(printer: Printer, node: Node, waiting: Pending | null): void {
  let innermost = waiting;
  while (innermost?.written) innermost = innermost.next;
  const ofArray = innermost !== null && innermost.node.kind === ARRAY;
  const parenthesis = innermost !== null && !ofArray;
  if (parenthesis) printer.write(' (');
  writePending(printer, waiting, false);
  if (parenthesis) printer.write(')');
  printer.write(ofArray ? '[' : ' [');
  if (node.left !== null) printer.print(node.left);
  printer.write(']');
}

/** One declarator alone, the inner type being written already. */
export function writeDeclarator(printer: Printer, node: Node): void {
  switch (node.kind) {
    case POINTER:
      printer.write('*');
      break;
    case REFERENCE:
      printer.write('&');
      break;
    case RVALUE_REFERENCE:
      printer.write('&&');
      break;
    case QUALIFIER:
    case COMPLEX:
      printer.write(node.text);
      break;
    case FUNCTION_QUALIFIER:
      printer.write(node.text);
      if (node.right === null) break;
      printer.write('(');
      printer.print(node.right);
      printer.write(')');
      break;
    case VENDOR_QUALIFIER:
      printer.write(' ');
      printer.print(node.right);
      break;
    case MEMBER_POINTER:
      if (printer.last !== '(') printer.write(' ');
      printer.print(node.left);
      printer.write('::*');
      break;
    case TYPED:
      printer.print(node.left);
      break;
    case VECTOR:
      printer.write(' __vector(');
      printer.print(node.left);
      printer.write(')');
      break;
    default:
      // The name of a function, which waits like a declarator.
      printer.print(node);
  }
}
