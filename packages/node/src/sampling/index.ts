export {
  type CollectContext,
  defineFormat,
  type FormatMaps,
  type FormatPlan,
  type FormatProgram,
  type FormatSample,
  type FormatSampleFields,
  type FormatTarget,
  type HandlerContext,
  type OwnEvent,
  type ProgramContext,
  type ResultContext,
  type SamplingFormat,
  type WakeRule,
} from './format.ts';
export {
  checkFormatOptions,
  type FormatOption,
  type FormatOptionTable,
  type OptionValues,
  optionWord,
  parseFormatOptions,
} from './format-options.ts';
export { type FormatRequest, FormatRun, type FormatTotals } from './format-run.ts';
export { HistogramDrain, liveHistogram } from './formats/live-histogram.ts';
export { LOSS_REASONS, type LossReason } from './loss-counters.ts';
export { othersOnTracepoints, othersThatWatch } from './other-programs.ts';
export { builtInFormats, checkedFormat, findFormat, splitSpecification } from './registry.ts';
