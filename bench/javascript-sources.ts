/** Which function of a script a line is in. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAMS_FOLDER } from '../scripts/other-programs.ts';

/** What is used of TypeScript 5, which parses JavaScript in JavaScript. */
interface Parser {
  createSourceFile(name: string, text: string, target: number, parents: boolean, kind: number): Tree;
  forEachChild(tree: Tree, visit: (child: Tree) => void): void;
  isFunctionLike(tree: Tree): boolean;
  ScriptTarget: { Latest: number };
  ScriptKind: { JS: number };
}

interface Tree {
  getStart(file: Tree): number;
  end: number;
  name?: { text?: string };
  getLineAndCharacterOfPosition(position: number): { line: number };
}

interface FunctionLines {
  name: string;
  /** From 1, both included. */
  first: number;
  last: number;
}

/** By line, from 1. */
interface Lines {
  whole: FunctionLines;
  innermost: FunctionLines[];
  /** Of those with more than one line. */
  innermostLong: FunctionLines[];
}

/** The functions of all scripts that one Node runs, its own included. */
export class ScriptSources {
  static readonly #known = new Map<string, ScriptSources>();
  static #parser: Parser | null = null;
  readonly #own: Record<string, string>;
  /** By URL; null: the script cannot be read. */
  readonly #scripts = new Map<string, Lines | null>();

  constructor(node: string) {
    const script = 'console.log(JSON.stringify(process.binding("natives")))';
    const text = execFileSync(node, ['--no-warnings', '-e', script], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    this.#own = JSON.parse(text);
  }

  static of(node: string): ScriptSources {
    const known = ScriptSources.#known.get(node) ?? new ScriptSources(node);
    ScriptSources.#known.set(node, known);
    return known;
  }

  /**
   * Whose a line is: of the function that begins at `first`, or of one that is inlined in it. Of several
   * functions on one line it is always the first one; `name` is for scripts that are not there.
   */
  functionAt(url: string, first: number, line: number, name: string): string {
    let lines = this.#scripts.get(url);
    if (lines === undefined) this.#scripts.set(url, (lines = this.#readLines(url)));
    if (lines === null) return `${name} ${url}`;
    const own = lines.innermost[first] ?? lines.whole;
    const isInOwn = own.first <= line && line <= own.last;
    // A line of its own may have small functions, too, and nobody knows which of them it was.
    const inner = lines.innermostLong[line] ?? lines.whole;
    const isInner = own.first <= inner.first && inner.last <= own.last;
    const found = isInOwn ? (isInner ? inner : own) : (lines.innermost[line] ?? lines.whole);
    return `${found.name}:${found.first} ${url}`;
  }

  #readLines(url: string): Lines | null {
    const text = this.#textOf(url);
    if (text === null) return null;
    const whole = { name: '(top)', first: 1, last: text.split('\n').length };
    const functions = functionsOf(ScriptSources.#typescript(), url, text);
    // Larger ones first: smaller ones are inside them.
    const size = ({ first, last }: FunctionLines) => last - first;
    const innermost: FunctionLines[] = Array.from({ length: whole.last + 1 }, () => whole);
    const innermostLong = [...innermost];
    for (const one of functions.reverse().sort((a, b) => size(b) - size(a))) {
      innermost.fill(one, one.first, one.last + 1);
      if (size(one) > 0) innermostLong.fill(one, one.first, one.last + 1);
    }
    return { whole, innermost, innermostLong };
  }

  static #typescript(): Parser {
    ScriptSources.#parser ??= createRequire(join(PROGRAMS_FOLDER, 'package.json'))('typescript') as Parser;
    return ScriptSources.#parser;
  }

  #textOf(url: string): string | null {
    if (url.startsWith('node:')) return this.#own[url.slice('node:'.length)] ?? null;
    try {
      return readFileSync(url.startsWith('file:') ? fileURLToPath(url) : url, 'utf8');
    } catch {
      return null;
    }
  }
}

function functionsOf(parser: Parser, url: string, text: string): FunctionLines[] {
  const { Latest } = parser.ScriptTarget;
  const file = parser.createSourceFile(url, text, Latest, false, parser.ScriptKind.JS);
  const lineOf = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1;
  const found: FunctionLines[] = [];
  const visit = (tree: Tree): void => {
    if (parser.isFunctionLike(tree))
      found.push({
        name: tree.name?.text ?? '(anonymous)',
        first: lineOf(tree.getStart(file)),
        last: lineOf(tree.end),
      });
    parser.forEachChild(tree, visit);
  };
  visit(file);
  return found;
}
