// A whole file: an entry cannot name what is left out of the published types.
export * from './aux-losses.ts';
export { decodeLossEntry, encodeLossEntry } from './entry-json.ts';
export type { LossEntry, LossFacts, LossKind } from './ledger.ts';
export { LOSS_KINDS, LossLedger } from './ledger.ts';
