export { decodeLossEntry, encodeLossEntry } from './entry-json.ts';
export type { LossEntry, LossFacts, LossKind } from './ledger.ts';
export { LOSS_KINDS, LossLedger } from './ledger.ts';
