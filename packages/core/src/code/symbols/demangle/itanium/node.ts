/**
 * The tree between reading and printing a C++ name. One class for all nodes, so that V8 sees a single shape;
 * what the fields mean is said beside each kind. Template parameters stay unresolved in the tree: the
 * printer looks them up in the template it is inside of, because the same node, reached by a substitution,
 * may stand for different types.
 */

// --- Names
/** `text` */
export const NAME = 0;
/** A standard abbreviation such as `std::string`: `text` */
export const STANDARD = 1;
/** `left` [abi:`right`] */
export const TAGGED = 2;
/** [`items`]: the names of a structured binding */
export const BINDING = 3;
/** `left`@`right`: a name attached to a module */
export const IN_MODULE = 4;
/** `left` (the parent module, or null), `text` (`.` or `:`), `right` (a name) */
export const MODULE = 5;
/** `left`::`right` */
export const QUALIFIED = 6;
/** `left`::`right`, where `left` is the function whose local entity `right` is */
export const LOCAL = 7;
/** {default arg#`value`}::`left` */
export const DEFAULT_ARGUMENT = 8;
/** `left` (a name) with `right` (its function type) */
export const TYPED = 9;
/** `left`<`right`>; `right` is TEMPLATE_ARGUMENTS */
export const TEMPLATE = 10;
/** `items`: the arguments of a template, or of a pack inside of them */
export const TEMPLATE_ARGUMENTS = 11;
/** `value` is the index into the arguments of the template around it */
export const TEMPLATE_PARAMETER = 12;
/** `left` is the class's own name */
export const CONSTRUCTOR = 13;
export const DESTRUCTOR = 14;
/** `text` is the token, `value` the row of OPERATORS */
export const OPERATOR = 15;
/** `left` is the name, `value` the number of operands */
export const VENDOR_OPERATOR = 16;
/** operator `left`: a conversion function */
export const CONVERSION = 17;
/** {lambda`right`(`items`) requires `left`#`value`}; `right` is null or a TEMPLATE_HEAD */
export const LAMBDA = 18;
/** {unnamed type#`value`} */
export const UNNAMED = 19;
/** <`items`> requires `left`: the declared template parameters of a lambda */
export const TEMPLATE_HEAD = 20;
/**
 * One declared parameter: `text` is `typename`, `template` or empty; `left` the
 * type, head or parameter inside
 */
export const DECLARED_PARAMETER = 21;
/** `left` requires `right` */
export const CONSTRAINED = 22;
/** A friend declared in the class before it: `left` */
export const FRIEND = 23;
/** `text` `left`: "vtable for " and its kin */
export const SPECIAL = 24;
/** `left` `text` `right` */
export const PAIR = 25;
/** `left` [clone `text`] */
export const CLONE = 26;

// --- Types
/** `text`; `value` tells how a literal of this type prints (LITERAL_…) */
export const BUILTIN = 27;
/** `left` is the name, `right` null or its TEMPLATE_ARGUMENTS */
export const VENDOR_TYPE = 28;
/** `left` the result (or null), `items` the parameters */
export const FUNCTION = 29;
/** `left` the size (or null), `right` the element */
export const ARRAY = 30;
/** `left` the class, `right` the member's type */
export const MEMBER_POINTER = 31;
/** `left` the size, `right` the element */
export const VECTOR = 32;
/** `left` the pattern */
export const EXPANSION = 33;
/** `left` the expression */
export const DECLTYPE = 34;
/** `text` (` const`, ` volatile`, ` restrict`), `left` the type */
export const QUALIFIER = 35;
/** `text` (` const`, ` &`, ` noexcept`, …), `left` what it applies to, `right` its operand or null */
export const FUNCTION_QUALIFIER = 36;
/** `right` the vendor's word, `left` the type */
export const VENDOR_QUALIFIER = 37;
/** `text` (` _Complex`, ` _Imaginary`), `left` the type */
export const COMPLEX = 38;
export const POINTER = 39;
export const REFERENCE = 40;
export const RVALUE_REFERENCE = 41;
/** `left` (the concept) then `text`: a constrained `auto` */
export const CONSTRAINED_AUTO = 42;
/** `text`(`left`): `_BitInt` and its kin, the size an expression */
export const SIZED_TYPE = 43;

// --- Expressions
/** `left` the operator, `items` the operands; `value` is 1 for a suffix operator */
export const EXPRESSION = 44;
/** (`left`)`items`: a cast, used as an operator */
export const CAST = 45;
/** `left` the type, `text` the digits as they stand, `value` 1 where negative */
export const LITERAL = 46;
/** `items`, as in a call */
export const ARGUMENTS = 47;
/** `left` the type (or null), `items` */
export const INITIALIZER = 48;
/** `left` the name, `right` TEMPLATE_ARGUMENTS */
export const VENDOR_EXPRESSION = 49;
/** `value` 0 is `this`, else the parameter's number from 1 */
export const FUNCTION_PARAMETER = 50;
/** requires `left` (parameters or null) { `items` } */
export const REQUIRES = 51;
/**
 * One requirement: `left` the expression or type, `value` 1 where noexcept,
 * `right` the constraint on its result
 */
export const REQUIREMENT = 52;

/** "<`left`>": a string literal, known only by its type */
export const STRING_LITERAL = 53;
/** `left`.<`right` at offset `value`> */
export const SUBOBJECT = 54;

export const KIND_COUNT = 55;

const NO_ITEMS: readonly Node[] = [];

/** The templates around the place being printed, innermost first. */
export interface TemplateScope {
  readonly next: TemplateScope | null;
  readonly template: Node;
}

export class Node {
  readonly kind: number;
  readonly left: Node | null;
  readonly right: Node | null;
  readonly items: readonly Node[];
  readonly text: string;
  readonly value: number;
  /** How many times this node is being printed right now: a name that contains itself would never end. */
  active = 0;
  /** The templates around it when it was first printed below a reference; undefined before. */
  scope: TemplateScope | null | undefined = undefined;

  constructor(
    kind: number,
    left: Node | null,
    right: Node | null,
    text: string,
    value: number,
    items: readonly Node[],
  ) {
    this.kind = kind;
    this.left = left;
    this.right = right;
    this.text = text;
    this.value = value;
    this.items = items;
  }
}

/** A node with up to two children. */
export function branch(kind: number, left: Node | null, right: Node | null = null, value = 0): Node {
  return new Node(kind, left, right, '', value, NO_ITEMS);
}

/** A node that carries a word, and what the word applies to. */
export function worded(
  kind: number,
  text: string,
  left: Node | null = null,
  right: Node | null = null,
): Node {
  return new Node(kind, left, right, text, 0, NO_ITEMS);
}

export function numbered(kind: number, value: number, text = ''): Node {
  return new Node(kind, null, null, text, value, NO_ITEMS);
}

/** A node with a list, and what stands before it. */
export function listed(kind: number, items: readonly Node[], left: Node | null = null, value = 0): Node {
  return new Node(kind, left, null, '', value, items);
}
