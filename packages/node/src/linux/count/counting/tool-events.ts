import type { ToolEvent } from '@counterpoint/core/events';
import type { ProcessTimes, Sys } from '../../kernel/sys/index.ts';
import type { Reading } from '../requests/types.ts';

/** Where the events that the kernel does not count come from. */
export interface ToolTimes {
  sys: Sys;
  /** CPU times of children that had ended when the session was opened. */
  startChildren: ProcessTimes;
}

/**
 * Times are in ns: of the session, or CPU time of this process's children that
 * have ended (the counted command).
 */
export function toolReading(tool: ToolEvent, { sys, startChildren }: ToolTimes, elapsedNs: bigint): Reading {
  return {
    value: toolValue(tool, sys, startChildren, elapsedNs),
    enabledNs: elapsedNs,
    runningNs: elapsedNs,
  };
}

function toolValue(tool: ToolEvent, sys: Sys, start: ProcessTimes, elapsedNs: bigint): bigint {
  switch (tool) {
    case 'duration_time':
      return elapsedNs;
    case 'user_time':
      return sys.childrenTimes().userNs - start.userNs;
    case 'system_time':
      return sys.childrenTimes().systemNs - start.systemNs;
  }
}
