/** What a recording does not contain. */
export {
  LOSS_KINDS,
  type LossEntry,
  type LossFacts,
  type LossKind,
  LossLedger,
} from '../format/loss/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export { auxLosses } from '../format/loss/index.ts';
