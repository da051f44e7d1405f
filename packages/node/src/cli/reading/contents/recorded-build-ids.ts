import type { PerfDataReader } from '@counterpoint/core/perfdata';
import { buildIdsOfMaps } from './mapped-build-ids.ts';

/** The build ids of a recording's binaries by their paths. Reads it to its end. */
export async function recordedBuildIds(reader: PerfDataReader): Promise<Map<string, string>> {
  // A stream has them behind its samples; newer recordings, in the records of maps.
  const byPath = new Map<string, string>();
  await reader.scan(buildIdsOfMaps(reader, byPath));
  for (const { path, buildId } of reader.features.buildIds ?? []) byPath.set(path, buildId);
  return byPath;
}
