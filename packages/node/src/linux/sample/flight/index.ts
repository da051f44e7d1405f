export { flight } from './flight.ts';
export type { FlightDump, FlightEnd, FlightOptions, FlightStatus } from './options.ts';
export { FlightRecorder } from './recorder.ts';
export { TRIGGER_KINDS } from './triggers/index.ts';
