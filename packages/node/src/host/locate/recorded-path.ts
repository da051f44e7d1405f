import { posix, win32 } from 'node:path';

/**
 * Paths in a recording are those of the Linux machine that it was made on. Here they lead to something only
 * where this is Linux, too, or under a directory that holds a copy of that machine's files (perf's --symfs).
 *
 *   recorded                 Linux                     elsewhere          elsewhere, with --symfs
 *   /usr/lib/libc.so.6       /usr/lib/libc.so.6        none               SYMFS/usr/lib/libc.so.6
 */
export type Host = Pick<NodeJS.Process, 'platform'>;

/** How paths of this machine are put together. */
export function hostPaths({ platform }: Host = process): typeof posix {
  return platform === 'win32' ? win32 : posix;
}

/** Where a recorded path is on this machine; null where it can be nowhere. */
export function onThisMachine(recorded: string, symfs: string, host: Host = process): string | null {
  if (host.platform === 'linux') return symfs + recorded;
  if (symfs === '') return null;
  if (host.platform !== 'win32') return symfs + recorded;
  const names = recorded.split('/').filter((name) => name !== '' && name !== '.');
  return names.every(isWindowsName) ? win32.join(symfs, ...names) : null;
}

/**
 * Characters that lead elsewhere (a drive, a stream of a file) or are refused, ends that Windows cuts
 * off, and devices. `..` ends in a dot.
 */
function isWindowsName(name: string): boolean {
  if (/[<>:"\\|?*\p{Cc}]|[. ]$/u.test(name)) return false;
  return !/^(?:con|prn|aux|nul|com.|lpt.|conin\$|conout\$)(?:\.|$)/i.test(name);
}
