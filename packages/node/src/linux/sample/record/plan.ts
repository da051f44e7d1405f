import { type Note, type OpenPlan, planEvents, planOpen, ringCount } from '../../kernel/perf-events/index.ts';
import { realSys } from '../../kernel/sys/index.ts';
import { type PlannedFormat, planFormat } from '../formats/index.ts';
import { withChosenStacks } from './auto-stacks.ts';
import { placeInCgroups } from './event-scope.ts';
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
import { openTarget, samplingOptions, scopeOf, withClock, withPerThread } from './request.ts';
import { noteRounding, ringBytesPerSecond, ringPages } from './ring-size.ts';
import { clockedForSoft, planSoftEvents, withSoftPeriods } from './soft-plan.ts';
import { besideTrace, hasTrace, planRecordedTrace, ringPagesBeside, tracedFirst } from './trace-plan.ts';

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
  const chosen = await withChosenStacks(withPerThread(options, scope), scope, notes);
  const formats = await chooseFormats(chosen.formats);
  const sampled = tracedFirst(withSoftPeriods(await eventsFor(chosen, formats)), chosen);
  const isTraced = hasTrace(sampled);
  const events = eventsOfFormats(sampled, formats);
  const soft = clockedForSoft(sampled, scope, clockedBy(formats, chosen));
  const clocked = isTraced ? soft : withClock(scope, soft);
  const target = openTarget(scope, chosen, commandPid);
  const sys = chosen.sys ?? realSys;
  const sampling = samplingOptions(scope, clocked, notes);
  const planned = planEvents(events.parsed, isTraced ? besideTrace(sampling) : sampling);
  const trace = planRecordedTrace(events.parsed, planned, chosen, sys);
  planSoftEvents(planned);
  placeInCgroups(planned, chosen);
  const forFormats = formatTarget(scope, target, chosen);
  prepareEvents(planned, formats, events, forFormats, notes, chosen.callchains);
  const plannedFormats = formats.map((chosen, index) =>
    planFormat(chosen, planned.slice(...events.ranges[index]!), forFormats),
  );
  const rate = ringBytesPerSecond(planned);
  const pages = ringPages(ringPagesBeside(trace, chosen, sys), sys.pageSizeBytes(), ringCount(target), rate);
  noteRounding(chosen.mmapPages, pages, sys.pageSizeBytes(), notes);
  const plan = planOpen(planned, target, pages.wanted, pages.enough);
  return { plan, formats: plannedFormats, notes };
}
