import { type Note, type OpenPlan, planEvents, planOpen } from '../perf-events/index.ts';
import { type PlannedFormat, planFormat } from '../sampling/index.ts';
import { realSys } from '../sys/index.ts';
import {
  chooseFormats,
  clockedBy,
  eventsFor,
  eventsOfFormats,
  formatTarget,
  prepareEvents,
} from './format-events.ts';
import { checkRecordOptions } from './option-tables.ts';
import type { RecordOptions } from './options.ts';
import { openTarget, samplingOptions, scopeOf, withClock } from './request.ts';
import { ringBytesPerSecond, ringPages } from './ring-size.ts';

export type { PlannedFormat };

/**
 * Plan everything that `record` would open, and open nothing. `commandPid` stands
 * for the process of the command.
 */
export async function planRecording(
  options: RecordOptions,
  commandPid: number,
): Promise<{ plan: OpenPlan; formats: PlannedFormat[]; notes: Note[] }> {
  checkRecordOptions('planRecording()', options);
  const notes: Note[] = [];
  const scope = scopeOf(options);
  const formats = await chooseFormats(options.formats);
  const events = eventsOfFormats(await eventsFor(options, formats), formats);
  const target = openTarget(scope, options, commandPid);
  const planned = planEvents(
    events.parsed,
    samplingOptions(scope, withClock(scope, clockedBy(formats, options)), notes),
  );
  const forFormats = formatTarget(scope, target, options);
  prepareEvents(planned, formats, events, forFormats, notes, options.callchains);
  const plannedFormats = formats.map((chosen, index) =>
    planFormat(chosen, planned.slice(...events.ranges[index]!), forFormats),
  );
  const sys = options.sys ?? realSys;
  const rate = ringBytesPerSecond(planned);
  const pages = ringPages(options.mmapPages, sys.pageSizeBytes(), target.cpus.length, rate);
  const plan = planOpen(planned, target, pages.wanted, pages.enough);
  return { plan, formats: plannedFormats, notes };
}
