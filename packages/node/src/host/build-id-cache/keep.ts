import { existsSync, readFileSync } from 'node:fs';
import { type ByteSource, FormatError } from '@counterpoint/core/base';
import { openElf, readBuildId, symbolsOnly } from '@counterpoint/core/elf';
import { openPerfData } from '@counterpoint/core/perfdata';
import { hasRawUserStacks } from '@counterpoint/core/unwind';
import { kernelBuildId, openFileSource, readVdso } from '../locate/index.ts';
import { type BuildIdCache, type CachedBinary, KERNEL_PATH, VDSO_PATH } from './build-id-cache.ts';
import { readSampledCode } from './sampled-code.ts';

/** Whole binaries, or only what names and lines are made of. */
export type Kept = 'binaries' | 'symbols';

export interface KeepResult {
  /** New in the cache. */
  readonly added: readonly CachedBinary[];
  /** Why others are not: another file is there by now, or it cannot be copied. */
  readonly failed: readonly { path: string; why: string }[];
}

/**
 * Puts what names the samples of a recording into the cache: the binaries that samples and their callers are
 * in. Stacks that are only unwound later may lead anywhere, so there it is all that were mapped.
 */
export async function keepBinaries(
  recording: ByteSource,
  cache: BuildIdCache,
  kept: Kept,
): Promise<KeepResult> {
  const added: CachedBinary[] = [];
  const failed: { path: string; why: string }[] = [];
  for (const binary of await namedBinaries(recording)) {
    const sort = binary.path === KERNEL_PATH ? 'kallsyms' : binary.path === VDSO_PATH ? 'vdso' : null;
    if (cache.has(binary.buildId, sort ?? 'elf') || (kept === 'symbols' && cache.has(binary.buildId))) {
      cache.touch(binary.buildId);
      continue;
    }
    try {
      const isNew =
        sort === 'kallsyms'
          ? addKernel(cache, binary)
          : sort === 'vdso'
            ? await addVdso(cache, binary)
            : await addFile(cache, binary, kept);
      if (isNew) added.push(binary);
    } catch (error) {
      failed.push({ path: binary.path, why: (error as Error).message });
    }
  }
  return { added, failed };
}

async function namedBinaries(recording: ByteSource): Promise<CachedBinary[]> {
  const reader = await openPerfData(recording);
  const stored = new Map((reader.features.buildIds ?? []).map(({ path, buildId }) => [path, buildId]));
  if (reader.events.events.some(hasRawUserStacks))
    return [...stored].map(([path, buildId]) => ({ path, buildId }));
  return await readSampledCode(reader);
}

async function addFile(cache: BuildIdCache, binary: CachedBinary, kept: Kept): Promise<boolean> {
  if (!binary.path.startsWith('/')) return false;
  const file = await openFileSource(binary.path, { recorded: true });
  try {
    const elf = await openElf(file);
    if ((await readBuildId(elf)) !== binary.buildId)
      throw new Error('another file is there since it was recorded');
    if (kept === 'binaries') {
      const isNew = cache.add(binary, binary.path);
      addDebugFile(cache, binary);
      return isNew;
    }
    if (addDebugFile(cache, binary)) return true;
    const pieces = await symbolsOnly(elf);
    return pieces !== null && cache.add(binary, Buffer.concat(pieces), 'debug');
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  } finally {
    await file.close();
  }
}

/** Of a distribution, as perf takes it along. */
function addDebugFile(cache: BuildIdCache, binary: CachedBinary): boolean {
  const { buildId } = binary;
  const path = `/usr/lib/debug/.build-id/${buildId.slice(0, 2)}/${buildId.slice(2)}.debug`;
  return existsSync(path) && cache.add(binary, path, 'debug');
}

/** Names of the running kernel, unless it hides its addresses. */
function addKernel(cache: BuildIdCache, binary: CachedBinary): boolean {
  if (kernelBuildId() !== binary.buildId) return false;
  const bytes = readFileSync('/proc/kallsyms');
  if (!/^0*[1-9a-f]/m.test(bytes.toString('latin1', 0, 1 << 16))) return false;
  return cache.add(binary, bytes, 'kallsyms');
}

async function addVdso(cache: BuildIdCache, binary: CachedBinary): Promise<boolean> {
  const bytes = await readVdso();
  return bytes !== null && cache.add(binary, bytes, 'vdso');
}
