import type { FileNeed, FileRequest } from '../../code/symbols/index.ts';

/** Where things are in an archive. */
export const RECORDING_NAME = 'counterpoint/perf.data';
export const INDEX_NAME = 'counterpoint/index.json';
export const FILES_FOLDER = 'counterpoint/files/';

/** Version of the form of the index. */
export const INDEX_VERSION = 1;

/** Which entry answers a question: a row of the index. */
export interface IndexRow {
  need: FileNeed;
  path: string;
  buildId: string;
  pid: number;
  entry: string;
}

/** perf's names of files in the folder of a build id. */
const NAMES: Partial<Record<FileNeed, string>> = {
  binary: 'elf',
  debug: 'debug',
  'shared-debug': 'debug',
  kallsyms: 'kallsyms',
  vdso: 'vdso',
};

export function isBuildId(text: string): boolean {
  return /^[0-9a-f]{4,128}$/.test(text);
}

/** Name of a file in the folder of its build id; null where perf has no place for it. */
export function nameInFolder({ need, path, buildId, pid }: Omit<FileRequest, 'required'>): string | null {
  if (!isBuildId(buildId)) return null;
  if (need === 'binary' && pid < 0 && path === 'vmlinux') return 'vmlinux';
  return NAMES[need] ?? null;
}

/** Folder of a build id: the recorded path as a name, then the build id. */
export function folderOf({ need, path, buildId }: Pick<FileRequest, 'need' | 'path' | 'buildId'>): string {
  const special = need === 'kallsyms' || path === 'vmlinux' ? '[kernel.kallsyms]' : null;
  const name = special ?? (need === 'vdso' ? '[vdso]' : insideName(path));
  return `${name}/${buildId}`;
}

/** `.build-id/93/ac61...` */
export function buildIdLink(buildId: string): string {
  return `.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}`;
}

/** A path as a relative one without `.` and `..`. */
export function insideName(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/') || 'unnamed';
}

/** Where a link leads, as a name in the archive; null where that is outside. */
export function resolveLink(from: string, target: string): string | null {
  if (target.startsWith('/')) return null;
  const parts = from.split('/').slice(0, -1);
  for (const part of target.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join('/');
}

/** How questions are told apart. A build id says more than a path, which may be another one elsewhere. */
export function keyOf({ need, path, buildId, pid }: Omit<IndexRow, 'entry'>): string {
  if (isBuildId(buildId) && need !== 'kallsyms') return `${need} ${buildId}`;
  if (need === 'kallsyms' || need === 'modules') return `${need} ${buildId}`;
  return need === 'perf-map' ? `${need} ${pid}` : `${need} ${path}`;
}
