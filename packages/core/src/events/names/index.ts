export { cacheName, eventNameFromAttr } from './attr-name.ts';
export { type CatalogEvent, catalogEvents, EVENT_KINDS, type EventKind } from './catalog.ts';
export { corePmus } from './cores.ts';
export { formatCpus, parseCpus } from './cpu-list.ts';
export { EventSyntaxError, type Syntax } from './errors.ts';
export { applyFilter, checkFilter } from './filter.ts';
export { type ConfigField, type FormatBits, largestValue, parseFormat, placeBits } from './format-bits.ts';
export { isGlob, matchesGlob } from './glob.ts';
export { cacheEventNames, NAMED_EVENTS, type NamedEvent } from './names.ts';
export { type ParseEventsOptions, parseEvents } from './parse.ts';
export {
  encodePfmEvent,
  type PfmAttribute,
  type PfmEncoding,
  type PfmEvent,
  type PfmLibrary,
  type PfmPmu,
  type PfmProblem,
  parsePfmEvents,
} from './pfm.ts';
export { isPmuMeant } from './pmu.ts';
export type {
  EventLookup,
  EventOptions,
  ParsedEvent,
  PmuDescription,
  PmuEvent,
  Probe,
  ProbeFile,
  ToolEvent,
  TracepointField,
  Unavailable,
} from './types.ts';
