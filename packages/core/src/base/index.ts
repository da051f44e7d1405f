export type { OptionNames } from './arguments.ts';
export { checkArgument, checkOptionNames, checkText, hasMembers, shownValue } from './arguments.ts';
export type { BlobLike, ByteInput, ByteSource, ByteSourceInput, ByteStream } from './byte-source.ts';
export { asByteInput, asByteSource, blobSource, memorySource } from './byte-source.ts';
export type { CancelSignal } from './cancel-signal.ts';
export type { Damage, DamagePart } from './damage.ts';
export { DamageLog } from './damage.ts';
export type { Diagnostic } from './diagnostic.ts';
export { CounterpointError, FormatError } from './errors.ts';
export { Handoff } from './handoff.ts';
export { didYouMean, editDistance, nearestNames } from './nearest.ts';
export { optional } from './optional.ts';
export { printable, printableJson, printableText } from './printable.ts';
export type { Progress, ProgressListener } from './progress.ts';
export { StringTable } from './string-table.ts';
export { TextBuffer } from './text-buffer.ts';
export {
  MOST_RANGE_VALUES,
  MOST_TIMER_MS,
  parseCount,
  parseDurationMs,
  parseNumber,
  parseRanges,
  parseSizeBytes,
} from './text-values.ts';
export { formatSeconds, splitNs } from './time.ts';
export { TripleTable } from './triple-table.ts';
export {
  bigIntAt,
  compareU64,
  floatAt,
  hiOf,
  loOf,
  TWO_32,
  toBigInt,
  toDecimal,
  toFloat,
  toHex,
  toSignedFloat,
} from './u64.ts';
export { decodeUtf8, encodeUtf8, encodeUtf8Into, textUpToNul } from './utf8.ts';
