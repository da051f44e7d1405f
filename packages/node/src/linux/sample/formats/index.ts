/** For `FormatSampleFields.bits`. */
export {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
} from '@counterpoint/core/abi';
export {
  type InterruptRegister,
  interruptRegisterMask,
  interruptRegisters,
} from './built-in/interrupt-registers.ts';
export { HistogramDrain, liveHistogram } from './built-in/live-histogram.ts';
export { UNWOUND_FRAMES } from './built-in/stack-depth.ts';
export {
  type ChainPlan,
  type CollectContext,
  defineFormat,
  type FormatEvent,
  type FormatMaps,
  type FormatPlan,
  type FormatProgram,
  type FormatSample,
  type FormatSampleFields,
  type FormatTarget,
  type HandlerContext,
  type OwnEvent,
  type ProgramContext,
  type ReadContext,
  type RestartContext,
  type ResultContext,
  type SampleRows,
  type SamplingFormat,
  type SuspendedBy,
  type UserStackPlan,
  type WakeRule,
} from './format.ts';
export { explainThrown, planOf } from './format-errors.ts';
export { describeFormat, type FormatDescription, type OptionDescription } from './format-list.ts';
export type {
  FormatOption,
  FormatOptionBounds,
  FormatOptionRow,
  FormatOptionTable,
  OptionValues,
} from './format-option.ts';
export { checkFormatOptions, optionWord, parseFormatOptions } from './format-options.ts';
export { type FormatRequest, FormatRun, type FormatTotals } from './format-run.ts';
export { whyNoHandlers } from './handler-rights.ts';
export { LOSS_REASONS, type LossReason } from './loss-counters.ts';
export { mapMemoryBytes } from './map-memory.ts';
export { othersOnTracepoints, othersThatWatch } from './other-programs.ts';
export { type PlannedFormat, type PlannedMap, type PlannedProgram, planFormat } from './plan-format.ts';
export type { RecordedTime } from './recorded-time.ts';
export { builtInFormats, checkedFormat, findFormat, splitSpecification } from './registry.ts';
export { chainLength, ownMark, rowStart, sampleOfRow, timeNumberOfRow, timeOfRow } from './sample-rows.ts';
export { requireSuspension } from './suspension.ts';
