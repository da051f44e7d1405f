import type { FlowEvent } from './event.ts';
import * as ev from './event.ts';

/** Of no use without the code before it. */
export const RESUME_SKIP = 0;
/** A branch target: go on there, and the event is used up. */
export const RESUME_TARGET = 1;
/** Go on at the event's address; the event is still to come. */
export const RESUME_AT = 2;
/** To be told at once, with tracing on before it. */
export const RESUME_ENABLED = 3;
/** To be told at once, with tracing off before it. */
export const RESUME_DISABLED = 4;
/** To be told, but it gives no address: look on. */
export const RESUME_TELL = 5;

/** After an error: what an event is good for. */
export function resumePlan(event: Readonly<FlowEvent>): number {
  switch (event.kind) {
    case ev.EVENT_TNT:
      return RESUME_SKIP;
    case ev.EVENT_TIP:
      return event.isIpSuppressed ? RESUME_SKIP : RESUME_TARGET;
    case ev.EVENT_ENABLED:
      if (!event.isStatus) return RESUME_DISABLED;
      return event.isIpSuppressed ? RESUME_TELL : RESUME_AT;
    case ev.EVENT_DISABLED:
      return event.isStatus ? RESUME_DISABLED : RESUME_ENABLED;
    case ev.EVENT_OVERFLOW:
    case ev.EVENT_STOP:
      return RESUME_DISABLED;
    case ev.EVENT_ASYNC_BRANCH:
    case ev.EVENT_ASYNC_DISABLED:
      return RESUME_AT;
    case ev.EVENT_TRIGGER:
      return event.isIpSuppressed || event.detail === ev.TRIGGER_WITHOUT_ANCHOR ? RESUME_TELL : RESUME_AT;
    default:
      return event.isIpSuppressed ? RESUME_TELL : RESUME_AT;
  }
}
