/** What one packet came to. Errors are the negative FLOW_* codes. */
import type { FlowEvent } from './event.ts';
import type { PacketFeed } from './packet-feed.ts';

/** No event; the packet is used up. */
export const MORE = 0;
/** An event, and the packet is used up. */
export const DONE = 1;
/** An event, and the packet stays: more may come of it. */
export const KEEP = 2;

/** The packet at hand is an event of its own, without an address. */
export function standalone(feed: PacketFeed, event: FlowEvent): number {
  event.isIpSuppressed = true;
  feed.setTime(event);
  return DONE;
}
