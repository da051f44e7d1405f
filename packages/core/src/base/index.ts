export type { ByteSource, ByteStream } from './byte-source.ts';
export { memorySource } from './byte-source.ts';
export type { Damage } from './damage.ts';
export { DamageLog } from './damage.ts';
export { CounterpointError, FormatError } from './errors.ts';
export type { Progress, ProgressListener } from './progress.ts';
export { StringTable } from './string-table.ts';
export { formatSeconds, splitNs } from './time.ts';
export { compareU64, hiOf, loOf, TWO_32, toBigInt, toDecimal, toFloat, toHex, toSignedFloat } from './u64.ts';
