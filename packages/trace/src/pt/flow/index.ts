export { AddressFilter, type AddressRange, FILTER_OFF, FILTER_STOP, FILTER_TRACE } from './address-filter.ts';
export { type BlockOptions, BlockTracker } from './block-tracker.ts';
export { ExecutedInstruction } from './code-walk.ts';
export * from './event.ts';
export { EventReader } from './event-reader.ts';
export { type EventTextOptions, formatEvent } from './event-text.ts';
export {
  FlowDecoder,
  STEP_EVENT,
  STEP_INSTRUCTION,
} from './flow-decoder.ts';
export * from './flow-errors.ts';
export type { FlowOptions } from './flow-options.ts';
export { executionMode, FlowState, MODE_UNKNOWN } from './flow-state.ts';
export { PacketFeed } from './packet-feed.ts';
export { PendingEvents } from './pending-events.ts';
export { type FlowSummary, type PrintFlowOptions, printFlow } from './print-flow.ts';
export { RETURN_STACK_ENTRIES, ReturnStack } from './return-stack.ts';
export { Sideband, type SidebandChannel, type SidebandOptions } from './sideband.ts';
