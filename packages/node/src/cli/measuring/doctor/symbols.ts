import { openElf, readBuildId } from '@counterpoint/core/elf';
import { openFileSource } from '../../../host/locate/index.ts';
import type { Check, KernelFiles } from '../../../linux/kernel/probe/index.ts';

/**
 * Servers that the distributions run, and packages with the symbols of the C library, by ID of os-release(5).
 */
const DISTRIBUTIONS: Readonly<Record<string, { install: string; server: string }>> = {
  debian: { install: 'apt-get install libc6-dbg', server: 'https://debuginfod.debian.net' },
  ubuntu: { install: 'apt-get install libc6-dbg', server: 'https://debuginfod.ubuntu.com' },
  fedora: { install: 'dnf debuginfo-install glibc', server: 'https://debuginfod.fedoraproject.org' },
  arch: { install: '', server: 'https://debuginfod.archlinux.org' },
};
const FOR_ALL = { install: '', server: 'https://debuginfod.elfutils.org' };

/** The C library that this process runs on. */
export function libraryPath(files: KernelFiles): string | null {
  const maps = files.read('/proc/self/maps') ?? '';
  return /\s(\/\S*\/(?:libc(?:-[\d.]+)?\.so(?:\.6)?|ld-musl-\S+))$/m.exec(maps)?.[1] ?? null;
}

/** Lower-case hex, or empty where it cannot be read. */
export async function buildIdOf(path: string): Promise<string> {
  try {
    const source = await openFileSource(path);
    try {
      return await readBuildId(await openElf(source));
    } finally {
      await source.close();
    }
  } catch {
    // Not readable or not ELF: the check says that it has no build id.
    return '';
  }
}

/** Whether functions that a library does not export have names: its debug file, shown by the C library's. */
export function checkDebugSymbols(
  files: KernelFiles,
  library: { path: string | null; buildId: string },
  environment: Readonly<Record<string, string | undefined>>,
): Check {
  const name = 'debug symbols';
  const { path, buildId } = library;
  const servers = environment['DEBUGINFOD_URLS']?.trim() ?? '';
  const id = /^ID="?([\w-]+)"?$/m.exec(files.read('/etc/os-release') ?? '')?.[1] ?? '';
  const { install, server } = DISTRIBUTIONS[id] ?? FOR_ALL;
  const facts = { library: path, buildId: buildId === '' ? null : buildId, debuginfod: servers !== '' };
  if (path === null || buildId === '') {
    const why = 'the C library of this process has no build id, so its symbols cannot be looked up';
    return { name, state: 'unknown', why, fix: '', facts, isDetail: true };
  }
  const file = `/usr/lib/debug/.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}.debug`;
  if (files.obstacle(file) === null)
    return { name, state: 'ok', why: `those of ${path} are installed`, fix: '', facts, isDetail: true };
  if (servers !== '') {
    const why = `fetched by build id from DEBUGINFOD_URLS (${servers})`;
    return { name, state: 'ok', why, fix: '', facts, isDetail: true };
  }
  const ways = [
    ...(install === '' ? [] : [`For the C library: ${install}`]),
    `For all: export DEBUGINFOD_URLS=${server}`,
  ];
  const why = `${path} has no debug symbols installed: functions that it does not export have no names`;
  return { name, state: 'absent', why, fix: ways.join('\n'), facts };
}
