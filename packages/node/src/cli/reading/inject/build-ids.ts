import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from '@counterpoint/core/abi';
import { type ByteSource, memorySource } from '@counterpoint/core/base';
import { openElf, readBuildId } from '@counterpoint/core/elf';
import { ingestPerfData } from '@counterpoint/core/ingest';
import { SIDEBAND_TYPES } from '@counterpoint/core/machine';
import { type BuildIdEntry, openPerfData, type PerfDataReader } from '@counterpoint/core/perfdata';
import { decodeRecord, type Mmap2Record } from '@counterpoint/core/records';
import { KERNEL_PATH, VDSO_PATH } from '../../../host/build-id-cache/index.ts';
import { kernelBuildId, openFileSource, readVdso } from '../../../host/locate/index.ts';
import { isOfThisMachine } from '../../../host/open/index.ts';

const ANY_PID = -1;

/**
 * Build ids that the recording does not have, of the binaries that samples and their callers are in, or of
 * all that were mapped: as their files have them now. A file that is gone, or has none, is left out.
 */
export async function missingBuildIds(
  source: ByteSource,
  { all }: { all: boolean },
): Promise<BuildIdEntry[]> {
  const reader = await openPerfData(source);
  const paths = all ? await mappedPaths(reader) : await namedPaths(reader);
  const known = new Set((reader.features.buildIds ?? []).map(({ path }) => path));
  const { hostname, osRelease } = reader.features;
  const isOwn = isOfThisMachine({ hostname: hostname ?? null, osRelease: osRelease ?? null });
  const found: BuildIdEntry[] = [];
  for (const path of paths) {
    if (known.has(path)) continue;
    const isKernel = path === KERNEL_PATH;
    const buildId = isKernel ? (isOwn ? kernelBuildId() : '') : await buildIdAt(path, isOwn);
    const misc = isKernel || isModule(path) ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    if (buildId !== '') found.push({ pid: ANY_PID, misc, buildId, path });
  }
  return found;
}

function isModule(path: string): boolean {
  return /\.ko(?:\.\w+)?$/.test(path);
}

/** Binaries with code that ran, without those whose maps say their build ids. */
async function namedPaths(reader: PerfDataReader): Promise<Set<string>> {
  const { profile } = await ingestPerfData(reader, { aggregate: true });
  return new Set(profile.binaries.filter(({ buildId }) => buildId === '').map(({ path }) => path));
}

async function mappedPaths(reader: PerfDataReader): Promise<Set<string>> {
  const paths = new Set<string>();
  const le = reader.littleEndian;
  await reader.scan({
    record(view, start, end, type) {
      if (!SIDEBAND_TYPES.has(type)) return;
      const layout = reader.events.eventOf(view, start, end, type, le)?.layout ?? null;
      const record = decodeRecord(view, start, end - start, layout, le);
      const { path, buildId } = record as Partial<Mmap2Record>;
      if (path !== undefined && buildId === undefined)
        paths.add(path.replace(/^(\[kernel\.kallsyms\]).*$/s, '$1'));
    },
  });
  return paths;
}

async function buildIdAt(path: string, isOwn: boolean): Promise<string> {
  if (path === VDSO_PATH) {
    const bytes = isOwn ? await readVdso().catch(() => null) : null;
    return bytes === null ? '' : await readBuildId(await openElf(memorySource(bytes)));
  }
  if (!path.startsWith('/') || path.startsWith('//')) return '';
  try {
    const file = await openFileSource(path, { recorded: true });
    try {
      return await readBuildId(await openElf(file));
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}
