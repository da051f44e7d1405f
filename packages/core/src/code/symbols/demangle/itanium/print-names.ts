/** Names, scopes, templates and what is said about them. */
import {
  DEFAULT_ARGUMENT,
  FUNCTION_QUALIFIER,
  LOCAL,
  type Node,
  TEMPLATE,
  type TemplateScope,
  TYPED,
} from './node.ts';
import { MALFORMED } from './parser.ts';
import { writeDeclarator } from './print-types.ts';
import type { Pending, Printer } from './printer.ts';
import { lookUpArgument } from './template-scope.ts';

export function printText(printer: Printer, node: Node): void {
  printer.write(node.text);
}

/** left::right */
export function printQualified(printer: Printer, node: Node): void {
  printer.print(node.left);
  printer.write('::');
  printLocalPart(printer, node.right!, false);
}

/**
 * What stands in a function, maybe in one of its default arguments; without its qualifiers where those wait.
 */
export function printLocalPart(printer: Printer, part: Node, qualifiersWait: boolean): void {
  let node = part;
  if (node.kind === DEFAULT_ARGUMENT) {
    printer.write(`{default arg#${node.value + 1}}::`);
    node = node.left!;
  }
  if (qualifiersWait) while (node.kind === FUNCTION_QUALIFIER) node = node.left!;
  printer.print(node);
}

/**
 * A function: its name waits like a declarator, so that the type can write it between result and parameters.
 */
export function printTyped(printer: Printer, node: Node): void {
  const outerPending = printer.pending;
  const { templates } = printer;
  const entries: Pending[] = [];
  const wait = (declarator: Node, next: Pending | null) => {
    const entry: Pending = { next, node: declarator, templates, written: false };
    entries.push(entry);
    return entry;
  };
  let name = node.left!;
  let list: Pending | null = null;
  for (; name.kind === FUNCTION_QUALIFIER; name = name.left!) list = wait(name, list);
  if (name.kind === LOCAL) {
    // The qualifiers of a local class's member stand on the right side of the local name.
    let member = name.right!;
    if (member.kind === DEFAULT_ARGUMENT) member = member.left!;
    for (; member.kind === FUNCTION_QUALIFIER; member = member.left!) list = wait(member, list);
  }
  printer.pending = wait(name, list);
  printer.templates = scopeOfFunction(name, templates);
  printer.print(node.right);
  printer.templates = templates;
  for (let i = entries.length - 1; i >= 0; i--) {
    if (entries[i]!.written) continue;
    printer.write(' ');
    writeDeclarator(printer, entries[i]!.node);
  }
  printer.pending = outerPending;
}

/** The arguments of a function template apply to its type and to what it requires. */
function scopeOfFunction(name: Node, outer: TemplateScope | null): TemplateScope | null {
  let owner = name;
  while (owner.kind === FUNCTION_QUALIFIER) owner = owner.left!;
  if (owner.kind === LOCAL) owner = owner.right!;
  if (owner.kind === DEFAULT_ARGUMENT) owner = owner.left!;
  while (owner.kind === FUNCTION_QUALIFIER) owner = owner.left!;
  return owner.kind === TEMPLATE ? { next: outer, template: owner } : outer;
}

/** A template is a name: no declarator from outside may get into it. */
export function printTemplate(printer: Printer, node: Node): void {
  const { pending, currentTemplate } = printer;
  printer.pending = null;
  printer.currentTemplate = node;
  printer.print(node.left);
  printer.printTemplateArguments(node.right);
  printer.pending = pending;
  printer.currentTemplate = currentTemplate;
}

export function printTemplateArguments(printer: Printer, node: Node): void {
  printer.printList(node.items);
}

export function printTemplateParameter(printer: Printer, node: Node): void {
  if (printer.lambdaParameters > 0) {
    const declared = printer.lambdaHead[node.value];
    if (declared !== undefined && printer.lambdaParameters > node.value + 1)
      printer.write(`${declared.text}${node.value}`);
    else printer.write(`auto:${node.value + 1}`);
    return;
  }
  const argument = lookUpArgument(printer, node);
  if (argument === null) throw MALFORMED;
  // The argument was written outside of the template, so its own parameters are those
  // of the next template around.
  const { templates } = printer;
  printer.templates = templates!.next;
  printer.print(argument);
  printer.templates = templates;
}

export function printDestructor(printer: Printer, node: Node): void {
  printer.write('~');
  printer.print(node.left);
}

export function printInner(printer: Printer, node: Node): void {
  printer.print(node.left);
}

export function printTagged(printer: Printer, node: Node): void {
  printer.print(node.left);
  printer.write('[abi:');
  printer.print(node.right);
  printer.write(']');
}

export function printBinding(printer: Printer, node: Node): void {
  printer.write('[');
  printer.printList(node.items);
  printer.write(']');
}

export function printInModule(printer: Printer, node: Node): void {
  printer.print(node.left);
  printer.write('@');
  printer.print(node.right);
}

export function printModule(printer: Printer, node: Node): void {
  if (node.left !== null) printer.print(node.left);
  if (node.left !== null || node.text === ':') printer.write(node.text);
  printer.print(node.right);
}

export function printFriend(printer: Printer, node: Node): void {
  printer.write('friend ');
  printer.print(node.left);
}

export function printConstrained(printer: Printer, node: Node): void {
  const { templates } = printer;
  const encoding = node.left!;
  printer.print(encoding);
  printer.templates = scopeOfFunction(encoding.kind === TYPED ? encoding.left! : encoding, templates);
  writeRequires(printer, node.right!);
  printer.templates = templates;
}

function writeRequires(printer: Printer, constraint: Node): void {
  printer.write(' requires ');
  printer.print(constraint);
}

export function printSpecial(printer: Printer, node: Node): void {
  printer.write(node.text);
  printer.print(node.left);
}

export function printPair(printer: Printer, node: Node): void {
  printer.print(node.left);
  printer.write(node.text);
  printer.print(node.right);
}

export function printClone(printer: Printer, node: Node): void {
  printer.print(node.left);
  printer.write(` [clone ${node.text}]`);
}

export function printUnnamed(printer: Printer, node: Node): void {
  printer.write(`{unnamed type#${node.value + 1}}`);
}

/** GCC calls the parameters `auto:1`, or `$T0`, `$N1`, `$TT2` where the lambda declares them itself. */
export function printLambda(printer: Printer, node: Node): void {
  const { lambdaParameters, lambdaHead } = printer;
  printer.write('{lambda');
  printer.lambdaParameters = 0;
  if (node.right !== null) {
    printer.lambdaHead = node.right.items;
    printer.write('<');
    for (const declared of node.right.items) {
      if (printer.lambdaParameters++ > 0) printer.write(', ');
      printer.print(declared);
      printer.write(` ${declared.text}${printer.lambdaParameters - 1}`);
    }
    printer.write('>');
  }
  printer.lambdaParameters++;
  if (node.right !== null && node.right.left !== null) {
    writeRequires(printer, node.right.left);
    printer.write(' ');
  }
  printer.write('(');
  printer.printList(node.items);
  printer.write(')');
  if (node.left !== null) writeRequires(printer, node.left);
  printer.write(`#${node.value + 1}}`);
  printer.lambdaParameters = lambdaParameters;
  printer.lambdaHead = lambdaHead;
}

export function printDeclaredParameter(printer: Printer, node: Node): void {
  if (node.text === '$TT') {
    printer.write('template<');
    printer.printList(node.items);
    printer.write('> class');
  } else if (node.left !== null) printer.print(node.left);
  else printer.write('typename');
  if (node.value === 1) printer.write('...');
}

/** `operator` and the token, with a space before words such as `new`. */
export function printOperator(printer: Printer, node: Node): void {
  const token = node.text.trimEnd();
  printer.write(token >= 'a' && token < '{' ? `operator ${token}` : `operator${token}`);
}

export function printVendorOperator(printer: Printer, node: Node): void {
  printer.write('operator ');
  printer.print(node.left);
}

export function printConversion(printer: Printer, node: Node): void {
  printer.write('operator ');
  printConversionType(printer, node);
}

/**
 * The type of a conversion function or cast. The function is written before the template's arguments that its
 * type may use are known, so they are looked up in the template whose name is being written.
 */
export function printConversionType(printer: Printer, node: Node): void {
  const { templates, currentTemplate } = printer;
  const type = node.left!;
  if (currentTemplate !== null) printer.templates = { next: templates, template: currentTemplate };
  if (type.kind !== TEMPLATE) {
    printer.print(type);
    printer.templates = templates;
    return;
  }
  printer.print(type.left);
  printer.templates = templates;
  printer.printTemplateArguments(type.right);
}
