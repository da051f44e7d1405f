import { type ByteSource, memorySource } from '../../base/index.ts';
import type { FileRequest, OpenedFile, SymbolDriver } from '../../code/symbols/index.ts';
import { archiveError } from './archive-error.ts';
import { inflateGzip, isGzip } from './gzip.ts';
import {
  buildIdLink,
  INDEX_NAME,
  INDEX_VERSION,
  type IndexRow,
  isBuildId,
  keyOf,
  nameInFolder,
  RECORDING_NAME,
  resolveLink,
} from './layout.ts';
import { readTar, type TarEntry } from './tar-reader.ts';

/** A recording with the files that name it, out of `counterpoint archive` or `perf archive`. */
export interface Archive {
  /** The recording; null in archives of perf, which keep it beside them. */
  readonly recording: ByteSource | null;
  /** Answers what the archive has, and nothing else. */
  readonly symbols: SymbolDriver;
  /** Binaries by build id, with the paths that they had. */
  readonly binaries: readonly { readonly buildId: string; readonly path: string; readonly name: string }[];
  /** The archive ends before its end: files may be missing. */
  readonly isCut: boolean;
  /** The file of that name in the folder of a build id (`elf`, `debug`); null if there is none. */
  file(buildId: string, name: string): ByteSource | null;
}

const MOST_INDEX_BYTES = 1 << 26;

/**
 * Opens an archive, plain or compressed by gzip (that is inflated into memory). Nothing is unpacked: files
 * are parts of it. Rejects with `ERR_ARCHIVE` if it is not an archive.
 */
export async function openArchive(given: ByteSource): Promise<Archive> {
  const source = (await isGzip(given)) ? memorySource(await inflateGzip(given)) : given;
  const { entries, isCut } = await readTar(source);
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const part = (name: string): ByteSource | null => {
    const entry = byName.get(name);
    return entry === undefined || entry.linkTarget !== null ? null : partOf(source, entry);
  };
  const folders = foldersOf(entries);
  const file = (buildId: string, name: string) => {
    const folder = folders.get(buildId);
    return folder === undefined ? null : part(`${folder}/${name}`);
  };
  const rows = await readIndex(part(INDEX_NAME));
  const entryOf = new Map(rows.map((row) => [keyOf(row), row.entry]));
  const find = (request: FileRequest): ByteSource | null => {
    const entry = entryOf.get(keyOf(request));
    if (entry !== undefined) return part(entry);
    const name = nameInFolder(request);
    return name === null ? null : file(request.buildId, name);
  };
  const binaries = [...folders].flatMap(([buildId, folder]) =>
    FOLDER_NAMES.filter((name) => byName.has(`${folder}/${name}`)).map((name) => ({
      buildId,
      path: recordedPath(folder),
      name,
    })),
  );
  const recording = part(RECORDING_NAME);
  if (recording === null && binaries.length === 0)
    throw archiveError('the tar has neither a recording nor binaries by build id');
  const symbols: SymbolDriver = {
    async open(request): Promise<OpenedFile | null> {
      const found = find(request);
      // Readers look at names of files for what is beside them: there is nothing beside a part.
      return found;
    },
  };
  return { recording, symbols, binaries, isCut, file };
}

/** Files of a build id that are looked for. */
const FOLDER_NAMES = ['elf', 'debug', 'kallsyms', 'vdso', 'vmlinux'] as const;

/** Folders by build id, by the links that lead to them. A link out of the archive is none. */
function foldersOf(entries: readonly TarEntry[]): Map<string, string> {
  const folders = new Map<string, string>();
  for (const { name, linkTarget } of entries) {
    const match = /^\.build-id\/([0-9a-f]{2})\/([0-9a-f]+)$/.exec(name);
    if (match === null || linkTarget === null) continue;
    const buildId = match[1]! + match[2]!;
    const folder = resolveLink(name, linkTarget);
    if (isBuildId(buildId) && name === buildIdLink(buildId) && folder?.endsWith(`/${buildId}`) === true)
      folders.set(buildId, folder);
  }
  return folders;
}

/** `usr/bin/ls/93ac...` is of `/usr/bin/ls`; perf's special names have no slash before them. */
function recordedPath(folder: string): string {
  const path = folder.slice(0, folder.lastIndexOf('/'));
  return /^\[[^/]*\]$/.test(path) ? path : `/${path}`;
}

function partOf(source: ByteSource, { offset, size }: TarEntry): ByteSource {
  const within = (at: number, length: number) => Math.max(0, Math.min(length, size - at));
  return { size, read: async (at, length) => source.read(offset + at, within(at, length)) };
}

async function readIndex(bytes: ByteSource | null): Promise<IndexRow[]> {
  if (bytes === null) return [];
  if (bytes.size > MOST_INDEX_BYTES) throw archiveError('the index is too large');
  let index: unknown;
  try {
    index = JSON.parse(new TextDecoder().decode(await bytes.read(0, bytes.size)));
  } catch {
    throw archiveError('the index cannot be read');
  }
  const { version, files } = (index ?? {}) as { version?: unknown; files?: unknown };
  if (version !== INDEX_VERSION)
    throw archiveError(`the index has a version that is not known: ${String(version)}`);
  return Array.isArray(files) ? files.filter(isRow) : [];
}

function isRow(row: unknown): row is IndexRow {
  if (typeof row !== 'object' || row === null) return false;
  const { need, path, buildId, pid, entry } = row as Record<keyof IndexRow, unknown>;
  const texts = [need, path, buildId, entry].every((value) => typeof value === 'string');
  return texts && typeof pid === 'number';
}
