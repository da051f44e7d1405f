import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import type { FileRequest } from '@counterpoint/core/symbols';
import { type Host, hostPaths, onThisMachine } from './recorded-path.ts';

/** Where files are looked for on this machine. */
export interface Places {
  /** perf's build-id cache, `~/.debug`. */
  buildIdDir: string;
  /** `/usr/lib/debug`. */
  debugDirs: string[];
  /** Put before every path of the recording (perf's --symfs); empty for this machine's own files. */
  symfs: string;
  /** What this machine is; this process says it. */
  host?: Host;
}

/** Where recorded paths are, without those that can be nowhere. Each has its own root. */
function recordedPaths({ symfs, host }: Places, paths: readonly string[], root = symfs): string[] {
  return paths.map((path) => onThisMachine(path, root, host)).filter((path) => path !== null);
}

/** Build ids come out of files and go into paths: only hex, two bytes at least. */
export function isBuildId(text: string): boolean {
  return /^[0-9a-f]{4,128}$/.test(text);
}

/**
 * perf's cache: a directory per build id (older perfs: a link to one), which holds the file under what it is.
 *
 *     ~/.debug/.build-id/93/ac61ec5a8eb1396f9fbd350e3169a558528a40/elf
 */
export function cachedPath(
  places: Places,
  buildId: string,
  what: 'elf' | 'debug' | 'vdso' | 'kallsyms',
): string[] {
  if (!isBuildId(buildId)) return [];
  return [`${places.buildIdDir}/.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}/${what}`];
}

/** Paths a binary may have: as its process sees it, as we see it, then the cache. */
export function binaryPaths(places: Places, request: FileRequest, root: string): string[] {
  // The kernel marks the path of a file that was unlinked while it was mapped; a build
  // id tells what took its place.
  const path = request.buildId === '' ? request.path : request.path.replace(/ \(deleted\)$/, '');
  const paths: string[] = [];
  if (path.startsWith('/')) {
    if (root !== '') paths.push(root + path);
    paths.push(...recordedPaths(places, [path]));
  }
  return [...paths, ...cachedPath(places, request.buildId, 'elf')];
}

/** Paths a kernel image with symbols may have, as distributions place it. */
export function kernelImagePaths(places: Places, buildId: string, release: string): string[] {
  return [
    ...(isBuildId(buildId)
      ? [`${places.buildIdDir}/.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}/vmlinux`]
      : []),
    ...buildIdDebugPaths(places, buildId),
    ...cachedPath(places, buildId, 'elf'),
    ...places.debugDirs.flatMap((directory) => [
      `${directory}/boot/vmlinux-${release}`,
      `${directory}/lib/modules/${release}/vmlinux`,
    ]),
    ...recordedPaths(places, [`/boot/vmlinux-${release}`, `/lib/modules/${release}/build/vmlinux`]),
  ];
}

/** Paths a separate debug file may have. */
export function debugPaths(places: Places, request: FileRequest, root: string): string[] {
  const { path, debugLink } = request;
  const paths = [
    ...cachedPath(places, request.buildId, 'debug'),
    ...buildIdDebugPaths(places, request.buildId),
    ...(root === '' ? [] : buildIdDebugPaths(inside(places, root), request.buildId)),
  ];
  if (!path.startsWith('/')) return paths;
  for (const prefix of root === '' ? [places.symfs] : [root, places.symfs]) {
    if (debugLink !== null && debugLink !== undefined) {
      // GDB's order: beside the binary, in .debug there, and under the global directories.
      const directory = posix.dirname(path);
      const beside = [`${directory}/${debugLink.name}`, `${directory}/.debug/${debugLink.name}`];
      const global = places.debugDirs.map((one) => `${one}${directory}/${debugLink.name}`);
      paths.push(...recordedPaths(places, [...beside, ...global], prefix));
    }
    // Fedora and Ubuntu before build ids.
    const old = places.debugDirs.flatMap((one) => [`${one}${path}.debug`, `${one}${path}`]);
    paths.push(...recordedPaths(places, old, prefix));
  }
  const itself = new Set(binaryPaths(places, request, root));
  return paths.filter((one) => !itself.has(one));
}

/** Paths of the file that dwz made for several binaries: as one of them names it, and by its build id. */
export function sharedDebugPaths(
  places: Places,
  { path, buildId, beside }: FileRequest,
  root: string,
): string[] {
  const named = path.startsWith('/')
    ? [...(root === '' ? [] : [root + path]), ...recordedPaths(places, [path])]
    : beside === undefined
      ? []
      : [hostPaths(places.host).join(hostPaths(places.host).dirname(beside), path)];
  return [...named, ...cachedPath(places, buildId, 'debug'), ...buildIdDebugPaths(places, buildId)];
}

/** Paths of a file of split debug information: where the compiler wrote it. */
export function splitDebugPaths(places: Places, { path }: FileRequest, root: string): string[] {
  if (!path.startsWith('/')) return [];
  return [...(root === '' ? [] : [root + path]), ...recordedPaths(places, [path])];
}

/**
 * Copies of a kernel's memory in perf's cache, the newest first:
 *
 *     ~/.debug/[kernel.kcore]/93ac61ec5a8eb1396f9fbd350e3169a558528a40/2026112117055500/kcore
 */
export async function kernelCorePaths(places: Places, buildId: string): Promise<string[]> {
  if (!isBuildId(buildId)) return [];
  const folder = `${places.buildIdDir}/[kernel.kcore]/${buildId}`;
  const times = await readdir(folder).catch(() => []);
  return times
    .sort()
    .reverse()
    .map((time) => `${folder}/${time}/kcore`);
}

function buildIdDebugPaths(places: Places, buildId: string): string[] {
  if (!isBuildId(buildId)) return [];
  const name = `.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}.debug`;
  return recordedPaths(
    places,
    places.debugDirs.map((directory) => `${directory}/${name}`),
  );
}

function inside(places: Places, root: string): Places {
  return { ...places, symfs: root };
}
