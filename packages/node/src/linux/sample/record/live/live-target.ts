/** From the request of a live profile to open events and a loaded handler. */
import { diskDriver } from '../../../../host/locate/index.ts';
import {
  type Note,
  type OpenTarget,
  planEvents,
  type SampledEvents,
} from '../../../kernel/perf-events/index.ts';
import { realSys, type Sys } from '../../../kernel/sys/index.ts';
import type { HeldCommand } from '../../../kernel/target/index.ts';
import { FormatRun, liveHistogram } from '../../formats/index.ts';
import { eventsFor, eventsOfFormats, formatRequests, formatTarget, prepareEvents } from '../format-events.ts';
import { type Launched, launch } from '../launch.ts';
import { openForScope } from '../open-scope.ts';
import { openTarget, type Scope, samplingOptions, scopeOf } from '../request.ts';
import { ringPages } from '../ring-size.ts';
import { refuseSoftEvents } from '../soft-plan.ts';
import type { LiveProfileOptions } from './live-options.ts';

/** Only processes and maps are recorded: a pass over the rings is made at each look, and when they fill. */
const RING_PAGES = 64;
const DEFAULT_FREQUENCY_HZ = 4000;
const LEAST_BUCKETS = 4096;
const MOST_BUCKETS = 65_536;
/** The buckets are emptied at least so often, however long it is to the next look. */
export const MOST_DRAIN_MS = 5000;

export interface LiveTarget {
  readonly sys: Sys;
  readonly scope: Scope;
  readonly target: OpenTarget;
  readonly sampled: SampledEvents;
  readonly run: FormatRun;
  readonly held: HeldCommand | null;
  readonly commandNames: Launched['names'];
  readonly notes: Note[];
}

/** All or nothing, and everything that can be refused is refused before the command runs. */
export async function openLiveTarget(options: LiveProfileOptions, drainMs: number): Promise<LiveTarget> {
  const sys = options.sys ?? realSys;
  const notes: Note[] = [];
  const scope = scopeOf(options);
  const placeholder = { format: liveHistogram, options: { maxEntries: LEAST_BUCKETS, interval: drainMs } };
  const chosen = [placeholder];
  const wanted = await eventsFor(options, chosen);
  refuseSoftEvents(wanted);
  const events = eventsOfFormats(wanted, chosen);
  const launched = launch(options, notes);
  const held = launched?.held ?? null;
  try {
    const planTarget = openTarget(scope, options, held?.pid ?? null);
    const sampling = { ...options, formats: [{ format: liveHistogram }] };
    const planned = planEvents(events.parsed, samplingOptions(scope, sampling, notes));
    const forFormats = formatTarget(scope, planTarget, options);
    placeholder.options.maxEntries = bucketCount(options, drainMs, events.parsed.length);
    prepareEvents(planned, chosen, events, forFormats, notes);
    const pages = ringPages(RING_PAGES, sys.pageSizeBytes(), planTarget.cpus.length);
    const attach = (opened: SampledEvents, whom: OpenTarget) => {
      const [request] = formatRequests(opened, chosen, events, formatTarget(scope, whom, options));
      return FormatRun.open(sys, request!);
    };
    const opening = { sys, scope, options, target: planTarget, planned, pages, notes, attach };
    const { sampled, target, attached: run } = openForScope(opening);
    return { sys, scope, target, sampled, run, held, commandNames: launched?.names ?? null, notes };
  } catch (error) {
    held?.kill('SIGTERM');
    held?.[Symbol.dispose]();
    throw error;
  }
}

/**
 * For each CPU: room for every overflow to be at an address of its own, within reason: what
 * is too much is counted as lost.
 */
function bucketCount({ frequency, period }: LiveProfileOptions, drainMs: number, events: number): number {
  if (period !== undefined || frequency === 'max') return MOST_BUCKETS;
  const overflows = ((frequency ?? DEFAULT_FREQUENCY_HZ) * drainMs * events) / 1000;
  return Math.min(MOST_BUCKETS, Math.max(LEAST_BUCKETS, 2 ** Math.ceil(Math.log2(overflows * 1.25))));
}

/** Names by the files of this machine. Nothing is downloaded: a look does not wait for a network. */
export function liveSymbols(): ReturnType<typeof diskDriver> {
  return diskDriver({ environment: { ...process.env, DEBUGINFOD_URLS: '' } });
}
