export { decodeDataUrl, isDataUrl } from './data-url.ts';
export { type GivenName, givenNames } from './given-names.ts';
export { mappingUrl } from './mapping-comment.ts';
export {
  decodeRecordedMaps,
  encodeRecordedMaps,
  type RecordedSourceMap,
  recordedSourceMap,
} from './recorded-maps.ts';
export {
  type MappedPlace,
  type ScriptFiles,
  ScriptMaps,
  type SourceMapFault,
  type SourceMapsResult,
} from './script-maps.ts';
export { type MapFault, readSourceMap, SourceMap, type SourcePlace } from './source-map.ts';
export { pathOfScript, resolveSource } from './source-path.ts';
