import { FEATURE_TRACING_DATA } from '@counterpoint/core/abi';
import type { EventGroup, PerfDataFeatures, WrittenEvent } from '@counterpoint/core/perfdata';
import type { SessionEvent } from '../session/index.ts';
import type { Sys } from '../sys/index.ts';
import { machineFeatures } from './machine-features.ts';
import type { RecordOptions } from './options.ts';
import { tracingData } from './tracing-data.ts';

const CLOCK_REALTIME = 0;
const CLOCK_DATA_VERSION = 1;

/** The events as the file names them. */
export function writtenEvents(events: readonly SessionEvent[]): WrittenEvent[] {
  return events.map(({ attr, instances, name }) => ({ attr, name, ids: instances.map(({ id }) => id) }));
}

/** What the recording says of its machine and of itself, as far as it is known while it runs. */
export function recordingFeatures(
  sys: Sys,
  events: readonly SessionEvent[],
  options: RecordOptions,
): Partial<PerfDataFeatures> {
  const features: Partial<PerfDataFeatures> = {
    ...machineFeatures(),
    // Sections that perf has too, with nothing in them: no BPF programs are described.
    bpfProgInfo: new Uint8Array(4),
    bpfBtf: new Uint8Array(4),
    version: options.toolVersion ?? 'counterpoint',
    commandLine: [...(options.commandLine ?? ['counterpoint', 'record', ...(options.command ?? [])])],
  };
  const groups = groupsOf(events);
  if (groups.length > 0) features.groups = groups;
  const { clockId } = options;
  if (clockId !== undefined) {
    features.clockIdResolutionNs = sys.clockResolutionNs(clockId);
    features.clockData = {
      version: CLOCK_DATA_VERSION,
      clockId,
      wallClockNs: sys.clockNs(CLOCK_REALTIME),
      clockIdTimeNs: sys.clockNs(clockId),
    };
  }
  const tracing = tracingData(
    events.map(({ tracepoint }) => tracepoint).filter((one) => one !== null),
    sys.pageSizeBytes(),
  );
  if (tracing !== null) features.raw = new Map([[FEATURE_TRACING_DATA, tracing]]);
  return features;
}

function groupsOf(events: readonly SessionEvent[]): EventGroup[] {
  return events.flatMap((_, leaderIndex) => {
    const members = events.filter(({ leader }) => leader === leaderIndex).length;
    return members === 0 ? [] : [{ name: '', leaderIndex, memberCount: members + 1 }];
  });
}
