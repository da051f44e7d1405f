/** Which function writes which kind of node. */
import * as kinds from './node.ts';
import {
  printArguments,
  printConceptThenWord,
  printDecltype,
  printExpansion,
  printExpression,
  printFunctionParameter,
  printInitializer,
  printLiteral,
  printRequirement,
  printRequires,
  printSizedType,
  printStringLiteral,
  printSubobject,
  printVendorExpression,
  printVendorType,
} from './print-expressions.ts';
import {
  printBinding,
  printClone,
  printConstrained,
  printConversion,
  printDeclaredParameter,
  printDestructor,
  printFriend,
  printInModule,
  printInner,
  printLambda,
  printModule,
  printOperator,
  printPair,
  printQualified,
  printSpecial,
  printTagged,
  printTemplate,
  printTemplateArguments,
  printTemplateParameter,
  printText,
  printTyped,
  printUnnamed,
  printVendorOperator,
} from './print-names.ts';
import {
  printArray,
  printDeclarator,
  printFunction,
  printQualifier,
  printReference,
  printRightDeclarator,
} from './print-types.ts';
import { type NodeWriter, Printer } from './printer.ts';

const TABLE: readonly (readonly [kind: number, writer: NodeWriter])[] = [
  [kinds.NAME, printText],
  [kinds.STANDARD, printText],
  [kinds.TAGGED, printTagged],
  [kinds.BINDING, printBinding],
  [kinds.IN_MODULE, printInModule],
  [kinds.MODULE, printModule],
  [kinds.QUALIFIED, printQualified],
  [kinds.LOCAL, printQualified],
  [kinds.DEFAULT_ARGUMENT, printInner],
  [kinds.TYPED, printTyped],
  [kinds.TEMPLATE, printTemplate],
  [kinds.TEMPLATE_ARGUMENTS, printTemplateArguments],
  [kinds.TEMPLATE_PARAMETER, printTemplateParameter],
  [kinds.CONSTRUCTOR, printInner],
  [kinds.DESTRUCTOR, printDestructor],
  [kinds.OPERATOR, printOperator],
  [kinds.VENDOR_OPERATOR, printVendorOperator],
  [kinds.CONVERSION, printConversion],
  [kinds.LAMBDA, printLambda],
  [kinds.UNNAMED, printUnnamed],
  [kinds.DECLARED_PARAMETER, printDeclaredParameter],
  [kinds.CONSTRAINED, printConstrained],
  [kinds.FRIEND, printFriend],
  [kinds.SPECIAL, printSpecial],
  [kinds.PAIR, printPair],
  [kinds.CLONE, printClone],
  [kinds.BUILTIN, printText],
  [kinds.VENDOR_TYPE, printVendorType],
  [kinds.FUNCTION, printFunction],
  [kinds.ARRAY, printArray],
  [kinds.MEMBER_POINTER, printRightDeclarator],
  [kinds.VECTOR, printRightDeclarator],
  [kinds.EXPANSION, printExpansion],
  [kinds.DECLTYPE, printDecltype],
  [kinds.QUALIFIER, printQualifier],
  [kinds.FUNCTION_QUALIFIER, printDeclarator],
  [kinds.VENDOR_QUALIFIER, printDeclarator],
  [kinds.COMPLEX, printDeclarator],
  [kinds.POINTER, printDeclarator],
  [kinds.REFERENCE, printReference],
  [kinds.RVALUE_REFERENCE, printReference],
  [kinds.CONSTRAINED_AUTO, printConceptThenWord],
  [kinds.SIZED_TYPE, printSizedType],
  [kinds.EXPRESSION, printExpression],
  [kinds.CAST, printConversion],
  [kinds.LITERAL, printLiteral],
  [kinds.ARGUMENTS, printArguments],
  [kinds.INITIALIZER, printInitializer],
  [kinds.VENDOR_EXPRESSION, printVendorExpression],
  [kinds.FUNCTION_PARAMETER, printFunctionParameter],
  [kinds.REQUIRES, printRequires],
  [kinds.REQUIREMENT, printRequirement],
  [kinds.STRING_LITERAL, printStringLiteral],
  [kinds.SUBOBJECT, printSubobject],
];

/** By kind. A table costs less than a switch over imported names. */
const WRITERS: NodeWriter[] = new Array<NodeWriter>(kinds.KIND_COUNT).fill(printInnerOnly);
for (const [kind, writer] of TABLE) WRITERS[kind] = writer;

/** Kinds that the printer meets only through their owner (the head of a lambda). */
function printInnerOnly(): void {}

export function printTree(root: kinds.Node): string {
  const printer = new Printer(WRITERS);
  printer.print(root);
  return printer.text;
}
