import { FEATURE_TRACING_DATA, PERF_SAMPLE_BRANCH_STACK } from '@counterpoint/core/abi';
import type { EventGroup, PerfDataFeatures, WrittenEvent } from '@counterpoint/core/perfdata';
import type { SampledEvent } from '../../kernel/perf-events/index.ts';
import type { Sys } from '../../kernel/sys/index.ts';
import { machineFeatures } from './machine-features.ts';
import type { RecordOptions } from './options.ts';
import { tracingData } from './tracing-data.ts';

const CLOCK_REALTIME = 0;
const CLOCK_DATA_VERSION = 1;

/** The events as the file names them. */
export function writtenEvents(events: readonly SampledEvent[]): WrittenEvent[] {
  return events.map(({ attr, instances, name, writtenAs }) => ({
    attr: writtenAs === undefined ? attr : { ...attr, ...writtenAs },
    name,
    ids: instances.map(({ id }) => id),
  }));
}

/** What the recording says of its machine and of itself, as far as it is known while it runs. */
export function recordingFeatures(
  sys: Sys,
  events: readonly SampledEvent[],
  options: RecordOptions,
): Partial<PerfDataFeatures> {
  const features: Partial<PerfDataFeatures> = {
    ...machineFeatures(),
    // Sections that perf has too, with nothing in them: no BPF programs are described.
    bpfProgInfo: new Uint8Array(4),
    bpfBtf: new Uint8Array(4),
    version: options.toolVersion ?? 'counterpoint',
    commandLine: [...(options.commandLine ?? commandLine(options))],
  };
  if (events.some(({ attr }) => (attr.sampleType & BigInt(PERF_SAMPLE_BRANCH_STACK)) !== 0n))
    features.branchStack = true;
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

/** What the command line of the same recording would be, so far as it says what was watched. */
function commandLine({ command = [], pids = [], tids = [], systemWide, cpus }: RecordOptions): string[] {
  return [
    'counterpoint',
    'record',
    ...(pids.length > 0 ? ['-p', pids.join(',')] : []),
    ...(tids.length > 0 ? ['-t', tids.join(',')] : []),
    ...(systemWide === true ? ['-a'] : []),
    ...(cpus === undefined ? [] : ['-C', cpus.join(',')]),
    ...(command.length > 0 ? ['--', ...command] : []),
  ];
}

function groupsOf(events: readonly SampledEvent[]): EventGroup[] {
  return events.flatMap((_, leaderIndex) => {
    const members = events.filter(({ leader }) => leader === leaderIndex).length;
    return members === 0 ? [] : [{ name: '', leaderIndex, memberCount: members + 1 }];
  });
}
