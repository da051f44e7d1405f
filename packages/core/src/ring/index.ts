export { ForwardRing } from './forward-ring.ts';
export type { LongChains, RecordVisitor } from './record-scan.ts';
export { RecordScan, TimeRange } from './record-scan.ts';
export type { RingMemory } from './ring-memory.ts';
export { mappedRing } from './ring-memory.ts';
