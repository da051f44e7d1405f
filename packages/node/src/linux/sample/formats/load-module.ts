import { statSync, writeSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { resolve as resolvePath } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CounterpointError, printable } from '@counterpoint/core/base';
import { placeOf } from './format-errors.ts';
import type { HookData } from './module-hooks.ts';

/** Node 22.15 and newer. */
interface SynchronousHooks {
  registerHooks?: (hooks: object) => void;
}

let areHooksIn = false;

/** A module has nothing to wait for as a rule; compiling it takes milliseconds. */
const PATIENCE_MS = 10_000;

/** The default export of a user's module, in JavaScript or TypeScript. Throws `ERR_FORMAT_MODULE`. */
export async function loadDefaultExport(path: string, patienceMs = PATIENCE_MS): Promise<unknown> {
  const absolute = resolvePath(path);
  const found = statSync(absolute, { throwIfNoEntry: false });
  if (found === undefined)
    throw new CounterpointError('ERR_FORMAT_MODULE', `there is no file ${path}`, `Looked for ${absolute}.`);
  if (!found.isFile())
    throw new CounterpointError(
      'ERR_FORMAT_MODULE',
      `${path} is ${found.isDirectory() ? 'a folder' : 'no file'}, not a module`,
      'Name the file of the format: ./my-format.ts',
    );
  await installHooks();
  const loaded = await loadInTime(path, absolute, patienceMs);
  if (loaded.default === undefined)
    throw new CounterpointError(
      'ERR_FORMAT_MODULE',
      `${path} has no default export`,
      'Write export default defineFormat({ … }).',
    );
  return loaded.default;
}

/** A promise that nobody settles keeps no process alive: the timer does, until something can be said. */
async function loadInTime(
  path: string,
  absolute: string,
  patienceMs: number,
): Promise<{ default?: unknown }> {
  let timer: NodeJS.Timeout | undefined;
  const isLate = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, patienceMs, null);
  });
  const onExit = (status: number) => tellExit(path, absolute, status);
  process.on('exit', onExit);
  let loaded: { default?: unknown } | null;
  try {
    loaded = await Promise.race([import(pathToFileURL(absolute).href), isLate]);
  } catch (error) {
    throw await explainFailure(path, absolute, error);
  } finally {
    clearTimeout(timer);
    process.off('exit', onExit);
  }
  if (loaded !== null) return loaded;
  throw new CounterpointError(
    'ERR_FORMAT_MODULE',
    `${path} has not finished loading within ${patienceMs / 1000} s: a top-level await, of it or of a module that it imports, waits`,
    'Put long waits into collect.',
  );
}

/**
 * The module ends this process by process.exit(), whose caller is on the stack: nobody else
 * could say why nothing came of it.
 */
function tellExit(path: string, absolute: string, status: number): void {
  const { stack } = new Error();
  if (typeof stack !== 'string') return;
  if (!stack.includes(pathToFileURL(absolute).href) && !stack.includes(absolute)) return;
  writeSync(
    2,
    `${printable(`counterpoint: ${path} has called process.exit(${status}) while it was loaded`)}\n`,
  );
  if (status === 0) process.exitCode = 1;
}

async function installHooks(): Promise<void> {
  if (areHooksIn) return;
  areHooksIn = true;
  const here = import.meta.url;
  const data: HookData = { ownModule: here, ownFolder: here.replace(/\/(?:src|dist)\/.*$/, '/') };
  const { registerHooks } = nodeModule as SynchronousHooks;
  if (registerHooks === undefined) {
    nodeModule.register(hooksUrl(here), { data });
    return;
  }
  const { initialize, ...hooks } = await import('./module-hooks.ts');
  initialize(data);
  registerHooks(hooks);
}

/** In the bundle this code is in a file at the top, or in one of the chunks. */
function hooksUrl(here: string): URL {
  if (here.endsWith('.ts')) return new URL('./module-hooks.ts', here);
  return new URL(/\/chunks\/[^/]+$/.test(here) ? '../module-hooks.js' : './module-hooks.js', here);
}

const TYPESCRIPT = /\.[cm]?ts$/;
const TYPES_ONLY =
  'TypeScript is read by removing its types: enum, namespace and parameter properties do not work.';

async function explainFailure(path: string, absolute: string, error: unknown): Promise<CounterpointError> {
  const refused = (why: string, remedy: string) => {
    const explained = new CounterpointError('ERR_FORMAT_MODULE', `${path} cannot be loaded: ${why}`, remedy);
    explained.cause = error;
    return explained;
  };
  if (!(error instanceof Error))
    return refused(String(error), 'Mend the module: its top runs when it is loaded.');
  const problem = await syntaxProblem(error, absolute);
  if (problem !== null) {
    const [why = '', ...lines] = problem.split('\n').map(printable);
    const snippet = lines.some(({ length }) => length > MOST_SHOWN) ? [] : lines;
    const isTypeScript = TYPESCRIPT.test(why.replace(/:\d+:\d+: .*/, ''));
    const hints = [...snippet, ...(isTypeScript ? [TYPES_ONLY] : [])];
    return refused(
      why,
      hints.length > 0 ? hints.join('\n') : 'Give an ES module, in JavaScript or TypeScript.',
    );
  }
  const place = placeOf(error);
  const { code } = error as NodeJS.ErrnoException;
  // Below the first line of what require() says are all files that led there.
  const [what = ''] = code === 'MODULE_NOT_FOUND' ? error.message.split('\n') : [error.message];
  const needsModule = NEEDS_MODULE.exec(what);
  if (needsModule !== null) {
    const [, required] = needsModule;
    const why =
      required === undefined ? what : `a format is an ES module, but this one loads ${required} by require()`;
    return refused(place === null ? why : `${place}: ${why}`, MODULES_ONLY);
  }
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return refused(
    place === null || code === 'ERR_MODULE_NOT_FOUND' ? what : `${place}: ${what}`,
    isMissing
      ? 'Every format can import counterpoint and @counterpoint/core; install other packages beside its file.'
      : 'Mend the module there: its top runs when it is loaded.',
  );
}

/** What Node says of this package in `require`, of `import` in a script, and of `require` in a module. */
const NEEDS_MODULE =
  /^Cannot find module '((?:counterpoint|@counterpoint\/core)(?:\/[^']*)?)'|import statement outside a module|Unexpected token 'export'|(?:require|module|exports) is not defined/;
const MODULES_ONLY =
  'Write import instead of require(), and export default instead of module.exports, in a file that ends in .ts or .mjs.';

/** What is in longer lines nobody has written, or will find. */
const MOST_SHOWN = 200;

/**
 * What swc says of it, with the place: Node keeps that of a syntax error in JavaScript to
 * itself. Null: it is another error.
 */
async function syntaxProblem(error: Error, path: string): Promise<string | null> {
  if (!(error instanceof SyntaxError)) return null;
  if (/^[^\n]*:\d+:\d+: /.test(error.message)) return error.message;
  const { stripTypes } = await import('./module-hooks.ts');
  try {
    stripTypes(path);
  } catch (found) {
    return (found as Error).message;
  }
  return null;
}
