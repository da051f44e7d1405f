import type { PlannedEvent } from '../../kernel/perf-events/index.ts';
import { JavascriptFrames } from './javascript-frames.ts';
import type { RecordOptions } from './options.ts';
import type { PerfMapKeeper } from './perf-maps.ts';
import { hasFrameSamples, processesOf, type Scope } from './request.ts';

/**
 * Before the events are opened: they get what it takes. Null: nobody is watched whose interpreted functions
 * are only in the frames.
 */
export function framesFor(
  scope: Scope,
  options: RecordOptions,
  perfMaps: PerfMapKeeper,
  planned: readonly PlannedEvent[],
): JavascriptFrames | null {
  if (!hasFrameSamples(options)) return null;
  const functions = perfMaps.framesOf(processesOf(scope));
  if (functions.size === 0) return null;
  return JavascriptFrames.widen(planned) ? new JavascriptFrames(functions) : null;
}
