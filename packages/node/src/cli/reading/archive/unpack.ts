import { type ByteSource, CounterpointError, FormatError, printable } from '@counterpoint/core/base';
import { openElf, readBuildId } from '@counterpoint/core/elf';
import { openArchiveFile } from '../../../host/archive-files/index.ts';
import { BuildIdCache, type FileSort } from '../../../host/build-id-cache/index.ts';
import { openFileSource } from '../../../host/locate/index.ts';
import { EXIT_FAILURE, EXIT_OK, type VerbContext } from '../../common/args.ts';
import type { ArchiveName } from './archive.ts';

const SORTS: ReadonlySet<string> = new Set<FileSort>(['elf', 'debug', 'kallsyms', 'vdso']);

/**
 * `--unpack`: binaries go into the cache under the build ids that they have,
 * wherever the archive says they were.
 */
export async function unpackArchive(
  path: string,
  { args, out, err }: VerbContext<ArchiveName>,
): Promise<number> {
  const source = await openFileSource(path);
  const opened = await openArchiveFile(source);
  if (opened === null) {
    await source.close();
    throw new CounterpointError(
      'ERR_ARCHIVE',
      `${printable(path)} is no archive`,
      'Name a file that `counterpoint archive` or `perf archive` made.',
    );
  }
  const { archive, close } = opened;
  const cache = new BuildIdCache();
  const added: { buildId: string; path: string }[] = [];
  let failures = 0;
  try {
    for (const { buildId, path: recordedPath, name } of archive.binaries) {
      const bytes = archive.file(buildId, name);
      if (bytes === null || !SORTS.has(name)) continue;
      const sort = name as FileSort;
      const binary = { buildId, path: recordedPath };
      if (sort !== 'kallsyms' && !(await hasBuildId(bytes, buildId))) {
        failures++;
        err.line(printable(`counterpoint archive: ${recordedPath}: its build id is not ${buildId}`));
      } else if (!cache.has(buildId, sort) && cache.add(binary, await bytes.read(0, bytes.size), sort))
        added.push(binary);
    }
    if (archive.isCut) {
      failures++;
      err.line(printable(`counterpoint archive: ${path} is cut off: files may be missing`));
    }
  } finally {
    await close();
  }
  if (args.boolean('json')) out.json({ type: 'unpacked', version: 1, cache: cache.folder, added });
  else out.line(printable(`${added.length} files added to ${cache.folder}`));
  return failures > 0 ? EXIT_FAILURE : EXIT_OK;
}

async function hasBuildId(bytes: ByteSource, buildId: string): Promise<boolean> {
  try {
    return (await readBuildId(await openElf(bytes))) === buildId;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}
