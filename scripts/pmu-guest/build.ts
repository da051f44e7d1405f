import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fetchDebian } from './debian.ts';
import { makeDisk } from './disk.ts';
import { prepareHost } from './host-tools.ts';
import { encodeInitramfs } from './initramfs.ts';
import { collectModules } from './kernel-modules.ts';
import { takeFileLock } from './lock.ts';
import { fetchNpm } from './npm-packages.ts';
import { DISK, guestPaths, HERE, INITRAMFS, KERNEL, lockedPackage } from './paths.ts';
import { KERNEL_MODULES, SNAPSHOTS, type SnapshotName } from './recipe.ts';
import { takeSnapshot } from './snapshot.ts';

/** The folder of a complete guest; it is built where there is none yet. */
export async function ensureGuest(): Promise<string> {
  const qemuVersion = await prepareHost();
  const { folder, outdated } = guestPaths(qemuVersion, lockedPackage('koffi').version);
  if (!existsSync(folder)) {
    mkdirSync(dirname(folder), { recursive: true });
    using _lock = takeFileLock(`${folder}.lock`);
    if (!existsSync(folder)) await build(folder);
  }
  if (outdated.length > 0) {
    console.error(`Guests of earlier recipes, which nothing needs any more: ${outdated.join(' ')}`);
  }
  return folder;
}

/**
 * Build beside, then rename: a guest is whole or it is not there. What an
 * interrupted build left is thrown away.
 */
async function build(folder: string): Promise<void> {
  const begin = performance.now();
  const say = (what: string) =>
    console.error(`[${((performance.now() - begin) / 1000).toFixed(1).padStart(5)} s] ${what}`);
  say(`building the arm64 guest in ${folder} (once; about a minute, 200 MB of downloads)`);

  const building = `${folder}.building`;
  rmSync(building, { recursive: true, force: true });
  const work = join(building, 'work');
  const kernelFolder = join(work, 'kernel');
  const rootFolder = join(work, 'root');
  for (const path of [kernelFolder, rootFolder]) mkdirSync(path, { recursive: true });

  await Promise.all([fetchDebian(work, kernelFolder, rootFolder), fetchNpm(work, rootFolder)]);
  say('packages are unpacked');
  await Promise.all([makeKernel(kernelFolder, building), makeDisk(rootFolder, join(building, DISK))]);
  say('the disk image is made');
  const empty = join(work, 'empty');
  mkdirSync(empty);
  const names = Object.keys(SNAPSHOTS) as SnapshotName[];
  await Promise.all(names.map((name) => takeSnapshot(building, name, empty)));
  rmSync(work, { recursive: true });
  renameSync(building, folder);
  say(`ready: snapshots ${names.join(', ')}`);
}

async function makeKernel(kernelFolder: string, building: string): Promise<void> {
  const boot = join(kernelFolder, 'boot');
  const image = readdirSync(boot).find((name) => name.startsWith('vmlinuz-'));
  if (image === undefined) throw new Error('the kernel package has no boot/vmlinuz-*');
  copyFileSync(join(boot, image), join(building, KERNEL));

  const modules = await collectModules(join(kernelFolder, 'lib/modules'), KERNEL_MODULES);
  const order = [...modules.keys()].map((name) => `${name}.ko\n`).join('');
  const initramfs = encodeInitramfs(
    ['bin', 'dev', 'modules', 'proc', 'sys'],
    [
      {
        path: 'bin/busybox',
        bytes: readFileSync(join(building, 'work/root/bin/busybox')),
        isExecutable: true,
      },
      { path: 'init', bytes: readFileSync(join(HERE, 'guest/init')), isExecutable: true },
      { path: 'modules/order', bytes: Buffer.from(order), isExecutable: false },
      ...[...modules].map(([name, bytes]) => ({ path: `modules/${name}.ko`, bytes, isExecutable: false })),
    ],
  );
  writeFileSync(join(building, INITRAMFS), initramfs);
}
