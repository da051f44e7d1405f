import { didYouMean, nearestNames } from '../../base/index.ts';
import { EventSyntaxError } from './errors.ts';
import type { EventLookup, ParsedEvent, TracepointField } from './types.ts';

/**
 * Filters of tracepoints (Documentation/trace/events.rst, "Event filtering"), checked before the kernel is
 * asked: it says no more than EINVAL.
 *
 *   filter    := term ( ('&&' | '||') term )*
 *   term      := '!'* ( '(' filter ')' | predicate )
 *   predicate := field operator value
 */

const OPERATORS = ['==', '!=', '<=', '>=', '<', '>', '&', '~'] as const;
const CPU_SET_OPERATORS: readonly string[] = ['==', '!=', '&'];
const TEXT_OPERATORS: readonly string[] = ['==', '!=', '~'];

/**
 * Fields that every tracepoint has without saying so (kernel/trace/trace_events.c,
 * trace_define_generic_fields).
 */
const GENERIC_FIELDS: readonly TracepointField[] = [
  { name: 'CPU', type: 'int', isText: false, isSigned: true },
  { name: 'cpu', type: 'int', isText: false, isSigned: true },
  { name: 'COMM', type: 'char *', isText: true, isSigned: false },
  { name: 'comm', type: 'char *', isText: true, isSigned: false },
  { name: 'STACKTRACE', type: '', isText: false, isSigned: false },
  { name: 'stacktrace', type: '', isText: false, isSigned: false },
];

/** MAX_FILTER_STR_VAL of the kernel is 256; a page is the most it takes in all. */
const LONGEST_FILTER = 4095;
const DEEPEST = 64;

/**
 * What is wrong with a filter, thrown; `fields` are those of the tracepoint, `null` where they cannot be had.
 */
export function checkFilter(filter: string, fields: readonly TracepointField[] | null): void {
  new FilterChecker(filter, fields).check();
}

/**
 * `--filter` stands behind the `-e` that it is for, and holds for all of its events: each must
 * be a tracepoint, and have the fields. The filter is kept on the events; a second one is
 * added with `&&`, as perf does.
 */
export function applyFilter(events: readonly ParsedEvent[], filter: string, lookup: EventLookup): void {
  const other = events.find(({ tracepoint }) => tracepoint === undefined);
  if (events.length === 0 || other !== undefined) {
    throw new EventSyntaxError(
      filter,
      0,
      other === undefined
        ? 'a filter must follow its tracepoint'
        : `${other.name} is not a tracepoint, and only tracepoints have filters`,
      "For example: -e sched:sched_switch --filter 'prev_pid != 0'",
      'filter',
    );
  }
  for (const event of events) {
    const { system, name } = event.tracepoint!;
    checkFilter(filter, lookup.tracepointFields?.(system, name) ?? null);
  }
  for (const event of events) {
    event.filter = event.filter === undefined ? filter : `(${event.filter}) && (${filter})`;
  }
}

class FilterChecker {
  readonly #text: string;
  readonly #fields: readonly TracepointField[] | null;
  #at = 0;

  constructor(text: string, fields: readonly TracepointField[] | null) {
    this.#text = text;
    this.#fields = fields === null ? null : [...fields, ...GENERIC_FIELDS];
  }

  check(): void {
    if (this.#text.length > LONGEST_FILTER) throw this.#error(0, `longer than ${LONGEST_FILTER} characters`);
    this.#alternatives(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) {
      const single = /^(?:and|or|&(?!&)|\|(?!\|))/i.test(this.#text.slice(this.#at));
      throw this.#error(
        this.#at,
        single ? 'join predicates with && or ||' : `expected && or ||, found ${this.#found()}`,
      );
    }
  }

  #alternatives(depth: number): void {
    if (depth > DEEPEST) throw this.#error(this.#at, `more than ${DEEPEST} parentheses inside each other`);
    do this.#term(depth);
    while (this.#eat('&&') || this.#eat('||'));
  }

  #term(depth: number): void {
    while (this.#peekNot()) this.#at++;
    const open = this.#at;
    if (!this.#eat('(')) {
      this.#predicate();
      return;
    }
    this.#alternatives(depth + 1);
    if (!this.#eat(')')) {
      throw this.#at < this.#text.length
        ? this.#error(this.#at, `expected &&, || or ), found ${this.#found()}`)
        : this.#error(open, 'this parenthesis is not closed');
    }
  }

  #predicate(): void {
    const nameAt = this.#at;
    const name = this.#match(/[A-Za-z_][\w.]*/y);
    if (name === null) throw this.#error(nameAt, `expected a field, found ${this.#found()}`);
    const field = this.#field(name, nameAt);
    this.#skipSpace();
    const operatorAt = this.#at;
    const operator = OPERATORS.find((one) => this.#eat(one));
    if (operator === undefined) {
      const hint = this.#text[operatorAt] === '=' ? '; equal is ==' : '';
      throw this.#error(operatorAt, `expected one of ${OPERATORS.join(' ')}, found ${this.#found()}${hint}`);
    }
    this.#skipSpace();
    this.#value(name, field, operator, operatorAt);
  }

  /** The field, or `null` where fields are not known, or its form is asked for by a suffix. */
  #field(name: string, at: number): TracepointField | null {
    const dot = name.indexOf('.');
    const plain = dot < 0 ? name : name.slice(0, dot);
    const suffix = dot < 0 ? null : name.slice(dot + 1);
    if (suffix !== null && suffix !== 'ustring' && suffix !== 'function') {
      throw this.#error(at + dot + 1, `ustring or function must follow the dot, not ${suffix}`);
    }
    if (this.#fields === null) return null;
    const field = this.#fields.find((one) => one.name === plain);
    if (field === undefined) {
      const names = this.#fields.map((one) => one.name);
      throw this.#error(
        at,
        `there is no field ${plain}${didYouMean(nearestNames(plain, names))}`,
        `Fields: ${names.join(', ')}`,
      );
    }
    return suffix === null ? field : null;
  }

  #value(name: string, field: TracepointField | null, operator: string, operatorAt: number): void {
    const at = this.#at;
    const cpus = this.#match(/CPUS\{[\d,\s-]*\}/y);
    if (cpus !== null) {
      if (!CPU_SET_OPERATORS.includes(operator)) {
        throw this.#error(operatorAt, `CPUs are compared by ${CPU_SET_OPERATORS.join(', ')}`);
      }
      if (field?.isText === true) throw this.#error(at, `${name} is a text, not a CPU`);
      return;
    }
    const quote = this.#text[at];
    if (quote === '"' || quote === "'") {
      const close = this.#text.indexOf(quote, at + 1);
      if (close < 0) throw this.#error(at, 'the closing quote is missing');
      this.#at = close + 1;
      if (field !== null && !field.isText)
        throw this.#error(at, `${name} is a number: compare it with a number without quotes`);
      if (!TEXT_OPERATORS.includes(operator)) {
        throw this.#error(operatorAt, `texts are compared by ${TEXT_OPERATORS.join(', ')}`);
      }
      return;
    }
    const number = this.#match(/-?(?:0[xX][0-9a-fA-F]+|\d+)(?![\w.])/y);
    if (number === null) {
      // kallsyms names are compared without quotes after `.function`.
      if (name.endsWith('.function') && this.#match(/[A-Za-z_][\w.]*/y) !== null) return;
      const wanted =
        field === null
          ? 'a number or a text in quotes'
          : field.isText
            ? `a text in quotes, as in ${name} == "bash"`
            : 'a number';
      throw this.#error(at, `expected ${wanted}, found ${this.#found()}`);
    }
    if (field?.isText === true) throw this.#error(at, `${name} is a text: compare it with a text in quotes`);
    if (operator === '~') throw this.#error(operatorAt, '~ compares texts with wildcards, not numbers');
    if (!fits(number, field?.isSigned ?? null)) throw this.#error(at, `${name} cannot be ${number}`);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return null;
    this.#at += match[0].length;
    return match[0];
  }

  #peekNot(): boolean {
    this.#skipSpace();
    return this.#text[this.#at] === '!';
  }

  #eat(word: string): boolean {
    this.#skipSpace();
    if (!this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  #skipSpace(): void {
    while (this.#at < this.#text.length && this.#text[this.#at]!.trim() === '') this.#at++;
  }

  #found(): string {
    return this.#at < this.#text.length ? `'${this.#text[this.#at]}'` : 'the end';
  }

  #error(at: number, reason: string, remedy?: string): EventSyntaxError {
    return new EventSyntaxError(this.#text, at, reason, remedy, 'filter');
  }
}

/** 64 bits, with a sign or without; where it is not known, either. */
function fits(text: string, isSigned: boolean | null): boolean {
  const isNegative = text.startsWith('-');
  const value = BigInt(isNegative ? text.slice(1) : text);
  if (isNegative) return isSigned !== false && value <= 1n << 63n;
  return value < 1n << (isSigned === true ? 63n : 64n);
}
