/** Event names to attrs in perf's grammar, and back. */
export {
  type CatalogEvent,
  catalogEvents,
  EVENT_KINDS,
  type EventKind,
  type EventLookup,
  type EventOptions,
  EventSyntaxError,
  eventNameFromAttr,
  type ParsedEvent,
  type ParseEventsOptions,
  type PfmAttribute,
  type PfmEncoding,
  type PfmEvent,
  type PfmLibrary,
  type PfmPmu,
  type PfmProblem,
  type PmuDescription,
  type PmuEvent,
  type Probe,
  type ProbeFile,
  parseEvents,
  parsePfmEvents,
  type Syntax,
  type ToolEvent,
  type TracepointField,
  type Unavailable,
} from '../events/names/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  applyFilter,
  checkFilter,
  corePmus,
  encodePfmEvent,
  type FormatBits,
  formatCpus,
  isGlob,
  isPmuMeant,
  matchesGlob,
  NAMED_EVENTS,
  parseCpus,
  parseFormat,
  placeBits,
} from '../events/names/index.ts';
