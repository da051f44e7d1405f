import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { resolve as resolvePath } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CounterpointError } from '@counterpoint/core/base';
import type { HookData } from './module-hooks.ts';

/** Node 22.15 and newer. */
interface SynchronousHooks {
  registerHooks?: (hooks: object) => void;
}

let areHooksIn = false;

/** The default export of a user's module, in JavaScript or TypeScript. Throws `ERR_FORMAT_MODULE`. */
export async function loadDefaultExport(path: string): Promise<unknown> {
  const absolute = resolvePath(path);
  if (!existsSync(absolute))
    throw new CounterpointError('ERR_FORMAT_MODULE', `there is no file ${path}`, `Looked for ${absolute}.`);
  await installHooks();
  let loaded: { default?: unknown };
  try {
    loaded = await import(pathToFileURL(absolute).href);
  } catch (error) {
    throw new CounterpointError(
      'ERR_FORMAT_MODULE',
      `${path} cannot be loaded: ${await describe(error, absolute)}`,
      'TypeScript is read by taking types away: enum, namespace and parameter properties do not work.',
    );
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

/** Node keeps the place of a syntax error in JavaScript to itself; whoever reads TypeScript finds it, too. */
async function describe(error: unknown, path: string): Promise<string> {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof SyntaxError) || error.message.startsWith(path)) return error.message;
  const { stripTypes } = await import('./module-hooks.ts');
  try {
    stripTypes(path);
  } catch (found) {
    return (found as Error).message;
  }
  return error.message;
}
