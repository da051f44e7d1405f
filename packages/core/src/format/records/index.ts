export type { AttrFlags, PerfEventAttr } from './attr.ts';
export { attrFlagsWord, encodeAttr, encodeAttrShortest, makeAttr, readAttr } from './attr.ts';
export { BodyReader } from './body-reader.ts';
export { BodyWriter } from './body-writer.ts';
export { branchFlagsFrom, branchFlagsTo, highBranchFlags, lowBranchFlags } from './branch-word.ts';
export {
  addressesOfChain,
  chainLimit,
  isChainAtLimit,
  isChainMarker,
  limitedLength,
  NO_CHAIN_LIMIT,
} from './chain-limit.ts';
export { decodeRecord, encodeRecord, isRaw, isSample } from './decode-record.ts';
export { decodeRecordAs, decodeSampleId, trailerSize } from './decode-record-as.ts';
export { decodeSampleInto, readValuesSize } from './decode-sample.ts';
export { encodeSample, encodeSampleId } from './encode-sample.ts';
export * from './generated/records.ts';
export type { CounterValue, ReadValues } from './read-values.ts';
export { decodeReadValues, encodeReadValues } from './read-values.ts';
export type { PerfRecord, RawRecord, SampleRecord } from './record.ts';
export type { RecordBase, SampleId } from './record-base.ts';
export type { BranchEntry, RegisterDump, Sample } from './sample.ts';
export { decodeSample } from './sample.ts';
export type { SampleExtra, SampleExtraFacts } from './sample-extra.ts';
export { EXTRA_BYTES, readSampleExtra, writeSampleExtra } from './sample-extra.ts';
export { SampleFields } from './sample-fields.ts';
export { SampleLayout } from './sample-layout.ts';
