/**
 * How Node loads users' modules: TypeScript by taking its types away (every position stays, so lines in
 * errors are the user's), and `counterpoint` as this very package, wherever the module lies. Node 22.15 and
 * newer call these functions in the thread that imports; older ones in a thread of their own, which gets what
 * it must know by `initialize`.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import swc from '@swc/wasm-typescript';

export interface HookData {
  /** A module of this package: what users' modules import of us is looked up as if it did. */
  readonly ownModule: string;
  /** The folder of this package; its own files are left to others. */
  readonly ownFolder: string;
}

interface ResolveContext {
  readonly parentURL?: string | undefined;
}

interface Source {
  readonly format: 'module';
  readonly source: string;
  readonly shortCircuit: true;
}

const OWN_NAMES = /^(?:counterpoint|@counterpoint\/\w+)(?:\/|$)/;
const TYPESCRIPT = /\.m?ts$/;

let data: HookData = { ownModule: '', ownFolder: '' };

export function initialize(given: HookData): void {
  data = given;
}

export function resolve<Context extends ResolveContext, Result>(
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => Result,
): Result {
  return next(specifier, OWN_NAMES.test(specifier) ? { ...context, parentURL: data.ownModule } : context);
}

export function load<Context, Result>(
  url: string,
  context: Context,
  next: (url: string, context: Context) => Result,
): Result | Source {
  if (
    !url.startsWith('file:') ||
    !TYPESCRIPT.test(url.replace(/[?#].*/, '')) ||
    url.startsWith(data.ownFolder)
  )
    return next(url, context);
  return { format: 'module', source: stripTypes(fileURLToPath(url)), shortCircuit: true };
}

/** What swc throws is plain data. */
interface SwcProblem {
  readonly message: string;
  readonly startLine: number;
  readonly startColumn: number;
  readonly snippet?: string;
}

/** Throws a SyntaxError that names the place. */
export function stripTypes(path: string): string {
  const text = readFileSync(path, 'utf8');
  try {
    return swc.transformSync(text, { mode: 'strip-only', filename: path }).code;
  } catch (problem) {
    const { message, startLine, startColumn, snippet = '' } = problem as SwcProblem;
    throw new SyntaxError(
      `${path}:${startLine}:${startColumn + 1}: ${message}\n${snippet.trimEnd()}`.trimEnd(),
    );
  }
}
