import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { FormatError, printable } from '@counterpoint/core/base';
import { openElf, readBuildId } from '@counterpoint/core/elf';
import { BuildIdCache, type CachedBinary } from '../../../host/build-id-cache/index.ts';
import { openFileSource } from '../../../host/locate/index.ts';
import { EXIT_FAILURE, EXIT_OK, refuseWords, type VerbContext } from '../../common/args.ts';
import { UsageError } from '../../common/usage-error.ts';
import type { BuildIdCacheName } from './buildid-cache.ts';

type Context = VerbContext<BuildIdCacheName>;

/** One look, or changes in perf's order: added, removed, purged, updated. */
export async function runBuildIdCache(context: Context): Promise<number> {
  const { args } = context;
  refuseWords(args);
  const cache = new BuildIdCache();
  if (args.boolean('list')) return printBinaries(cache.list(), context);
  const missing = args.string('missing');
  if (missing !== undefined) return printBinaries(await missingIn(cache, missing), context);
  const given = (['add', 'remove', 'purge', 'purge-all', 'update', 'trim'] as const).filter((name) =>
    args.has(name),
  );
  if (given.length === 0)
    throw new UsageError('nothing is asked for', 'Ask what there is (-l), or change it (-a FILE).');
  const changes = new CacheChanges(cache, context);
  for (const path of args.list('add')) await changes.add(path);
  for (const path of args.list('remove')) await changes.remove(path);
  for (const path of args.list('purge')) changes.purge(path);
  if (args.boolean('purge-all')) for (const binary of cache.list()) changes.drop(binary);
  for (const path of args.list('update')) await changes.update(path);
  const mostBytes = args.sizeBytes('trim');
  if (mostBytes !== undefined) for (const binary of cache.trim(mostBytes)) changes.tell('Removed', binary);
  return changes.failures > 0 ? EXIT_FAILURE : EXIT_OK;
}

function printBinaries(binaries: readonly CachedBinary[], { args, out }: Context): number {
  if (args.boolean('json')) out.json({ type: 'build-ids', version: 1, binaries });
  else for (const { buildId, path } of binaries) out.line(printable(`${buildId} ${path}`));
  return EXIT_OK;
}

async function missingIn(cache: BuildIdCache, recordingPath: string): Promise<CachedBinary[]> {
  const [{ openRecording }, { recordedBuildIds }] = await Promise.all([
    import('../../../host/open/index.ts'),
    import('./recorded-build-ids.ts'),
  ]);
  await using recording = await openRecording(recordingPath);
  const recorded = await recordedBuildIds(await recording.reader());
  return [...recorded]
    .map(([path, buildId]) => ({ buildId, path }))
    .filter(({ buildId }) => !cache.has(buildId));
}

/** What is done for each file, and how it went. A file that cannot be done does not stop the others. */
class CacheChanges {
  failures = 0;
  readonly #cache: BuildIdCache;
  readonly #context: Context;

  constructor(cache: BuildIdCache, context: Context) {
    this.#cache = cache;
    this.#context = context;
  }

  async add(path: string): Promise<void> {
    const binary = await this.#binaryOf(path);
    if (binary === null) return;
    this.#try(path, () => {
      const isNew = this.#cache.add(binary, binary.path);
      this.tell(isNew ? 'Added' : 'Is there already:', binary);
    });
  }

  async update(path: string): Promise<void> {
    const binary = await this.#binaryOf(path);
    if (binary === null) return;
    this.#try(path, () => {
      this.#cache.remove(binary.buildId);
      this.#cache.add(binary, binary.path);
      this.tell('Updated', binary);
    });
  }

  async remove(path: string): Promise<void> {
    const binary = await this.#binaryOf(path);
    if (binary === null) return;
    if (this.#cache.has(binary.buildId)) this.drop(binary);
    else this.#fail(path, `the cache has no binary with its build id, ${binary.buildId}`);
  }

  /** Whatever file is there now. */
  purge(path: string): void {
    const places = new Set([path, realPath(path)]);
    const binaries = this.#cache.list().filter((binary) => places.has(binary.path));
    if (binaries.length === 0) this.#fail(path, 'the cache has no binary that was there');
    for (const binary of binaries) this.drop(binary);
  }

  drop(binary: CachedBinary): void {
    this.#try(binary.path, () => {
      this.#cache.remove(binary.buildId);
      this.tell('Removed', binary);
    });
  }

  tell(what: string, { buildId, path }: CachedBinary): void {
    const { args, err } = this.#context;
    if (args.boolean('verbose')) err.line(printable(`${what} ${buildId} ${path}`));
  }

  async #binaryOf(path: string): Promise<CachedBinary | null> {
    try {
      const file = await openFileSource(path);
      try {
        const buildId = await readBuildId(await openElf(file));
        if (buildId !== '') return { buildId, path: realPath(path) };
        this.#fail(path, 'it has no build id: link it with -Wl,--build-id');
      } finally {
        await file.close();
      }
    } catch (error) {
      this.#fail(path, error instanceof FormatError ? 'it is not an ELF file' : (error as Error).message);
    }
    return null;
  }

  #try(path: string, change: () => void): void {
    try {
      change();
    } catch (error) {
      this.#fail(path, (error as Error).message);
    }
  }

  #fail(path: string, why: string): void {
    this.failures++;
    this.#context.err.line(printable(`counterpoint buildid-cache: ${path}: ${why}`));
  }
}

function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}
