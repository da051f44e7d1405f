/**
 * Read a recording anywhere: open it, ask it, export it. What is rarely needed has an entry of its own, one
 * for each room: `@counterpoint/core/records`, `/symbols`, `/profile`, `/events`, `/elf`, ...
 */

export {
  EXPORTS,
  findExport,
  lossLine,
  lossTotals,
  writeFirefox,
  writeFlameSvg,
  writeFolded,
  writePprof,
  writeSpeedscope,
} from '../answers/export/index.ts';
export {
  callTree,
  collectStats,
  offCpu,
  parseFields,
  parseSortKeys,
  type ScriptOptions,
  type ScriptResult,
  type StatsAnswer,
  type TopAnswer,
  type TopOptions,
  topFunctions,
  writeScript,
} from '../answers/index.ts';
export {
  type BlobLike,
  type ByteInput,
  type ByteSource,
  type ByteStream,
  blobSource,
  CounterpointError,
  type Damage,
  type Diagnostic,
  FormatError,
  memorySource,
  type Progress,
  type ProgressListener,
} from '../base/index.ts';
export type { SymbolDriver } from '../code/symbols/index.ts';
export {
  type AddedRecords,
  directorySource,
  type OpenOptions,
  type OrderedRecord,
  openPerfData,
  PerfDataReader,
  type RecordedEvent,
  type RecordSink,
  type RecordSource,
  readRecords,
  type ScanOptions,
  type SourceScanOptions,
} from '../file-formats/perfdata/index.ts';
export type { LossEntry, LossKind } from '../format/loss/index.ts';
export { type IngestOptions, type IngestResult, ingestPerfData } from '../profile/ingest/index.ts';
export type { Profile, ProfileMeta } from '../profile/tables/index.ts';
