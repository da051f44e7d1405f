import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './commands.ts';
import { DEBIAN_KEYS } from './host-tools.ts';
import { DEBIAN_PACKAGES, DEBIAN_SUITE, KERNEL_PACKAGE, UNNEEDED_PACKAGES } from './recipe.ts';

/**
 * Debian's arm64 packages, through an apt with folders of its own: the host's packages and architectures stay
 * as they are, root is not needed, and signatures are checked against Debian's keys. Unpacks the kernel into
 * `kernelFolder` and the rest into `rootFolder`.
 */
export async function fetchDebian(work: string, kernelFolder: string, rootFolder: string): Promise<void> {
  const env = { ...process.env, APT_CONFIG: writeConfiguration(work) };
  const archives = join(work, 'archives');
  mkdirSync(archives);
  await run('apt-get', ['-qq', 'update'], { env });
  const kernel = dependenciesOf(await run('apt-cache', ['depends', KERNEL_PACKAGE], { env }));
  const plan = await run('apt-get', ['-qq', '--simulate', 'install', ...DEBIAN_PACKAGES], { env });
  const names = [...plan.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name!);
  const wanted = names.filter((name) => !UNNEEDED_PACKAGES.test(name));
  await run('apt-get', ['-qq', 'download', ...wanted, ...kernel], { env, cwd: archives });

  for (const file of readdirSync(archives)) {
    const target = kernel.some((name) => file.startsWith(`${name}_`)) ? kernelFolder : rootFolder;
    await run('dpkg-deb', ['--extract', join(archives, file), target]);
  }
}

/** `linux-image-arm64` is empty and depends on the kernel of the day. */
function dependenciesOf(text: string): string[] {
  return [...text.matchAll(/^\s*Depends: (\S+)/gm)].map(([, name]) => name!);
}

function writeConfiguration(work: string): string {
  const apt = join(work, 'apt');
  for (const folder of [
    'state/lists/partial',
    'cache/archives/partial',
    'etc/apt.conf.d',
    'etc/preferences.d',
  ]) {
    mkdirSync(join(apt, folder), { recursive: true });
  }
  writeFileSync(join(apt, 'state/status'), '');
  writeFileSync(
    join(apt, 'sources.list'),
    `deb [signed-by=${DEBIAN_KEYS}] ${mirror()} ${DEBIAN_SUITE} main\n`,
  );
  const path = join(apt, 'apt.conf');
  writeFileSync(
    path,
    [
      'APT::Architecture "arm64";',
      'APT::Architectures { "arm64"; };',
      'APT::Install-Recommends "false";',
      'APT::Sandbox::User "root";',
      'APT::Update::Error-Mode "any";',
      'Acquire::Languages "none";',
      `Dir::State "${apt}/state";`,
      `Dir::State::status "${apt}/state/status";`,
      `Dir::Cache "${apt}/cache";`,
      `Dir::Etc "${apt}/etc";`,
      `Dir::Etc::SourceList "${apt}/sources.list";`,
      '',
    ].join('\n'),
  );
  return path;
}

/** The mirror that this host uses where it is a Debian itself, else Debian's own. */
function mirror(): string {
  for (const [path, pattern] of [
    ['/etc/apt/sources.list.d/debian.sources', /^URIs:\s*(\S+)/m],
    ['/etc/apt/sources.list', /^deb\s+(?:\[[^\]]*\]\s*)?(\S+debian\/?)\s/m],
  ] as const) {
    const found = existsSync(path) ? pattern.exec(readFileSync(path, 'utf8'))?.[1] : undefined;
    if (found !== undefined) return found;
  }
  return 'http://deb.debian.org/debian';
}
