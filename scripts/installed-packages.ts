import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface PackageManifest {
  name: string;
  exports: Record<string, { types?: string; default: string }>;
  sideEffects?: false | string[];
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** The packages of this checkout, as their manifests say. */
export function packages(): { folder: string; manifest: PackageManifest }[] {
  return readdirSync(join(root, 'packages')).map((name) => {
    const folder = join(root, 'packages', name);
    return { folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) };
  });
}

/**
 * Install all of them into `node_modules` of a folder from their tarballs, as they are built, with nothing
 * beside them but what they depend on (which is not downloaded: it is that of this checkout).
 */
export function installPacked(folder: string): void {
  const modules = join(folder, 'node_modules');
  const own = packages();
  const names = new Set(own.map(({ manifest }) => manifest.name));
  for (const { folder: source, manifest } of own) {
    const packed = JSON.parse(
      execFileSync(
        'npm',
        ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder],
        { cwd: source, encoding: 'utf8' },
      ),
    );
    const target = join(modules, manifest.name);
    mkdirSync(target, { recursive: true });
    execFileSync('tar', ['xf', join(folder, packed[0].filename), '--strip-components=1', '-C', target]);
  }
  const wanted = own.flatMap(({ manifest }) => [
    ...Object.keys(manifest.dependencies ?? {}),
    ...Object.keys(manifest.optionalDependencies ?? {}),
  ]);
  for (const name of wanted) if (!names.has(name)) link(name, modules, names);
}

/** A dependency and what it depends on itself. */
function link(name: string, modules: string, done: Set<string>): void {
  if (done.has(name)) return;
  done.add(name);
  const source = join(root, 'node_modules', name);
  // Of another platform.
  if (!existsSync(source)) return;
  const target = join(modules, name);
  mkdirSync(join(target, '..'), { recursive: true });
  symlinkSync(source, target);
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(source, 'package.json'), 'utf8'),
  ) as PackageManifest;
  for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) link(needed, modules, done);
}
