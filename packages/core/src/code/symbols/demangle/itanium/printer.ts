import type { Node, TemplateScope } from './node.ts';
import { MALFORMED } from './parser.ts';

/** Writes one kind of node. */
export type NodeWriter = (printer: Printer, node: Node) => void;

/**
 * A declarator that waits for the type it belongs to: in `int (*)[3]` the pointer is met first, but may only
 * be written once the printer has reached the array.
 */
export interface Pending {
  readonly next: Pending | null;
  readonly node: Node;
  readonly templates: TemplateScope | null;
  written: boolean;
}

/** Real names stay below 50. At the limit printing takes a quarter of V8's default stack. */
const DEPTH_LIMIT = 512;
/** In characters; real names stay below 25,000. A name of 100 characters could stand for 2^50. */
const OUTPUT_LIMIT = 1 << 18;
/** Nodes written; real names take up to 6,000. */
const STEP_LIMIT = 1 << 17;

/** The text so far, and where in the tree the printer is. */
export class Printer {
  /** The text written. */
  text = '';
  /** The last character written, even where it was taken back. */
  last = '';
  /** Declarators that wait, the innermost first. */
  pending: Pending | null = null;
  /** Templates around, the innermost first: where template parameters are looked up. */
  templates: TemplateScope | null = null;
  /** The template whose name is being written: a conversion function in it may need its arguments. */
  currentTemplate: Node | null = null;
  /** Which element of a pack is being written; -1 for all of them. */
  packIndex = 0;
  /** Inside a lambda's parameters: 1 + how many template parameters it declares; 0 outside. */
  lambdaParameters = 0;
  /** The declared parameters of that lambda. */
  lambdaHead: readonly Node[] = [];
  /** The nodes being written, outermost first. */
  readonly path: Node[] = [];
  readonly #writers: readonly NodeWriter[];
  #stepsLeft = STEP_LIMIT;

  constructor(writers: readonly NodeWriter[]) {
    this.#writers = writers;
  }

  write(text: string): void {
    if (text === '') return;
    this.text += text;
    this.last = text.charAt(text.length - 1);
    if (this.text.length > OUTPUT_LIMIT) throw MALFORMED;
  }

  print(node: Node | null): void {
    // A node inside of itself once is a template argument that names its template;
    // twice would go on for ever.
    if (node === null || node.active > 1 || this.path.length >= DEPTH_LIMIT || --this.#stepsLeft < 0)
      throw MALFORMED;
    node.active++;
    this.path.push(node);
    this.#writers[node.kind]!(this, node);
    this.path.pop();
    node.active--;
  }

  /** Counts work that writes nothing, such as looking for a pack. */
  step(): void {
    if (--this.#stepsLeft < 0) throw MALFORMED;
  }

  /** Comma-separated. Elements at the end that write nothing (empty packs) take their comma with them. */
  printList(items: readonly Node[]): void {
    if (items.length === 0) return;
    this.print(items[0]!);
    let kept = this.text;
    for (let i = 1; i < items.length; i++) {
      this.write(', ');
      const { length } = this.text;
      this.print(items[i]!);
      if (this.text.length > length) kept = this.text;
    }
    this.text = kept;
  }

  /** `<` arguments `>`, with spaces where two of the same would meet. */
  printTemplateArguments(list: Node | null): void {
    this.write(this.last === '<' ? ' <' : '<');
    this.print(list);
    this.write(this.last === '>' ? ' >' : '>');
  }

  /** Puts a declarator on the list of those that wait, prints `inner`, and returns the entry. */
  printBelow(declarator: Node, inner: Node | null): Pending {
    const entry: Pending = {
      next: this.pending,
      node: declarator,
      templates: this.templates,
      written: false,
    };
    this.pending = entry;
    this.print(inner);
    this.pending = entry.next;
    return entry;
  }
}
