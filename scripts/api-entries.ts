/** The entries of the packages' export maps, and the compiler options that read their types. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

export interface Entry {
  /** `core/records`: where its report lies below `api`. */
  readonly name: string;
  /** `@counterpoint/core/records`: what a program imports. */
  readonly specifier: string;
  readonly folder: string;
  readonly types: string;
}

/** Of one package, `packages/core`. */
export function entriesOf(folder: string): Entry[] {
  const { name, exports } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  const entries = Object.entries<{ types: string }>(exports)
    .filter(([, { types }]) => types !== undefined)
    .map(([key, { types }]) => ({
      name: `${folder.replace('packages/', '')}/${key === '.' ? 'index' : key.slice(2)}`,
      specifier: key === '.' ? name : `${name}/${key.slice(2)}`,
      folder: join(root, folder),
      types: join(root, folder, types),
    }));
  const unbuilt = entries.find(({ types }) => !existsSync(types));
  if (unbuilt !== undefined) throw new Error(`${unbuilt.types} is not there. Run npm run build.`);
  return entries;
}

/** API Extractor brings a compiler of its own, which is older than the project's. */
export const COMPILER = {
  target: 'es2022',
  module: 'nodenext',
  moduleResolution: 'nodenext',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};
