import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = join(HERE, '../..');

/** Files that make the guest: a change of any of them makes another guest. */
const BUILDERS = [
  'recipe.ts',
  'debian.ts',
  'npm-packages.ts',
  'kernel-modules.ts',
  'initramfs.ts',
  'disk.ts',
  'machine.ts',
  'snapshot.ts',
  'guest/init',
  'guest/agent',
];

export interface GuestPaths {
  /** The finished guest; exists only when it is complete. */
  folder: string;
  /** Guests of other recipes beside it. */
  outdated: string[];
}

/**
 * Where the guest of this recipe and this QEMU belongs: a snapshot can only be
 * restored by the QEMU that took it.
 */
export function guestPaths(qemuVersion: string, koffiVersion: string): GuestPaths {
  const hash = createHash('sha256').update(`${qemuVersion}\n${koffiVersion}\n`);
  for (const name of BUILDERS) hash.update(readFileSync(join(HERE, name)));
  const caches = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const cache = resolve(process.env['COUNTERPOINT_PMU_GUEST'] || join(caches, 'counterpoint'));
  const name = `pmu-guest-${hash.digest('hex').slice(0, 12)}`;
  return {
    folder: join(cache, name),
    outdated: guestsIn(cache).filter((path) => path !== join(cache, name)),
  };
}

function guestsIn(cache: string): string[] {
  try {
    return readdirSync(cache)
      .filter((name) => /^pmu-guest-[0-9a-f]{12}$/.test(name))
      .map((name) => join(cache, name));
  } catch {
    return [];
  }
}

/**
 * Inside the guest's folder. QEMU runs there and gets these names as they are, so the folder can be moved.
 */
export const KERNEL = 'kernel';
export const INITRAMFS = 'initramfs.cpio';
export const DISK = 'disk.ext4';
export const memoryFile = (snapshot: string) => `snapshots/${snapshot}/memory`;
export const stateFile = (snapshot: string) => `snapshots/${snapshot}/state`;

/** The version that package-lock.json names for an installed package, and what its archive must hash to. */
export function lockedPackage(name: string): { version: string; integrity: string } {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string }>;
  };
  const found = lock.packages[`node_modules/${name}`];
  if (found === undefined) throw new Error(`package-lock.json does not name ${name}`);
  return found;
}
