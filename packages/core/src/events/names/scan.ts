import { EventSyntaxError } from './errors.ts';
import { endOfProbe, endOfProbePath, refuseProbeTerms } from './probe.ts';

/**
 * The outer form of an event list, without meaning:
 *
 *   name{ cpu/event=0x3c,umask=1/u , cycles:u }:modifiers , …
 *         head terms            tail  head
 */
export interface EventText {
  /** All of it, as typed. */
  readonly text: string;
  readonly at: number;
  /** Up to the first slash. */
  readonly head: string;
  /** Between the slashes; `null` without slashes. */
  readonly terms: readonly Term[] | null;
  /** After the second slash. */
  readonly tail: string;
  readonly tailAt: number;
}

export interface Term {
  readonly name: string;
  readonly at: number;
  readonly value: string | null;
  readonly valueAt: number;
  /** In single quotes: a text, whatever it looks like. */
  readonly quoted: boolean;
}

export interface EventItem {
  readonly events: readonly EventText[];
  /** `null` for an event outside of groups. */
  readonly group: { readonly name: string; readonly modifiers: string; readonly modifiersAt: number } | null;
}

/** Nobody types more, and a program that does is mistaken. */
const LONGEST_LIST = 65_536;

export function scanEventList(text: string): EventItem[] {
  if (text.length > LONGEST_LIST) {
    throw new EventSyntaxError(text, 0, `the list is longer than ${LONGEST_LIST} characters`);
  }
  return new EventScanner(text).list();
}

class EventScanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  list(): EventItem[] {
    const items: EventItem[] = [];
    do items.push(this.#item());
    while (this.#eat(','));
    if (this.#at < this.#text.length) throw this.#unexpected();
    return items;
  }

  #item(): EventItem {
    this.#skipSpace();
    const start = this.#at;
    const isProbe = endOfProbePath(this.#text, start) > 0;
    const name = isProbe ? '' : this.#until(',{}/');
    if (isProbe || this.#text[this.#at] !== '{') {
      this.#at = start;
      return { events: [this.#event()], group: null };
    }
    this.#at++;
    const events: EventText[] = [];
    do events.push(this.#event());
    while (this.#eat(','));
    if (!this.#eat('}')) {
      throw this.#at < this.#text.length
        ? this.#unexpected()
        : new EventSyntaxError(this.#text, start, 'this group is not closed: } is missing');
    }
    this.#skipSpace();
    let modifiersAt = this.#at;
    let modifiers = this.#until(',{}/');
    if (modifiers !== '') {
      if (modifiers[0] !== ':')
        throw new EventSyntaxError(this.#text, modifiersAt, 'expected , or : after }');
      modifiers = modifiers.slice(1).trimEnd();
      modifiersAt++;
    }
    return { events, group: { name: name.trim(), modifiers, modifiersAt } };
  }

  #event(): EventText {
    this.#skipSpace();
    const at = this.#at;
    // Breakpoints write their length after a slash: mem:0x1000/8:rw.
    const isBreakpoint = this.#text.startsWith('mem:', at);
    // The slashes of a probe's file are not those around terms, and the commas in its function
    // are not those of the list.
    this.#at = Math.max(this.#at, endOfProbe(this.#text, at));
    this.#until(isBreakpoint ? ',{}' : ',{}/');
    const head = this.#text.slice(at, this.#at).trimEnd();
    if (head === '') throw this.#unexpected('an event');
    let terms: Term[] | null = null;
    let tail = '';
    let tailAt = this.#at;
    if (this.#text[this.#at] === '/') {
      refuseProbeTerms(head, this.#text, at);
      const end = this.#text.indexOf('/', this.#at + 1);
      if (end < 0) {
        throw new EventSyntaxError(this.#text, this.#at, `the closing slash is missing: ${head}/…/`);
      }
      terms = scanTerms(this.#text, this.#at + 1, end);
      this.#at = end + 1;
      tailAt = this.#at;
      tail = this.#until(',{}/').trimEnd();
    }
    return { text: this.#text.slice(at, this.#at).trimEnd(), at, head, terms, tail, tailAt };
  }

  /** Characters up to one of `stops`; leaves the position there. */
  #until(stops: string): string {
    const start = this.#at;
    while (this.#at < this.#text.length && !stops.includes(this.#text[this.#at]!)) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  #skipSpace(): void {
    while (this.#at < this.#text.length && this.#text[this.#at]!.trim() === '') this.#at++;
  }

  #eat(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #unexpected(wanted?: string): EventSyntaxError {
    const found = this.#at < this.#text.length ? `'${this.#text[this.#at]}'` : 'the end';
    const reason = wanted === undefined ? `unexpected ${found}` : `expected ${wanted}, found ${found}`;
    return new EventSyntaxError(this.#text, this.#at, reason);
  }
}

/** `event=0x3c,inv,name='a=b,c'` between `start` and `end`. Blanks around the parts do not count. */
export function scanTerms(text: string, start: number, end: number): Term[] {
  const terms: Term[] = [];
  if (text.slice(start, end).trim() === '') return terms;
  let at = start;
  for (;;) {
    const term = scanTerm(text, at, end);
    terms.push(term.term);
    if (term.next >= end) return terms;
    at = term.next + 1;
  }
}

/** One term from `start`; `next` is the comma after it, or `end`. */
function scanTerm(text: string, start: number, end: number): { term: Term; next: number } {
  let at = skipSpace(text, start, end);
  const nameAt = at;
  while (at < end && text[at] !== ',' && text[at] !== '=') at++;
  const name = text.slice(nameAt, at).trimEnd();
  if (name === '') {
    const found = at < end ? `'${text[at]}'` : 'the end';
    throw new EventSyntaxError(text, nameAt, `expected a term, found ${found}`);
  }
  if (text[at] !== '=' || at >= end) {
    return { term: { name, at: nameAt, value: null, valueAt: nameAt, quoted: false }, next: at };
  }
  const valueAt = skipSpace(text, at + 1, end);
  if (text[valueAt] === "'" && valueAt < end) {
    const close = text.indexOf("'", valueAt + 1);
    if (close < 0 || close >= end) throw new EventSyntaxError(text, valueAt, 'the closing quote is missing');
    const next = skipSpace(text, close + 1, end);
    if (next < end && text[next] !== ',') {
      throw new EventSyntaxError(text, next, `unexpected '${text[next]}' after the quote`);
    }
    return { term: { name, at: nameAt, value: text.slice(valueAt + 1, close), valueAt, quoted: true }, next };
  }
  at = valueAt;
  while (at < end && text[at] !== ',') at++;
  const value = text.slice(valueAt, at).trimEnd();
  if (value === '') throw new EventSyntaxError(text, valueAt, `${name}= needs a value`);
  return { term: { name, at: nameAt, value, valueAt, quoted: false }, next: at };
}

function skipSpace(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && text[at]!.trim() === '') at++;
  return at;
}
