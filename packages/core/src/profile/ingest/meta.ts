import type { PerfDataFeatures } from '../../file-formats/perfdata/index.ts';
import type { ProfileMeta } from '../tables/index.ts';

/** What front ends show of the recorded machine, from the header's features. */
export function profileMeta(features: PerfDataFeatures, firstTimeNs: bigint | null): ProfileMeta {
  const clock = features.clockData;
  const startNs =
    clock === undefined || firstTimeNs === null
      ? null
      : clock.wallClockNs + firstTimeNs - clock.clockIdTimeNs;
  return {
    hostname: features.hostname ?? null,
    osRelease: features.osRelease ?? null,
    arch: features.arch ?? null,
    cpuCount: features.cpusOnline ?? null,
    cpuDescription: features.cpuDescription ?? null,
    commandLine: features.commandLine ?? null,
    startTimeUnixMs: startNs === null ? null : Number(startNs / 1_000n) / 1_000,
  };
}
