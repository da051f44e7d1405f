import type { Node } from './node.ts';

/**
 * Thrown, as one prepared object, where a name breaks the grammar or a bound. Never leaves `demangleItanium`.
 */
export class Malformed extends Error {}
export const MALFORMED: Malformed = new Malformed('not a mangled name');

/**
 * Bounds for hostile names. Of a million real ones (Node, LLVM, OpenJDK, cc1plus) none nests deeper than 31;
 * at the limit reading takes a quarter of V8's default stack.
 */
const DEPTH_LIMIT = 256;
/** Real names take half a step per character; only nested conversion operators are read more than once. */
const STEPS_PER_CHARACTER = 8;

const INT_MAX = 0x7fff_ffff;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/**
 * Whether `sr` is followed by the present form of an unresolved name, or that of
 * compilers before the ABI settled.
 */
export const UNRESOLVED_PRESENT = 0;
export const UNRESOLVED_OLD = 1;

/**
 * A cursor over a mangled name and all that reading it has to remember. Moves
 * forward, but for one place in types.
 */
export class Parser {
  readonly source: string;
  position: number;
  /** What `S_`, `S0_`, `S1_`… stand for. */
  substitutions: Node[] = [];
  /** The name that a constructor or destructor takes if it comes next. */
  lastName: Node | null = null;
  /** Inside an expression `cv` is a cast, outside it names a conversion function. */
  inExpression = false;
  inConversion = false;
  /** Print standard types in full (`std::basic_string<char, …>` for `std::string`). */
  readonly verbose: boolean;
  readonly unresolvedForm: number;
  /** Set where the two forms would have been read differently, so that the old one is worth a try. */
  unresolvedSeen = false;
  #depth = 0;
  #stepsLeft: number;

  constructor(source: string, position: number, verbose: boolean, unresolvedForm: number) {
    this.source = source;
    this.position = position;
    this.verbose = verbose;
    this.unresolvedForm = unresolvedForm;
    this.#stepsLeft = STEPS_PER_CHARACTER * (source.length + 8);
  }

  /** The character at the position, or '' at the end. */
  peek(ahead = 0): string {
    return this.source.charAt(this.position + ahead);
  }

  next(): string {
    return this.source.charAt(this.position++);
  }

  get atEnd(): boolean {
    return this.position >= this.source.length;
  }

  /** Steps over `text` if it comes next. */
  accept(text: string): boolean {
    if (!this.source.startsWith(text, this.position)) return false;
    this.position += text.length;
    return true;
  }

  expect(text: string): void {
    if (!this.accept(text)) throw MALFORMED;
  }

  peekIsDigit(): boolean {
    const code = this.source.charCodeAt(this.position);
    return code >= DIGIT_0 && code <= DIGIT_9;
  }

  /** Every rule that can contain itself enters and leaves. */
  enter(): void {
    if (++this.#depth > DEPTH_LIMIT || --this.#stepsLeft < 0) throw MALFORMED;
  }

  leave(): void {
    this.#depth--;
  }

  /** Back to where it was, as if nothing after had been read. What is read again counts as steps. */
  rewind(position: number, substitutionCount: number): void {
    this.#stepsLeft -= this.position - position;
    this.position = position;
    this.substitutions.length = substitutionCount;
  }

  /** <number>: decimal, `n` for minus, 0 where there are no digits. */
  number(): number {
    const negative = this.accept('n');
    let value = 0;
    while (this.peekIsDigit()) {
      value = value * 10 + this.source.charCodeAt(this.position) - DIGIT_0;
      if (value > INT_MAX) throw MALFORMED;
      this.position++;
    }
    return negative ? -value : value;
  }

  /** [<number>] _ as an index: `_` is 0, `0_` is 1 and so on. */
  index(): number {
    if (this.accept('_')) return 0;
    if (this.peek() === 'n') throw MALFORMED;
    const value = this.number() + 1;
    this.expect('_');
    return value;
  }

  substitutable(node: Node): Node {
    this.substitutions.push(node);
    return node;
  }
}
