/** Flame graph, folded stacks, speedscope, pprof, Firefox Profiler, V8's CPU profiles. */
export {
  type BinaryBranches,
  type BranchCount,
  EXPORTS,
  type ExportChunk,
  type ExportFormat,
  type ExportOptions,
  type ExportWeight,
  findExport,
  type LoopSvgOptions,
  type LossTotal,
  lossLine,
  lossTotals,
  writeAutofdo,
  writeCpuProfile,
  writeFirefox,
  writeFlameSvg,
  writeFolded,
  writeLoopSvg,
  writePprof,
  writeSpeedscope,
} from '../answers/export/index.ts';

// For the packages of this repository alone: no promise, and not in the published types.

/** @internal */
export {
  branchesOfBinary,
  threadOfCpuProfile,
} from '../answers/export/index.ts';
