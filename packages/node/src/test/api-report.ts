/**
 * What the reports of the public surface say of functions and methods with parameters: a test that calls all
 * of them must not depend on somebody adding the next one to a list.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const API = fileURLToPath(new URL('../../../../api/', import.meta.url));

/** What each entry of this package exports, by the name of its report: `node/bpf`. */
export async function nodeEntries(): Promise<Record<string, object>> {
  const manifest = new URL('../../package.json', import.meta.url);
  const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as { exports: Record<string, unknown> };
  const names = Object.keys(exports)
    .filter((path) => path !== './package.json')
    .map((path) => (path === '.' ? 'index' : path.slice(2)));
  return Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [`node/${name}`, (await import(`../entries/${name}.ts`)) as object]),
    ),
  );
}

export interface PublicFunction {
  readonly name: string;
  /** Names of its parameters. */
  readonly parameters: readonly string[];
}

export interface PublicClass {
  readonly name: string;
  /** Those with parameters. */
  readonly methods: readonly PublicFunction[];
  /** And of the class itself. */
  readonly statics: readonly PublicFunction[];
}

/** `node/bpf`: the report of an entry. */
export function readReport(entry: string): { functions: PublicFunction[]; classes: PublicClass[] } {
  const text = readFileSync(`${API}${entry}.api.md`, 'utf8').replaceAll('\r\n', '\n');
  const functions = [...text.matchAll(/^export function (\w+)(?:<.*?>)?\((.*)$/gm)].map(([, name, rest]) =>
    described(name!, rest!),
  );
  const classes = [...text.matchAll(/^export class (\w+)[^\n]*\{\n(.*?)^\}/gms)].map(([, name, body]) => ({
    name: name!,
    methods: methodsOf(body!, /^ {4}(?:async )?(\w+)(?:<.*?>)?\((.*)$/gm),
    statics: methodsOf(body!, /^ {4}static (?:async )?(\w+)(?:<.*?>)?\((.*)$/gm),
  }));
  return { functions, classes };
}

function methodsOf(body: string, method: RegExp): PublicFunction[] {
  return [...body.matchAll(method)]
    .map(([, name, rest]) => described(name!, rest!))
    .filter(({ name, parameters }) => name !== 'constructor' && parameters.length > 0);
}

/** `(a: string, { b, c }?: Options): void` has the parameters a and `{`. */
function described(name: string, rest: string): PublicFunction {
  const parameters: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < rest.length; at++) {
    const letter = rest[at]!;
    const isEnd = letter === ')' && depth === 0;
    if (isEnd || (letter === ',' && depth === 0)) {
      const parameter = /^\s*(?:\.\.\.)?([\w{[]+)\??:?/.exec(rest.slice(start, at))?.[1];
      if (parameter !== undefined) parameters.push(parameter);
      start = at + 1;
    }
    if (isEnd) break;
    if ('([{<'.includes(letter)) depth++;
    else if (')]}'.includes(letter) || (letter === '>' && rest[at - 1] !== '=')) depth--;
  }
  return { name, parameters };
}
