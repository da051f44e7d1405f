/// <reference types="node" preserve="true" />
/** Event tables of vendors, and the identity of the processors that they are for. */
export {
  type CpuIdentityPlaces,
  type EventTable,
  type EventTables,
  readCpuIdentities,
  type TableCore,
  useEventTables,
} from '../linux/kernel/local-pmus/index.ts';
