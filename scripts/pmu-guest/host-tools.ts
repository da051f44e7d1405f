import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { GuestUnavailable, run } from './commands.ts';

export const QEMU = 'qemu-system-aarch64';
export const DEBIAN_KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** Programs and files that building or running needs, and the Debian or Ubuntu package of each. */
const NEEDS: [has: () => boolean, debianPackage: string][] = [
  [() => isProgram(QEMU), 'qemu-system-arm'],
  [() => isProgram('mke2fs'), 'e2fsprogs'],
  [() => isProgram('xz'), 'xz-utils'],
  [() => existsSync(DEBIAN_KEYS), 'debian-archive-keyring'],
];

function missingPackages(): string[] {
  return NEEDS.filter(([has]) => !has()).map(([, debianPackage]) => debianPackage);
}

function isProgram(name: string): boolean {
  return [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'].some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** QEMU and what builds a guest for it, installed where that is allowed. Resolves to QEMU's version. */
export async function prepareHost(): Promise<string> {
  if (process.platform !== 'linux') throw new GuestUnavailable('the guest is built and run on Linux');
  const missing = missingPackages();
  if (missing.length > 0) await install(missing);
  const still = missingPackages();
  if (still.length > 0) throw new GuestUnavailable(`installed, but not to be found: ${still.join(', ')}`);
  return (await run(QEMU, ['--version'])).split('\n', 1)[0]!;
}

async function install(missing: string[]): Promise<void> {
  const command = `apt-get install ${missing.join(' ')}`;
  if (!isProgram('apt-get') || !isProgram('dpkg-deb')) {
    throw new GuestUnavailable(
      `${missing.join(', ')} missing, and this system has no apt to install from (the guest is made of Debian packages)`,
    );
  }
  if (process.getuid?.() !== 0) {
    throw new GuestUnavailable(`missing here: ${missing.join(', ')}. As root: ${command}`);
  }
  console.log(`Installing ${missing.join(', ')} …`);
  try {
    await run('apt-get', ['-qq', 'update']);
    const words = [
      '-qq',
      '-o',
      'DPkg::Lock::Timeout=300',
      'install',
      '-y',
      '--no-install-recommends',
      ...missing,
    ];
    await run('apt-get', words, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  } catch (cause) {
    throw new GuestUnavailable(`${command} failed: ${(cause as Error).message}`);
  }
}
