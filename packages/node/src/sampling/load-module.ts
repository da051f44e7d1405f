import { statSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { resolve as resolvePath } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CounterpointError } from '@counterpoint/core/base';
import { placeOf } from './format-errors.ts';
import type { HookData } from './module-hooks.ts';

/** Node 22.15 and newer. */
interface SynchronousHooks {
  registerHooks?: (hooks: object) => void;
}

let areHooksIn = false;

/** The default export of a user's module, in JavaScript or TypeScript. Throws `ERR_FORMAT_MODULE`. */
export async function loadDefaultExport(path: string): Promise<unknown> {
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
  let loaded: { default?: unknown };
  try {
    loaded = await import(pathToFileURL(absolute).href);
  } catch (error) {
    throw await explainFailure(path, absolute, error);
  }
  if (loaded.default === undefined)
    throw new CounterpointError(
      'ERR_FORMAT_MODULE',
      `${path} has no default export`,
      'Write export default defineFormat({ … }).',
    );
  return loaded.default;
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

const TYPES_ONLY =
  'TypeScript is read by taking types away: enum, namespace and parameter properties do not work.';

async function explainFailure(path: string, absolute: string, error: unknown): Promise<CounterpointError> {
  const refused = (why: string, remedy: string) => {
    const explained = new CounterpointError('ERR_FORMAT_MODULE', `${path} cannot be loaded: ${why}`, remedy);
    explained.cause = error;
    return explained;
  };
  if (!(error instanceof Error)) return refused(String(error), '');
  const problem = await syntaxProblem(error, absolute);
  if (problem !== null) {
    const [why = '', ...snippet] = problem.split('\n');
    return refused(why, [...snippet, TYPES_ONLY].join('\n'));
  }
  const place = placeOf(error);
  const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
  return refused(
    place === null || isMissing ? error.message : `${place}: ${error.message}`,
    isMissing
      ? 'counterpoint and @counterpoint/core are there for every format; other packages where its file is.'
      : '',
  );
}

/** What swc says of it, with the place: Node keeps that of a syntax error in JavaScript to itself. Null: it is another error. */
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
