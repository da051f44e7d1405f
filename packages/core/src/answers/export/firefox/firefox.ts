import type { Profile } from '../../../profile/tables/index.ts';
import { ByteWriter } from '../byte-writer.ts';
import { lossLine, VENDOR_KEY, vendorFacts } from '../loss-words.ts';
import { type ExportOptions, type ExportPlan, planExport } from '../options.ts';
import { CATEGORIES, GECKO_VERSION, MARKER_SCHEMA, PROCESSED_VERSION } from './facts.ts';
import { libraryOf } from './libraries.ts';
import { SharedTables } from './shared-tables.ts';
import { cpuUnit, ThreadList } from './threads.ts';

/**
 * A profile for profiler.firefox.com ("processed profile" JSON). Every sample with its time, losses
 * as markers on the timeline and in the profile's information panel, V8's tiers as subcategories,
 * build ids for later symbolication.
 */
export function* writeFirefox(
  profile: Profile,
  options: ExportOptions = {},
): Generator<Uint8Array<ArrayBuffer>> {
  const plan = planExport(profile, options, 'period');
  const tables = new SharedTables(profile);
  const threads = new ThreadList(profile, plan);
  const out = new ByteWriter();
  out.text('{"meta":');
  out.json(metaOf(profile, plan, threads));
  out.text(',"libs":');
  out.json(profile.binaries.map((binary) => libraryOf(binary, profile.meta.arch)));
  out.text(',"pages":[],"threads":');
  yield* threads.write(out, tables);
  // After the threads, whose markers add strings.
  out.text(',"shared":');
  yield* tables.write(out);
  out.text('}\n');
  yield out.take();
}

function metaOf(profile: Profile, plan: ExportPlan, threads: ThreadList): Record<string, unknown> {
  const { meta } = profile;
  const unit = cpuUnit(plan.event.name, plan.event.unit);
  return {
    version: GECKO_VERSION,
    preprocessedProfileVersion: PROCESSED_VERSION,
    product: `${plan.title} · ${plan.event.name} · ${lossLine(profile)}`,
    importedFrom: 'Counterpoint',
    interval: threads.intervalNs / 1e6,
    startTime: meta.startTimeUnixMs ?? 0,
    processType: 0,
    stackwalk: 1,
    debug: false,
    categories: CATEGORIES,
    markerSchema: MARKER_SCHEMA,
    symbolicated: true,
    sourceCodeIsNotOnSearchfox: true,
    usesOnlyOneStackType: !profile.binaries.some((binary) => binary.kind === 'jit'),
    platform: 'Linux',
    oscpu: ['Linux', meta.osRelease, meta.arch].filter((part) => part !== null).join(' '),
    ...(meta.cpuCount === null ? {} : { logicalCPUs: meta.cpuCount }),
    ...(meta.cpuDescription === null ? {} : { CPUName: meta.cpuDescription }),
    ...(meta.commandLine === null ? {} : { arguments: meta.commandLine.join(' ') }),
    ...(unit === null ? {} : { sampleUnits: { time: 'ms', eventDelay: 'ms', threadCPUDelta: unit } }),
    extra: [
      {
        label: 'Recording',
        entries: [
          { label: 'Event', format: 'string', value: plan.event.name },
          { label: 'Lost data', format: 'string', value: lossLine(profile) },
        ],
      },
    ],
    [VENDOR_KEY]: vendorFacts(profile, plan.event.name),
  };
}
