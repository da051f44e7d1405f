import { cType } from './print-format-types.ts';

/** One expression of a `print fmt:`, as the kernel's C has it. */
export type Expression =
  | { kind: 'number'; value: bigint; isUnsigned: boolean }
  | { kind: 'text'; value: string }
  /** A name the kernel knows and the recording does not say: the value is unknown. */
  | { kind: 'unknown' }
  | { kind: 'field'; name: string }
  | { kind: 'element'; name: string; index: number }
  | { kind: 'unary'; operator: string; of: Expression }
  | { kind: 'binary'; operator: string; left: Expression; right: Expression }
  | { kind: 'choice'; test: Expression; then: Expression; otherwise: Expression }
  | { kind: 'cast'; bits: number; isSigned: boolean; of: Expression }
  /** `__get_str(name)`: text that lies behind the fixed fields. */
  | { kind: 'dynamic-text'; name: string }
  | { kind: 'dynamic-length'; name: string }
  | { kind: 'flags'; of: Expression; separator: string; rows: NamedValue[] }
  | { kind: 'symbol'; of: Expression; rows: NamedValue[] };

export interface NamedValue {
  value: Expression;
  name: string;
}

export interface ParsedPrintFormat {
  text: string;
  arguments: Expression[];
}

/** Far beyond any format of a kernel; a recording may hold anything. */
const MAX_LENGTH = 1 << 17;
const MAX_DEPTH = 200;
/** Operators of a level in a row, on the way to any expression: each makes the tree one deeper. */
const MAX_CHAIN = 1000;

/** Thrown for what is not understood; never leaves this file. */
class NotUnderstood extends Error {}

/**
 * Parse `"prev_comm=%s ...", REC->prev_comm, ...`, or null for what goes beyond C
 * expressions over the record's fields:
 *
 *     choice   := binary [ '?' choice ':' choice ]
 *     unary    := ( '-' | '+' | '!' | '~' | '(' type ')' ) unary | primary
 *     primary  := number | 'c' | "text" | REC->name | function '(' ... ')' | name | '(' choice ')'
 */
export function parsePrintFormat(source: string): ParsedPrintFormat | null {
  if (source.length > MAX_LENGTH) return null;
  try {
    const parser = new Parser(tokens(source));
    return parser.format();
  } catch (error) {
    if (error instanceof NotUnderstood) return null;
    throw error;
  }
}

interface Token {
  kind: 'number' | 'text' | 'name' | 'sign';
  text: string;
}

const TOKEN =
  /\s+|(?<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)|"(?<text>(?:[^"\\]|\\.)*)"|'(?<char>[^'\\]|\\.)'|(?<name>[A-Za-z_]\w*)|(?<sign>->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(),{}[\]])/y;

function tokens(source: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const match = TOKEN.exec(source);
    if (match === null) throw new NotUnderstood();
    const { number, text, char, name, sign } = match.groups!;
    if (number !== undefined) found.push({ kind: 'number', text: number });
    else if (text !== undefined) found.push({ kind: 'text', text: unescaped(text) });
    else if (char !== undefined) found.push({ kind: 'number', text: String(unescaped(char).charCodeAt(0)) });
    else if (name !== undefined) found.push({ kind: 'name', text: name });
    else if (sign !== undefined) found.push({ kind: 'sign', text: sign });
  }
  return found;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0' };

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter);
}

/** With C's suffixes, and C's octal: a leading zero. */
function numberOf(word: string): Expression {
  const digits = word.replace(/[uUlL]+$/, '');
  const text = /^0\d+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  if (/^0o.*[89]/.test(text)) throw new NotUnderstood();
  return { kind: 'number', value: BigInt(text), isUnsigned: /[uU]/.test(word.slice(digits.length)) };
}

/** C's levels, loosest first. */
const LEVELS: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['|'],
  ['^'],
  ['&'],
  ['==', '!='],
  ['<', '>', '<=', '>='],
  ['<<', '>>'],
  ['+', '-'],
  ['*', '/', '%'],
];

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  #chain = 0;

  constructor(list: readonly Token[]) {
    this.#tokens = list;
  }

  format(): ParsedPrintFormat {
    const text = this.#text();
    const list: Expression[] = [];
    while (this.#take(',')) list.push(this.#choice());
    if (this.#at < this.#tokens.length) throw new NotUnderstood();
    return { text, arguments: list };
  }

  #peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#at + ahead];
  }

  #is(sign: string, ahead = 0): boolean {
    const token = this.#peek(ahead);
    return token?.kind === 'sign' && token.text === sign;
  }

  #take(sign: string): boolean {
    if (!this.#is(sign)) return false;
    this.#at++;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#take(sign)) throw new NotUnderstood();
  }

  #word(kind: Token['kind']): string {
    const token = this.#peek();
    if (token?.kind !== kind) throw new NotUnderstood();
    this.#at++;
    return token.text;
  }

  /** Text parts that follow each other are one. */
  #text(): string {
    let text = this.#word('text');
    while (this.#peek()?.kind === 'text') text += this.#word('text');
    return text;
  }

  #choice(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new NotUnderstood();
    let result = this.#binary(0);
    if (this.#take('?')) {
      const then = this.#choice();
      this.#expect(':');
      result = { kind: 'choice', test: result, then, otherwise: this.#choice() };
    }
    this.#depth--;
    return result;
  }

  #binary(level: number): Expression {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    const before = this.#chain;
    for (;;) {
      const token = this.#peek();
      if (token?.kind !== 'sign' || !operators.includes(token.text)) {
        this.#chain = before;
        return left;
      }
      if (++this.#chain > MAX_CHAIN) throw new NotUnderstood();
      this.#at++;
      left = { kind: 'binary', operator: token.text, left, right: this.#binary(level + 1) };
    }
  }

  #unary(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new NotUnderstood();
    const result = this.#unaryInner();
    this.#depth--;
    return result;
  }

  #unaryInner(): Expression {
    for (const operator of ['-', '+', '!', '~']) {
      if (this.#take(operator)) return { kind: 'unary', operator, of: this.#unary() };
    }
    const cast = this.#cast();
    return cast === null ? this.#primary() : { kind: 'cast', ...cast, of: this.#unary() };
  }

  /**
   * `(unsigned long)`, `(struct page *)`: words and stars up to the bracket, the first one a word of types.
   */
  #cast(): { bits: number; isSigned: boolean } | null {
    if (!this.#is('(')) return null;
    const words: string[] = [];
    let ahead = 1;
    for (; this.#peek(ahead)?.kind === 'name'; ahead++) words.push(this.#peek(ahead)!.text);
    let isPointer = false;
    for (; this.#is('*', ahead); ahead++) isPointer = true;
    if (!this.#is(')', ahead) || words.length === 0) return null;
    const type = cType(words, isPointer);
    if (type === null) return null;
    this.#at += ahead + 1;
    return type;
  }

  #primary(): Expression {
    const token = this.#peek();
    if (token === undefined) throw new NotUnderstood();
    if (token.kind === 'number') {
      this.#at++;
      return numberOf(token.text);
    }
    if (token.kind === 'text') return { kind: 'text', value: this.#text() };
    if (token.kind === 'name') return this.#named(this.#word('name'));
    this.#expect('(');
    const inner = this.#choice();
    this.#expect(')');
    return inner;
  }

  #named(name: string): Expression {
    if (name === 'REC') {
      this.#expect('->');
      const field = this.#word('name');
      if (this.#is('->')) throw new NotUnderstood();
      if (!this.#take('[')) return { kind: 'field', name: field };
      const index = Number(this.#word('number'));
      this.#expect(']');
      if (!Number.isSafeInteger(index)) throw new NotUnderstood();
      return { kind: 'element', name: field, index };
    }
    if (!this.#is('(')) return { kind: 'unknown' };
    this.#at++;
    const result = this.#call(name);
    this.#expect(')');
    return result;
  }

  #call(name: string): Expression {
    switch (name) {
      case '__get_str':
      case '__get_rel_str':
        return { kind: 'dynamic-text', name: this.#word('name') };
      case '__get_dynamic_array_len':
      case '__get_rel_dynamic_array_len':
        return { kind: 'dynamic-length', name: this.#word('name') };
      case '__print_flags': {
        const of = this.#choice();
        this.#expect(',');
        const separator = this.#text();
        return { kind: 'flags', of, separator, rows: this.#rows() };
      }
      case '__print_symbolic':
        return { kind: 'symbol', of: this.#choice(), rows: this.#rows() };
      case '__builtin_expect': {
        const of = this.#choice();
        this.#expect(',');
        this.#choice();
        return of;
      }
      default:
        throw new NotUnderstood();
    }
  }

  /** `, { 1, "S" }, { 2, "D" }`; a row without a name (a null pointer) ends some lists and says nothing. */
  #rows(): NamedValue[] {
    const rows: NamedValue[] = [];
    while (this.#take(',')) {
      this.#expect('{');
      const value = this.#choice();
      this.#expect(',');
      const name = this.#choice();
      if (name.kind === 'text') rows.push({ value, name: name.value });
      this.#expect('}');
    }
    return rows;
  }
}
